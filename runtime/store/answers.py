"""The five answers of a store. The adapter classifies, nobody else does; there is no sixth."""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar

import attrs

V = TypeVar("V")


@attrs.frozen
class Committed(Generic[V]):
    """It is on disk; `value` is what the operation returned."""

    value: V


@attrs.frozen
class Refused:
    """Known unwritten, and would be refused again."""

    error: Exception


@attrs.frozen
class Unavailable:
    """Known unwritten, may work later: busy, locked, full, not reachable."""

    error: Exception


@attrs.frozen
class Superseded:
    """The fence says that somebody else owns this agent; known unwritten. `owner` is who, as far as known."""

    owner: str | None


@attrs.frozen
class Uncertain:
    """Nobody knows whether it was written: read back."""

    error: Exception


Answer: TypeAlias = "Committed[V] | Refused | Unavailable | Superseded | Uncertain"


class Fenced(Exception):
    """Raised by an operation inside a transaction: the caller's fence no longer holds. The store answers Superseded."""

    def __init__(self, owner: str | None) -> None:
        self.owner = owner
        super().__init__(f"fenced: the agent is owned by {owner or 'nobody'}")
