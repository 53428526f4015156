"""Random programs: a seed becomes a scenario, the same one on every Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import attrs

from pawl.runtime.simulation.beyond import SECRET, AgentBeyond, ToolBeyond
from pawl.runtime.simulation.draw import Draw
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.generating_faults import more_faults, written_faults
from pawl.runtime.simulation.scenario import (
    AgentDef,
    Answer,
    Approve,
    Called,
    FilterDef,
    ListenerDef,
    Probed,
    Replacement,
    Scenario,
    ToolDef,
    Used,
)
from pawl.runtime.simulation.steps import (
    Advance,
    Beside,
    Cancel,
    Change,
    Close,
    Crash,
    Decide,
    End,
    Hold,
    Open,
    Pause,
    Redeliver,
    Release,
    Reopen,
    Resolve,
    Start,
    Step,
    Unpause,
    Verdict,
)

SECOND: Final = "p2"
"""The name of the other process."""

_AGENTS: Final = ("clerk", "cashier")
_TOOLS: Final = ("add", "pay", "mail", "look", "book")
_TIMES: Final = (0.05, 0.2, 1.0, 3.0, 5.0, 31.0, 70.0)
_EVENTS: Final = (
    *("llm_completed", "llm_failed", "context_ready"),
    *("execution_completed", "committed", "operation_settled"),
)


@attrs.frozen
class Program:
    """A scenario without expectations. `order`: the seed that things happen in the order of; None, as asked for."""

    scenario: Scenario
    order: int | None = None
    more: tuple[Fault, ...] = ()
    """Faults that no scenario file can say."""


def generate(seed: int) -> Program:
    """The program of a seed: one or two definitions, up to three runs, and what befalls them."""
    return _Generator(seed).program(seed)


def versioned(agent: str, version: int, compatible_with: tuple[int, ...]) -> Change:
    """The step that gives a definition another version, and says whose runs that finishes."""
    to = AgentDef(version=version, compatible_with=compatible_with)
    return Change(agent=agent, to=to, written=frozenset({"version", "compatible_with"}))


class _Generator:
    def __init__(self, seed: int) -> None:
        self._draw = Draw(seed)
        self._agents: dict[str, AgentDef] = {}
        self._ids = 0
        self._runs: list[tuple[str, str]] = []
        """The runs so far, with their definitions."""
        self._logical: list[tuple[str, str]] = []
        """Logical agents with their definitions."""
        self._beside = False
        self._versions: dict[str, int] = {}
        self._beyond = self._draw.chance(0.4)
        """Whether there is what no scenario file can say."""

    def program(self, seed: int) -> Program:
        draw = self._draw
        self._agents = {name: self._agent() for name in _AGENTS[: draw.weighed([(2, 1), (1, 2)])]}
        self._logical = [(name, name) for name in self._agents]
        steps = tuple(self._steps())
        scenario = Scenario(
            name=f"seed {seed}",
            agents=self._agents,
            model=self._model(),
            faults=tuple(written_faults(draw, [run for run, _ in self._runs], self._tools())),
            group=draw.chance(0.1),
            steps=steps,
        )
        order = draw.between(0, 999) if draw.chance(0.5) else None
        return Program(scenario, order, tuple(more_faults(draw, _TOOLS)) if self._beyond else ())

    def _tools(self) -> list[str]:
        return [tool for made in self._agents.values() for tool in made.tools]

    # definitions --------------------------------------------------------------------------------------------

    def _agent(self) -> AgentDef:
        draw = self._draw
        return AgentDef(
            max_iterations=draw.weighed([(8, 10), (1, 1), (1, 2)]),
            on_rejection=draw.one(("end", "continue")),
            model_recovery=draw.weighed([(3, "replay"), (1, "ask")]),
            model_retries=draw.between(0, 3),
            model_timeout=draw.maybe(0.4, (2.0, 4.0, 20.0)),
            deadline=draw.maybe(0.25, (0.5, 5.0, 30.0)),
            approval_expires=draw.maybe(0.25, (0.5, 3.0, 60.0)),
            on_listener_error=draw.weighed([(9, "report"), (1, "fail")]),
            listener=ListenerDef(draw.one(("tool_result", "tool_call", "done"))) if draw.chance(0.1) else None,
            input_filter=self._filter(),
            output_filter=self._filter(),
            token_limit=draw.maybe(0.08, (3, 12, 40)),
            tools={name: self._tool() for name in _TOOLS[: draw.between(1, len(_TOOLS))]},
            beyond=self._agent_beyond() if self._beyond else None,
        )

    def _agent_beyond(self) -> AgentBeyond:
        draw = self._draw
        return AgentBeyond(
            model_calls=draw.maybe(0.1, (1, 2, 4)),
            tool_calls=draw.maybe(0.1, (1, 2, 5)),
            total_tokens=draw.maybe(0.1, (1, 30, 90)),
            number=draw.chance(0.2),
            hook=draw.weighed([(4, None), (3, "count"), (1, "hide"), (1, "raise")]),
            results=draw.weighed([(7, None), (1, "block"), (2, "change"), (1, "raise")]),
            unfiltered=draw.chance(0.2),
            slow=draw.weighed([(4, 0.0), (1, 0.5), (1, 3.0)]),
            preparation_timeout=draw.weighed([(4, 60.0), (1, 2.0)]),
            drain_timeout=draw.weighed([(3, 600.0), (1, 2.0)]),
        )

    def _filter(self) -> FilterDef | None:
        draw = self._draw
        if not draw.chance(0.12):
            return None
        if draw.chance(0.2):
            return FilterDef(raises="no filter today")
        return FilterDef(block="secret") if draw.chance(0.5) else FilterDef(replace=Replacement("done", "over"))

    def _tool(self) -> ToolDef:
        draw = self._draw
        recovery = cast(Any, draw.weighed([(3, "ask"), (2, "replay"), (2, "probe")]))
        raises = "out of stock" if draw.chance(0.12) else None
        returns = draw.maybe(0.6, (("one",), ("one", "two"), (3,), ("secret",), ({"n": 1},)))
        policy = Approve("ask", raises="no policy today")
        beyond = self._tool_beyond() if self._beyond else None
        secret = beyond is not None and beyond.secret
        return ToolDef(
            approval=draw.weighed([(5, Approve()), (4, Approve("ask")), (1, Approve("reject")), (1, policy)]),
            recovery=recovery,
            returns=returns if raises is None else None,
            raises=raises,
            on_error=draw.weighed([(3, "tell_model"), (1, "fail")]),
            probe=self._probes() if recovery == "probe" else (),
            takes=draw.weighed([(4, 0.0), (1, 0.5), (1, 5.0), (1, 20.0)]),
            timeout=draw.maybe(0.3, (0.2, 4.0, 10.0)),
            cancellable=draw.chance(0.3),
            schema={"n": "integer"} if draw.chance(0.2) or secret else None,
            beyond=beyond,
        )

    def _tool_beyond(self) -> ToolBeyond:
        draw = self._draw
        return ToolBeyond(
            max_concurrent=draw.maybe(0.25, (1, 1, 2)),
            rate=draw.maybe(0.2, ((1, 5.0), (2, 1.0))),
            secret=draw.chance(0.2),
            approval_timeout=draw.maybe(0.1, (1.0, 40.0)),
            asks_for=draw.weighed([(6, 0.0), (1, 1.0), (1, 90.0)]),
            max_result_bytes=draw.maybe(0.1, (2,)),
            result=draw.weighed([(8, None), (1, "block"), (1, "change"), (1, "raise")]),
        )

    def _probes(self) -> tuple[Probed, ...]:
        said = (Probed("absent"), Probed("unknown"), Probed("found", "seen"))
        return tuple(self._draw.one(said) for _ in range(self._draw.between(1, 3)))

    # answers ------------------------------------------------------------------------------------------------

    def _model(self) -> dict[str, tuple[Answer, ...]]:
        runs = len(self._runs)
        keys = dict(self._agents)
        if len(self._logical) > len(keys) and self._draw.chance(0.3):
            name, definition = self._logical[-1]
            keys[name] = self._agents[definition]  # a logical agent with answers of its own
        return {
            name: tuple(self._answer(made) for _ in range(self._draw.between(2 * runs, 3 + 5 * runs)))
            for name, made in keys.items()
        }

    def _answer(self, made: AgentDef) -> Answer:
        draw = self._draw
        usage, takes = Used(draw.between(0, 20), draw.between(0, 9)), draw.weighed([(6, 0.0), (1, 0.5), (1, 3.0)])
        kind = draw.weighed([(24, "calls"), (8, "text"), (3, "error"), (1, "malformed"), (2, "hang")])
        if kind == "calls":
            calls = tuple(self._call(made) for _ in range(draw.between(1, 3)))
            return Answer(text=draw.maybe(0.2, ("let me see",)), calls=calls, usage=usage, takes=takes)
        if kind == "error":
            return Answer(
                error=draw.weighed([(6, "overloaded"), (3, "rate_limit"), (1, "invalid_request")]), takes=takes
            )
        if kind == "malformed":
            return Answer(malformed=True)
        if kind == "hang" and made.model_timeout is not None:
            return Answer(hang=True)
        numbers = made.beyond is not None and made.beyond.number
        text = draw.one(("all done", "the secret is out", "done", *(("42",) * 3 if numbers else ())))
        return Answer(text=text, chunks=(text[:3], text[3:]) if draw.chance(0.2) else (), usage=usage, takes=takes)

    def _call(self, made: AgentDef) -> Called:
        draw = self._draw
        self._ids += 1
        args: Any = draw.weighed([(20, {"n": 1}), (2, {}), (1, {"n": "x"}), (1, "{")])
        name = "nothing" if draw.chance(0.03) else draw.one(tuple(made.tools))
        beyond = made.tools[name].beyond if name in made.tools else None
        if args == {"n": 1} and beyond is not None and beyond.secret:
            args = {"n": SECRET}
        again = self._ids > 1 and draw.chance(0.02)  # a model that gives an id twice
        return Called(f"c{self._ids - again}", name, args)

    # steps --------------------------------------------------------------------------------------------------

    def _steps(self) -> list[Step]:
        draw = self._draw
        steps: list[Step] = []
        if draw.chance(0.2):
            self._logical.append(("other", draw.one(tuple(self._agents))))
            steps.append(Open(agent=self._logical[-1][1], name="other"))
        starts = draw.between(1, 3)
        for number in range(1, starts + 1):
            for _ in range(draw.between(0, 2)):
                steps += self._step()
            steps.append(self._start(number))
            for _ in range(draw.between(0, 6)):
                steps += self._step()
        return steps

    def _start(self, number: int) -> Start:
        draw = self._draw
        agent, definition = draw.one(self._logical)
        self._runs.append((f"r{number}", definition))
        return Start(
            agent=agent,
            input=draw.one(("go", "tell me the secret", "are we done yet")),
            name=f"r{number}",
            mode="stream" if draw.chance(0.15) else "run",
            durable_context={"tenant": 7} if draw.chance(0.1) else None,
            id=draw.maybe(0.06, ("once",)),
            process=self._process(),
        )

    def _process(self) -> str | None:
        return SECOND if self._beside and self._draw.chance(0.4) else None

    def _step(self) -> list[Step]:
        draw = self._draw
        makers: list[tuple[int, Callable[[], list[Step]]]] = [
            (5, self._decide),
            (4, lambda: [Advance(seconds=draw.one(_TIMES))]),
            (2, self._cancel),
            (2, self._resolve),
            (2, self._crash),
            (1, lambda: [Hold(what=self._what())]),
            (1, lambda: [Release(what=self._what())]),
            (1, self._second),
            (1, lambda: [Pause(process=self._process())]),
            (1, lambda: [Unpause(process=self._process())]),
            (1, self._redeliver),
            (1, self._close),
        ]
        if self._beyond or draw.chance(0.1):
            makers.append((1, self._change))
        told = () if self._runs else (self._decide, self._cancel, self._resolve, self._redeliver)
        return draw.weighed([(weight, make) for weight, make in makers if make not in told])()

    def _what(self) -> str:
        return self._draw.one(("model", *self._tools()))

    def _change(self) -> list[Step]:
        """Another version of a definition, for processes that are opened later: most finish what was begun before."""
        draw = self._draw
        name = draw.one(tuple(self._agents))
        version = self._versions[name] = self._versions.get(name, 1) + 1
        known = tuple(range(1, version)) if draw.chance(0.7) else ()
        return [versioned(name, version, known), *(self._close() if draw.chance(0.6) else ())]

    def _crash(self) -> list[Step]:
        draw = self._draw
        process = self._process()
        crash = Crash(host=draw.chance(0.3), process=process)
        if draw.chance(0.4):
            return [crash]
        between: list[Step] = [Advance(seconds=draw.one(_TIMES))] if draw.chance(0.5) else []
        return [crash, *between, Reopen(process=process)]

    def _close(self) -> list[Step]:
        process = self._process()
        return [Close(process=process), Reopen(process=process)]

    def _second(self) -> list[Step]:
        if self._beside and self._draw.chance(0.5):
            return [End(name=SECOND)]
        self._beside = True
        return [Beside(name=SECOND)]

    def _run(self) -> str:
        return self._draw.one(self._runs)[0]

    def _decide(self) -> list[Step]:
        draw = self._draw
        run, process = self._run(), self._process()
        stale = "stale" if draw.chance(0.1) else None
        if draw.chance(0.5):
            return [Decide(run=run, approve=draw.chance(0.7), request=cast(Any, stale), process=process)]
        items = {f"c{draw.between(1, 6)}": self._verdict() for _ in range(draw.between(1, 3))}
        return [Decide(run=run, items=items, request=cast(Any, stale), process=process)]

    def _verdict(self) -> Verdict:
        return self._draw.weighed(
            [(4, Verdict("approve")), (1, Verdict("reject", "too much")), (1, Verdict("edit", edit={"n": 2}))]
        )

    def _cancel(self) -> list[Step]:
        return [Cancel(run=self._run(), process=self._process())]

    def _resolve(self) -> list[Step]:
        """A guess; whether it is true, whoever plays it sees to."""
        draw = self._draw
        subject = "model" if draw.chance(0.3) else f"c{draw.between(1, 6)}"
        if subject == "model" and draw.chance(0.5):
            said: Any = draw.one(
                ({"outcome": "succeeded", "result": "so I said"}, {"outcome": "failed", "error": "no"})
            )
            return [Resolve(run=self._run(), subject=subject, process=self._process(), **said)]
        return [Resolve(run=self._run(), subject=subject, outcome="not_performed", process=self._process())]

    def _redeliver(self) -> list[Step]:
        return [Redeliver(event=self._draw.one(_EVENTS), of=self._run())]
