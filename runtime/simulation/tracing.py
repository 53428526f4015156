"""The trace of a scenario: a line for each step, fault, transition, barrier answer and dropped event, in its names."""

from __future__ import annotations

from pawl.runtime.execution.heart import Move
from pawl.runtime.simulation.stage import Stage


class Trace:
    """Listens to the world of a stage. Executions are called by their runs, processes by their names."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lines: list[str] = []
        self._calls: dict[str, str] = {}
        stage.world.trace = self._line
        stage.world.moves = _Moves(self)
        stage.narrate = self._step

    @property
    def lines(self) -> tuple[str, ...]:
        """What was noted so far."""
        return tuple(self._lines)

    def moved(self, process: str, execution_id: str, move: Move) -> None:
        """A row was taken."""
        child = f"[{self._call(process, execution_id, move.child)}] " if move.child is not None else ""
        if move.event is None and move.source == move.target:
            return self._line(process, execution_id, f"{child}begins at {move.source}")
        event = f"--{move.event}-->" if move.event is not None else "-->"
        target = move.target if move.target is not None else "(stays)"
        return self._line(process, execution_id, f"{child}{move.source} {event} {target}")

    def _step(self, told: str) -> None:
        self._lines.append(f"{self._time()} step {told}")

    def _time(self) -> str:
        return f"{f'{self._stage.world.clock.time:.3f}s':>10}"

    def _line(self, process: str, execution_id: str, what: str) -> None:
        stage = self._stage
        start = stage.world.starts.get(execution_id)
        run = next((run.name for run in stage.runs.values() if run.start_id == start), start or execution_id or "-")
        self._lines.append(f"{self._time()} {stage.names.get(process, process)} {run}: {what}")

    def _call(self, process: str, execution_id: str, child: str) -> str:
        """A child session by the id that the model gave its call."""
        keeper = next(one for one in self._stage.world.processes if one.name == process).keeper
        live = keeper.live(execution_id)
        if live is not None and child in live.children:
            self._calls[child] = live.children[child].invocation.row.tool_call_id
        return self._calls.get(child, child)


class _Moves(list[tuple[str, str, Move]]):
    """The world's moves, each told to the trace as it comes."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._trace = trace

    def append(self, moved: tuple[str, str, Move]) -> None:
        super().append(moved)
        self._trace.moved(*moved)
