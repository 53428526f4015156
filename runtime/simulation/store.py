"""A process's connection to the durable store of a world: where faults happen, and where every write is seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

import attrs

from pawl.runtime.barriers.admission import Admission
from pawl.runtime.barriers.commit import Commit
from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.records.agents import Owner
from pawl.runtime.records.errors import PawlError, RuntimeClosed, StoreError, StoreUnavailable
from pawl.runtime.records.frozen import replace
from pawl.runtime.simulation.environment import SimulatedEnvironment
from pawl.runtime.simulation.faults import Fault, Faults, ProcessLost
from pawl.runtime.store.answers import Answer, Refused, Unavailable, Uncertain
from pawl.runtime.store.ownership import LEASE
from pawl.runtime.store.port import Operation, Store, StoreInfo, Transaction

T = TypeVar("T")

ELSEWHERE = "elsewhere"
"""The owner that the fault `superseded` gives an agent to; no such process exists, and its lease runs out."""


class Surroundings(Protocol):
    """What a connection knows of the world that it is in."""

    faults: Faults
    unavailable: int
    """Submissions that the store is still going to turn away."""
    group: bool
    """Whether what is submitted in one turn is committed together."""

    def committed(self, name: str, operation: Operation[Any], answer: Answer[Any]) -> None:
        """An operation has been run; called before its answer goes out."""

    def submitting(self, name: str, operation: Operation[Any]) -> Fault | None:
        """An operation is about to be submitted: the fault that is planned for it."""

    def submitted(self, process: str, operation: Operation[Any]) -> None:
        """An operation was submitted; its answer is outstanding."""

    def replied(self, process: str, name: str, operation: Operation[Any], answer: Answer[Any]) -> None:
        """What the process is told."""

    def answered(self, process: str, operation: Operation[Any]) -> None:
        """Its answer goes out."""

    def park(self, address: str, go: Callable[[], None]) -> None:
        """Keep `go` until somebody releases `address`."""


_Submitted: TypeAlias = "tuple[Fault | None, str, Operation[Any], Callable[[Answer[Any]], None]]"


class SimulatedStore:
    """The Store of one process. Every operation commits alone, in the order of submission; or, where the world says
    so, together with what else was submitted in the same turn.
    """

    def __init__(self, inner: Store, process: str, environment: SimulatedEnvironment, world: Surroundings) -> None:
        self._inner, self._process, self._environment, self._world = inner, process, environment, world
        self._replies: deque[Callable[[], None]] = deque()
        self._unreadable: dict[str, int] = {}
        self._closed = False
        self._group: list[_Submitted] = []

    @property
    def info(self) -> StoreInfo:
        """As the store behind it."""
        return self._inner.info

    @property
    def outstanding(self) -> int:
        """Answers that are still to be given."""
        return len(self._replies) + len(self._group)

    def open(self) -> None:
        """The world has opened the store; a process only connects."""

    def close(self) -> None:
        """Disconnect."""
        self._closed = True

    def read(self, operation: Operation[T]) -> T:
        """Read now. The faults `unavailable` and `crash_before_commit` happen here as well, at `reading:NAME#n`."""
        if self._closed:
            raise RuntimeClosed("the simulated store is closed")
        fault = self._world.faults.met(f"reading:{name_of(operation)}")
        if fault is not None and fault.do == "crash_before_commit":
            raise ProcessLost(fault.address)
        if fault is not None and fault.do == "unavailable":
            raise StoreUnavailable("the simulated store cannot be read")
        return self._inner.read(operation)

    def submit(self, operation: Operation[T], answer: Callable[[Answer[T]], None]) -> None:
        """Run it, unless a fault is planned for it."""
        if self._closed:
            return answer(Unavailable(RuntimeClosed("the simulated store is closed")))
        name = name_of(operation)
        fault = self._world.submitting(name, operation)
        self._world.submitted(self._process, operation)
        if not self._world.group:
            return self._meet(fault, name, operation, answer)
        self._group.append((fault, name, operation, answer))
        if len(self._group) == 1:
            self._environment.wake(self._commit_group)
        return None

    def _commit_group(self) -> None:
        """What goes wrong with one COMMIT goes wrong for every member; a refusal rolls back its own savepoint only."""
        group, self._group = self._group, []
        common = next((fault for fault, *_ in group if fault is not None and fault.do in _OF_A_COMMIT), None)
        for fault, name, operation, answer in group:
            if common is None:
                self._meet(fault, name, operation, answer)
            elif common.do == "crash_after_commit":
                self._run(name, operation)
            else:
                self._meet(
                    attrs.evolve(common, times=1 if fault is not common else common.times), name, operation, answer
                )
        if common is not None and common.do == "crash_after_commit":
            raise ProcessLost(common.at)

    def _meet(
        self, fault: Fault | None, name: str, operation: Operation[Any], answer: Callable[[Answer[Any]], None]
    ) -> None:
        do = fault.do if fault is not None else None
        if fault is not None and do == "hold":
            return self._world.park(fault.address, lambda: self._meet(None, name, operation, answer))
        if fault is not None and do == "unavailable":
            self._world.unavailable = max(self._world.unavailable, fault.times)
        if self._world.unavailable > 0:
            self._world.unavailable -= 1
            return self._reply(operation, answer, Unavailable(StoreUnavailable("the simulated store is locked")))
        if self._cannot_be_read(operation):
            return self._reply(operation, answer, Unavailable(StoreUnavailable("the simulated store cannot be read")))
        match do:
            case "crash_before_commit":
                raise ProcessLost(name)
            case "lose_reply_rolled_back":
                return self._reply(operation, answer, _lost_reply())
            case "refuse":
                assert fault is not None
                return self._reply(operation, answer, Refused(fault.error or PawlError("refused by a fault")))
            case "foreign_write" | "foreign_write_unseen":
                self._run("foreign", foreign_write(operation))
                if do == "foreign_write_unseen":
                    return self._reply(operation, answer, _lost_reply())
            case "superseded":
                self._run("overtake", taken_over(operation, self._environment.now()))
        said = self._run(name, operation)
        match do:
            case "crash_after_commit":
                raise ProcessLost(name)
            case "lose_reply_committed":
                said = _lost_reply()
            case "unreadable":
                assert fault is not None
                self._unreadable[_token(operation)] = fault.times or -1
                said = _lost_reply()
            case "slow":
                assert fault is not None
                return self._reply(operation, answer, said, float(fault.times))
            case "hold_reply":
                assert fault is not None
                return self._world.park(fault.address, lambda: self._reply(operation, answer, said))
        return self._reply(operation, answer, said)

    def _cannot_be_read(self, operation: Operation[Any]) -> bool:
        if getattr(operation, "__name__", "") != "read_back":
            return False
        left = self._unreadable.get(_token(operation), 0)
        if left > 0:
            self._unreadable[_token(operation)] = left - 1
        return left != 0

    def _run(self, name: str, operation: Operation[Any]) -> Answer[Any]:
        said: list[Answer[Any]] = []
        self._inner.submit(operation, said.append)
        assert said, "the store behind a simulation has to be inline: MemoryStore(inline=True)"
        self._world.committed(name, operation, said[0])
        return said[0]

    def _reply(
        self, operation: Operation[Any], answer: Callable[[Answer[Any]], None], said: Answer[Any], after: float = 0.0
    ) -> None:
        def deliver() -> None:
            self._world.answered(self._process, operation)
            self._world.replied(self._process, name_of(operation), operation, said)
            answer(said)

        def next_one() -> None:
            self._replies.popleft()()

        # Answers keep their order, however long one of them takes.
        self._replies.append(deliver)
        if after:
            self._environment.later(after, next_one)
        else:
            self._environment.soon(next_one)


_OF_A_COMMIT = frozenset(
    {"crash_before_commit", "crash_after_commit", "lose_reply_committed", "lose_reply_rolled_back", "unavailable"}
)
"""Faults of a whole transaction."""


def name_of(operation: Operation[Any]) -> str:
    """What a fault's address calls it: the barrier, `read:` and the barrier, or the function that made it."""
    barrier = getattr(command_of(operation), "barrier", None)
    if isinstance(barrier, str):
        return barrier if getattr(operation, "__name__", "") == "run" else f"read:{barrier}"
    qualified: str = getattr(operation, "__qualname__", "operation")
    return qualified.partition(".")[0].lstrip("_")


def command_of(operation: Operation[Any]) -> object:
    """The command whose `run` or `read_back` it is, None for other operations."""
    return getattr(operation, "__self__", None)


def about(operation: Operation[Any]) -> tuple[str | None, str]:
    """The execution that a barrier writes, and what of it, in words that a disturbance elsewhere does not change."""
    match command_of(operation):
        case ToolCommit() as command:
            return command.row.execution_id, command.row.tool_call_id
        case Admission() as command:
            return command.record.execution_id, ""
        case Commit() as command:
            record = command.record
            return record.execution_id, f"{record.iterations}.{len(record.decisions)}"
        case _:
            return None, ""


def _token(operation: Operation[Any]) -> str:
    return str(getattr(command_of(operation), "token", ""))


def _lost_reply() -> Uncertain:
    return Uncertain(StoreError("the reply was lost"))


def foreign_write(operation: Operation[Any]) -> Operation[None]:
    """Somebody else advances what the operation is about to write."""
    command = command_of(operation)

    def run(tx: Transaction) -> None:
        match command:
            case Admission():
                other = f"foreign-{command.record.execution_id}"
                tx.executions.insert(replace(command.record, execution_id=other, start_id=other, token="foreign"))
            case ToolCommit():
                row = tx.tools.get(command.row.tool_invocation_id)
                assert row is not None
                tx.tools.put((replace(row, token="foreign"),))
            case Commit():
                record = tx.executions.get(command.record.execution_id)
                assert record is not None
                tx.executions.save(replace(record, revision=record.revision + 1, token="foreign"), record.revision)
            case _:
                raise AssertionError("a foreign write is a fault of barriers")

    return run


def taken_over(operation: Operation[Any], now: float) -> Operation[None]:
    """Somebody else claims the agent that the operation writes for."""
    command = command_of(operation)
    assert isinstance(command, Admission | Commit | ToolCommit), "superseded is a fault of barriers"
    agent_id = command.agent_id if isinstance(command, ToolCommit) else command.record.agent_id

    def run(tx: Transaction) -> None:
        tx.owners.put(Owner(ELSEWHERE, ELSEWHERE, 1, 0.0, now + LEASE))
        root = tx.agents.get(agent_id)
        assert root is not None
        tx.agents.save(attrs.evolve(root, owner=ELSEWHERE, fence=root.fence + 1))

    return run
