"""What every adapter derives from stored values in the same way."""

from __future__ import annotations

import zlib
from typing import Final

from pawl.runtime.records.errors import AgentNotFound, InvalidArguments
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.statuses import TERMINAL

VISIBLE: Final = ("completed", "handed_off", "rejected")
"""The statuses of executions whose messages later runs of the agent see."""


def no_agent(agent_id: str) -> AgentNotFound:
    """To be raised where there is no agent of that id."""
    return AgentNotFound(f"there is no agent {agent_id!r:.100}; `open` or `create` it first")


def is_open(record: ExecutionRecord) -> bool:
    """Whether the execution can still move. A status that is not known here counts as open: fail closed."""
    return record.status not in TERMINAL


def due_at(record: ExecutionRecord, awaiting: Awaiting | None) -> float | None:
    """When an execution that waits must move by itself (unix seconds): its deadline or its request's, the earlier."""
    if awaiting is None or not is_open(record):
        return None
    expires = record.request.expires_at if awaiting == "approval" and record.request is not None else None
    times = [at for at in (record.deadline, expires) if at is not None]
    return min(times, default=None)


def call_key(llm_call_id: str) -> int:
    """A short, indexed stand-in for the id of a model call; who looks up by it compares the id itself."""
    return zlib.crc32(llm_call_id.encode())


def digest_key(digest: str) -> bytes:
    """The 32 bytes of a digest. Raises InvalidArguments when it is not one."""
    algorithm, _, name = digest.partition(":")
    try:
        key = bytes.fromhex(name)
    except ValueError:
        key = b""
    if len(key) != 32 or algorithm != "sha256":
        raise InvalidArguments(f"{digest!r} is not a digest; one is sha256:<64 hex digits>")
    return key
