"""What goes wrong, as values: each fault has an address, happens once, and is the same in every run of its seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, get_args

import attrs

from pawl.runtime.records.errors import InvalidArguments

AtBarrier: TypeAlias = Literal[
    "crash_before_commit",
    "crash_after_commit",
    "lose_reply_committed",
    "lose_reply_rolled_back",
    "refuse",
    "unavailable",
    "unreadable",
    "foreign_write",
    "foreign_write_unseen",
    "superseded",
    "hold",
    "hold_reply",
]
AtBody: TypeAlias = Literal["crash_before_effect", "crash_during_effect", "crash_after_effect", "hold"]
Do: TypeAlias = AtBarrier | AtBody

BARRIERS: Final = (
    "admission",
    "provider_dispatch",
    "suspension",
    "approval",
    "tool_dispatch",
    "tool_outcome",
    "resolution",
    "outcome",
)


class ProcessLost(SystemExit):
    """The simulated process is gone, at this very instruction.

    A SystemExit, because that is what asyncio lets through at once, past every task and callback that was ready.
    """


@attrs.frozen
class Fault:
    """One thing that goes wrong, once.

    `at` is `BARRIER#n`, the n-th submission of that barrier over all processes and agents, resubmissions included;
    `read:BARRIER#n`, the n-th read-back; `OPERATION#n` for what is no barrier (`take_over`, `renew`, `let_go`, …);
    `tool:NAME#n` or `model#n`, the n-th start of that body or call. Without `#n` it is the first.

    * `refuse`: a permanent refusal, with `error`. `unavailable`: this and the next `times` - 1 submissions of
      anything are known unwritten. `unreadable`: it is written, its reply is lost, and `times` read-backs of it fail
      (0: until the next process is opened).
    * `foreign_write`: another writer, who knows no fence, has advanced the record before; `…_unseen`: and the reply
      is lost, so that the read-back finds it. `superseded`: another process has taken the agent over before.
    * `hold`, `hold_reply`: the submission, or its answer, waits until `release(at)`.
    """

    at: str
    do: Do
    times: int = 1
    error: Exception | None = None

    def __attrs_post_init__(self) -> None:
        known = {name for kind in get_args(Do) for name in get_args(kind)}
        if self.do not in known:
            raise InvalidArguments(f"fault {self.do!r} is unknown; it is one of {', '.join(sorted(known))}")

    @property
    def address(self) -> str:
        """`at` with its number."""
        return self.at if "#" in self.at else f"{self.at}#1"


class Faults:
    """The plan of one world, and the counters that its addresses are about."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._plan: dict[str, list[Fault]] = {}
        self.counts: Counter[str] = Counter()
        self.fired: list[Fault] = []
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        """Plan one more."""
        self._plan.setdefault(fault.address, []).append(fault)

    def met(self, name: str) -> Fault | None:
        """Count one more `name`; the fault that was planned for it, if any."""
        self.counts[name] += 1
        planned = self._plan.get(f"{name}#{self.counts[name]}")
        if not planned:
            return None
        fault = planned.pop(0)
        self.fired.append(fault)
        return fault

    @property
    def unmet(self) -> tuple[Fault, ...]:
        """Faults whose place was never reached."""
        return tuple(fault for planned in self._plan.values() for fault in planned)
