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
    "superseded",
]
"""What can go wrong at a barrier, and can be said in a scenario file."""

AtBody: TypeAlias = Literal["crash_before_effect", "crash_during_effect", "crash_after_effect"]
"""The same at a call of a model or a tool."""

Do: TypeAlias = AtBarrier | AtBody | Literal["foreign_write_unseen", "hold", "hold_reply", "slow", "full"]

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

_KEYED: Final = "="
"""The scope of faults whose place is a key; no start id of a run is this."""


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
    * `hold`, `hold_reply`: the submission, or its answer, waits until `release(at)`; `slow`: its answer comes `times`
      virtual seconds later.
    * `full`, at `pool#n`: the pool has no room for the n-th piece of application code.

    With `run`, the start id of a run, the number counts what belongs to that run alone. `keyed`: `at` is a key as in
    Met, which other faults do not shift.
    """

    at: str
    do: Do
    times: int = 1
    error: Exception | None = None
    run: str | None = None
    keyed: bool = False

    def __attrs_post_init__(self) -> None:
        known = {name for kind in get_args(Do) for name in get_args(kind)}
        if self.do not in known:
            raise InvalidArguments(f"fault {self.do!r} is unknown; it is one of {', '.join(sorted(known))}")

    @property
    def address(self) -> str:
        """`at` with its number."""
        return self.at if "#" in self.at else f"{self.at}#1"


@attrs.frozen
class Met:
    """One place that a fault could have: its `address`, that among those of its `run`, and its `key`, which says what
    it is about and how often that was tried.
    """

    address: str
    run: str | None = None
    of_run: str = ""
    key: str = ""


class Faults:
    """The plan of one world, the counters that its addresses are about, and all places that were met, in order."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._forgotten: list[Fault] = []
        self._plan: dict[tuple[str | None, str], list[Fault]] = {}
        self._scoped: Counter[tuple[str, str]] = Counter()
        self.counts: Counter[str] = Counter()
        self.fired: list[Fault] = []
        self.fired_at: list[Met] = []
        self.places: list[Met] = []
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        """Plan one more."""
        self._plan.setdefault((_KEYED if fault.keyed else fault.run, fault.address), []).append(fault)

    def planned(self, address: str, do: Do) -> Fault | None:
        """A fault that has not fired yet."""
        return next((fault for fault in self._plan.get((None, address), ()) if fault.do == do), None)

    def drop(self, fault: Fault) -> None:
        """Plan it no more."""
        self._plan[None, fault.address].remove(fault)

    def forget(self) -> None:
        """Plan nothing any more but what holds something."""
        self._forgotten += [fault for fault in self.unmet if fault.do != "hold"]
        for place, planned in self._plan.items():
            self._plan[place] = [fault for fault in planned if fault.do == "hold"]

    def met(self, name: str, run: str | None = None, about: str = "") -> Fault | None:
        """Count one more `name`; the fault that was planned for it, if any."""
        self.counts[name] += 1
        met = Met(f"{name}#{self.counts[name]}")
        if run is not None:
            key = f"{name}/{run}/{about}"
            self._scoped[run, name] += 1
            self._scoped[_KEYED, key] += 1
            met = Met(met.address, run, f"{name}#{self._scoped[run, name]}", f"{key}#{self._scoped[_KEYED, key]}")
        self.places.append(met)
        return self._planned(met)

    def again(self, fault: Fault) -> Fault | None:
        """The next fault that was planned for the same place as one that has fired."""
        return self._planned(self.fired_at[self.fired.index(fault)])

    def _planned(self, met: Met) -> Fault | None:
        for place in ((None, met.address), (met.run, met.of_run), (_KEYED, met.key)):
            planned = self._plan.get(place)
            if planned:
                self.fired.append(planned.pop(0))
                self.fired_at.append(met)
                return self.fired[-1]
        return None

    @property
    def unmet(self) -> tuple[Fault, ...]:
        """Faults whose place was never reached."""
        return (*self._forgotten, *(fault for planned in self._plan.values() for fault in planned))
