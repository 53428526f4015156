"""Random programs in random trouble: several processes, several agents, every fault; the invariants hold and all ends.

SIM_RUNS is how many stories are told, each from another seed; by default a few, always the same.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pawl import (
    Agent,
    Decision,
    Found,
    ModelError,
    NeedsResolution,
    PawlError,
    Retries,
    StaleRequest,
    Suspended,
    UsageLimits,
    Verdict,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.llm.scripted import Answer
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.simulation.client import truth
from pawl.runtime.simulation.faults import BARRIERS, Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.store import ELSEWHERE
from pawl.runtime.simulation.world import World

RUNS = int(os.environ.get("SIM_RUNS", "0"))


@tool
def free(text: str) -> str:
    """Asked about."""
    return f"free {text}"


@tool(approval=True)
def paid(text: str) -> str:
    """Approved, and asked about."""
    return f"paid {text}"


@tool(approval=True, recovery="replay", timeout=4)
async def slow(text: str) -> str:
    """Approved, repeated, and slow."""
    await asyncio.sleep(3)
    return f"slow {text}"


@tool(recovery="probe", probe=lambda key: "absent" if int(key[-1], 16) % 3 == 0 else Found("found"), on_error="fail")
def probed(text: str) -> str:
    """Probed; it fails now and then."""
    if text == "bad":
        raise ValueError("no")
    return f"probed {text}"


@tool(approval=lambda query: "reject" if query.arguments["text"] == "bad" else "allow", recovery="replay")
async def policed(text: str) -> str:
    """By policy, and stubborn."""
    until = asyncio.get_running_loop().time() + 2
    while (left := until - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return f"policed {text}"


async def screened(text: str) -> str:
    """A filter that takes its time."""
    await asyncio.sleep(1)
    return text


@tool(max_concurrent=1, rate="3/5s", recovery="replay", timeout=6, result_filter=screened)
async def scarce(text: str) -> str:
    """One at a time, not too often, and filtered."""
    await asyncio.sleep(2)
    return f"scarce {text}"


TOOLS = (free, paid, slow, probed, policed, scarce)
CALL = st.builds(call, st.sampled_from([one.name for one in TOOLS] + ["nothing"]), text=st.sampled_from(["x", "bad"]))
ANSWER: st.SearchStrategy[Any] = st.one_of(
    st.just("text"),
    st.lists(CALL, min_size=1, max_size=3).map(lambda parts: calls(*parts)),
    st.sampled_from([ModelError("busy", retry_safe=True), ModelError("no")]),
)
AGENTS = ("A", "B")
AT_BARRIER = [
    "crash_before_commit",
    "crash_after_commit",
    "lose_reply_committed",
    "lose_reply_rolled_back",
    "unavailable",
    "unreadable",
    "refuse",
    "superseded",
    "hold",
    "hold_reply",
]
AT_BODY = ["crash_before_effect", "crash_during_effect", "crash_after_effect", "hold"]
PLACES = [*BARRIERS, "take_over", "let_go", "stop_intent", "renew", "give_back", "hold_on"]


CLOCKS = st.fixed_dictionaries(
    {
        "run_timeout": st.sampled_from([None, 2.0, 30.0]),
        "approval_timeout": st.sampled_from([None, 3.0, 60.0]),
        "model_timeout": st.sampled_from([600.0, 4.0]),
        "retries": st.sampled_from([Retries(), Retries(attempts=0), Retries(attempts=4, first=3)]),
        "limits": st.sampled_from([None, UsageLimits(model_calls=3), UsageLimits(tool_calls=2)]),
    }
)
"""How long things may take, and how much a run may use."""


class Story(RuleBasedStateMachine):
    """What may happen, as rules."""

    world: World
    agent: Agent

    @initialize(
        script=st.lists(ANSWER, min_size=1, max_size=5),
        on_rejection=st.sampled_from(["end", "continue"]),
        model_recovery=st.sampled_from(["replay", "ask"]),
        seed=st.integers(0, 1000),
        clocks=CLOCKS,
    )
    def begin(self, script: list[Answer], on_rejection: Any, model_recovery: Any, seed: int, clocks: Any) -> None:
        self.agent = Agent(
            name="agent",
            model=scripted([*script, *["text"] * 20], record=False),
            tools=list(TOOLS),
            on_rejection=on_rejection,
            model_recovery=model_recovery,
            drain_timeout=30,
            **clocks,
        )
        self.world = World(self.agent, seed=seed, shuffle=True)
        self.starts = 0
        self.calls: list[asyncio.Task[Any]] = []
        self.open_one()

    def open_one(self) -> None:
        if sum(process.alive for process in self.world.processes) < 2:
            self.world.begin_open()
            self.world.settle()

    def ready(self) -> Process | None:
        """A process that can be asked something."""
        up = [one for one in self.world.processes if one.alive and not one.paused and one.runtime._state == "open"]
        return up[-1] if up else None

    def ask(self, make: Any) -> None:
        process = self.ready()
        if process is not None:
            self.calls.append(process.begin(make(process.runtime)))
            self.world.settle()

    # what people do -------------------------------------------------------------------------------------------

    @rule(agent_id=st.sampled_from(AGENTS), again=st.booleans())
    def start(self, agent_id: str, again: bool) -> None:
        if not again:
            self.starts += 1
        self.ask(lambda runtime: runtime.run(self.agent, "go", agent_id=agent_id, id=f"{agent_id}{self.starts}"))

    @rule(agent_id=st.sampled_from(AGENTS), yes=st.booleans(), one=st.booleans())
    def decide(self, agent_id: str, yes: bool, one: bool) -> None:
        for record in self.world.records():
            if record.agent_id == agent_id and record.request is not None and record.status == "suspended":
                names = [item.tool_call_id for item in record.request.items][: 1 if one else None]
                verdict = Verdict.APPROVED if yes else Verdict.REJECTED
                items = {name: Decision(name, verdict) for name in names}
                request = record.request.id
                self.ask(lambda runtime, request=request, items=items: runtime.decide(request, items=items))

    @rule(agent_id=st.sampled_from(AGENTS))
    def cancel(self, agent_id: str) -> None:
        for record in self.world.records():
            if record.agent_id == agent_id and record.status not in TERMINAL:
                name = record.execution_id
                self.ask(lambda runtime, name=name: runtime.cancel(name))

    @rule(agent_id=st.sampled_from(AGENTS))
    def resolve(self, agent_id: str) -> None:
        for record in self.world.records():
            if record.agent_id == agent_id and record.status not in TERMINAL:
                name = record.execution_id
                self.ask(lambda runtime, name=name: self._resolve_one(runtime, name))

    async def _resolve_one(self, runtime: Any, name: str) -> None:
        rest = await runtime.result(name)
        if isinstance(rest, NeedsResolution):
            unresolved = rest.unresolved[0]
            outcome, result, error = truth(self.world, unresolved)
            await runtime.resolve(name, unresolved.subject, outcome, result=result, error=error)

    # what goes wrong ------------------------------------------------------------------------------------------

    @rule(place=st.sampled_from(PLACES), do=st.sampled_from(AT_BARRIER), ahead=st.integers(1, 3))
    def plan(self, place: str, do: Any, ahead: int) -> None:
        if place not in BARRIERS and do in ("superseded", "refuse"):
            return
        times = 3 if do == "unavailable" else 1
        error = PawlError("refused") if do == "refuse" else None
        self.world.faults.add(Fault(f"{place}#{self.world.faults.counts[place] + ahead}", do, times, error))

    @rule(name=st.sampled_from([one.name for one in TOOLS]), do=st.sampled_from(AT_BODY))
    def plan_body(self, name: str, do: Any) -> None:
        place = f"tool:{name}"
        self.world.faults.add(Fault(f"{place}#{self.world.faults.counts[place] + 1}", do))

    @rule(do=st.sampled_from(AT_BODY))
    def plan_model(self, do: Any) -> None:
        self.world.faults.add(Fault(f"model#{self.world.faults.counts['model'] + 1}", do))

    @precondition(lambda self: self.ready() is not None)
    @rule(host=st.booleans())
    def crash(self, host: bool) -> None:
        process = self.ready()
        assert process is not None
        self.world.lose(process, host=host)

    @rule()
    def reopen(self) -> None:
        self.open_one()

    @precondition(lambda self: self.ready() is not None)
    @rule()
    def pause(self) -> None:
        process = self.ready()
        assert process is not None
        self.world.pause(process)

    @rule()
    def unpause(self) -> None:
        for process in self.world.processes:
            if process.alive and process.paused:
                self.world.unpause(process)
        self.world.settle()

    @rule()
    def release(self) -> None:
        for address in [*self.world._parked]:
            if self.world.held(address):
                self.world.release(address)
        self.world.settle()

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 40.0]))
    def advance(self, seconds: float) -> None:
        self.world.advance(seconds)

    # what has to be true --------------------------------------------------------------------------------------

    @invariant()
    def everything_on_record_fits_together(self) -> None:
        if hasattr(self, "world"):
            self.world.invariants.check()
            for record in self.world.records():
                assert record.deadline is None or record.time_left is None, "its clock stands and goes"
                assert record.deadline is None or record.status != "suspended", "its clock goes while it waits"

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            self.come_to_an_end()
            self.world.invariants.check()
        finally:
            self.world.close()

    def come_to_an_end(self) -> None:
        """Nothing goes wrong any more: every run ends, and no agent is left behind."""
        world = self.world
        world.faults._plan.clear()
        world.unavailable = 0
        self.unpause()
        self.release()
        world.advance(60)
        for process in world.processes:
            if process.alive:
                world.lose(process)
        process = world.open()
        world.advance(10)
        for record in world.records():
            self._see_through(process, record.execution_id)
        assert [record.time_left for record in world.records() if record.time_left is not None] == []
        assert len(process.runtime._keeper._deadlines) == 0
        for agent_id in {record.agent_id for record in world.records()}:
            # Who is idle, and was given away by the fault `superseded`, stays so until somebody starts a run.
            assert world.root(agent_id).owner in (None, ELSEWHERE)
            rest = process.do(process.runtime.run(self.agent, "and now?", agent_id=agent_id, id="last"), within=600)
            self._see_through(process, rest.execution_id)

    def _see_through(self, process: Process, name: str) -> None:
        for _ in range(40):
            rest = process.do(process.do(process.runtime.execution(name)), within=600)
            if isinstance(rest, Suspended):
                with suppress(StaleRequest):  # it may have expired
                    process.do(process.runtime.decide(rest.request.id, approve=True), within=600)
                self.world.advance(2)
            elif isinstance(rest, NeedsResolution):
                process.do(self._resolve_one(process.runtime, name), within=600)
            else:
                return
        raise AssertionError(f"{name} does not come to an end: {rest}")


TestStory = Story.TestCase
TestStory.settings = settings(
    max_examples=RUNS or 40,
    stateful_step_count=30,
    deadline=None,
    derandomize=not RUNS,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
