"""The durable identity of one logical agent, and who may write for it."""

from __future__ import annotations

from typing import Literal

import attrs


@attrs.frozen(slots=False)
class AgentRoot:
    """One logical agent. `answers` counts the recorded model answers of its ended executions, `fence` rises with every
    claim of ownership. Where its journal stands, the journal itself knows. Runs see what is behind position `since`.
    """

    agent_id: str
    definition: str
    version: int
    created_at: float
    status: Literal["open", "closed"] = "open"
    revision: int = 0
    answers: int = 0
    owner: str | None = None
    fence: int = 0
    since: int = 0


@attrs.frozen
class Owner:
    """A process that owns agents. `started` is its start time as the system tells it (so that a reused pid is told
    apart); `expires_at` ends its lease, in unix seconds.
    """

    owner_id: str
    host: str
    pid: int
    started: float
    expires_at: float


@attrs.frozen
class Authority:
    """What a writer shows with every barrier: who it is, and the fencing token it was given at its claim."""

    owner: str
    fence: int
