"""Derived identities: the same work has the same name in every process and after every crash."""

from __future__ import annotations

import hashlib


def _derived(prefix: str, *parts: str) -> str:
    # Lengths, not separators: no two lists of parts can read the same.
    text = "".join([f"{len(part)}:{part}" for part in (prefix, *parts)])
    return f"{prefix}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def tool_invocation_id(execution_id: str, llm_call_id: str, tool_call_id: str) -> str:
    """Identity of one tool call of one model answer."""
    return _derived("tool", execution_id, llm_call_id, tool_call_id)


def idempotency_key(execution_id: str, llm_call_id: str, tool_call_id: str) -> str:
    """The key that every attempt of a tool call carries; never made from a position or a revision."""
    return _derived("key", execution_id, llm_call_id, tool_call_id)


def request_id(execution_id: str, llm_call_id: str) -> str:
    """Identity of the approval request for the calls of one model answer; announced again, it is the same."""
    return _derived("request", execution_id, llm_call_id)
