"""The barriers and the way read off a record are those of the run, whatever it went through."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cli.shell import Shell
from pawl import (
    Agent,
    Decision,
    ModelError,
    NeedsResolution,
    Runtime,
    RuntimeClosed,
    Suspended,
    Verdict,
    call,
    calls,
    scripted,
    tool,
)
from pawl.generated.agent_invocation import MACHINE
from pawl.runtime.execution.heart import Move
from pawl.runtime.records.frozen import replace
from pawl.runtime.store.sqlite import SqliteStore
from pawl.tools.cli.history import steps
from pawl.tools.cli.picturing import agent_machine, standing
from pawl.tools.cli.record import snapshot
from pawl.tools.cli.way import STATES, way
from pawl.tools.compiler.overlay import overlay

Story = Callable[["World"], Awaitable[None]]

BARRIERS = {
    "admitting": "admission", "calling_llm": "provider_dispatch", "suspending": "suspension", "deciding": "approval",
    "dispatching_tools": "tool_dispatch", "resolving": "resolution", "settling": "outcome",
}  # fmt: skip

MODEL = agent_machine()

WITHOUT_CODE = {
    ("suspended", "deciding"),
    ("deciding", "suspended"),
    ("awaiting_resolution", "resolving"),
    ("resolving", "recovering"),
}
"""What an answer does that is recorded in one transaction, without a session that takes rows."""


@tool
def look(n: int) -> str:
    """Look."""
    return str(n)


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


class Traps:
    """Places where a body or a model stands still, so that its process can end there."""

    left: ClassVar[int] = 0
    reached: ClassVar[asyncio.Event]

    @classmethod
    async def step(cls) -> None:
        if cls.left:
            cls.left -= 1
            cls.reached.set()
            await asyncio.get_running_loop().create_future()


@tool(recovery="ask")
async def charge(cents: int) -> str:
    """Charge."""
    await Traps.step()
    return f"charged {cents}"


@tool(recovery="replay")
async def mail(to: str) -> str:
    """Mail."""
    await Traps.step()
    return f"mailed {to}"


@tool(on_error="fail")
def broken() -> str:
    """Break."""
    raise RuntimeError("broken")


class World:
    """Runtimes over one store, one after another, and every barrier of the run that was seen to commit."""

    def __init__(self, path: Path, agent: Agent) -> None:
        self._path, self.agent = path, agent
        self.committed: list[str] = []
        self.hops: set[tuple[str, str]] = set()
        self.execution_id = ""

    def runtime(self, *, code: bool = True) -> Runtime:
        return Runtime(SqliteStore(self._path), [self.agent] if code else [], trace=self._trace, poll_interval=0)

    def _trace(self, _: str, move: Move) -> None:
        state, _, inner = move.source.partition(".")
        if move.child is None and move.target is not None:
            self.hops.add((state, move.target.partition(".")[0]))
        if move.child is None and inner and move.event in ("committed", "read_committed"):
            self.committed.append(BARRIERS[state])

    async def start(self) -> Any:
        async with self.runtime() as runtime:
            rest = await runtime.run(self.agent, "hello", id="r1")
            self.execution_id = rest.execution_id
            return rest

    async def go_on(self) -> Any:
        async with self.runtime() as runtime:
            return await (await runtime.execution(self.execution_id))

    async def die(self) -> None:
        """A process that runs it until something stands still, and is gone then."""
        Traps.left, Traps.reached = 1, asyncio.Event()
        runtime = Runtime(SqliteStore(self._path), [self.agent], trace=self._trace, poll_interval=0, close_timeout=0)
        async with runtime:
            self.execution_id = (await runtime.start(self.agent, "hello", id="r1")).id
            await asyncio.wait_for(Traps.reached.wait(), 20)
        await self.check()

    async def resolve(self, subject: str, outcome: Any, *, code: bool = True, stand_still: bool = False) -> None:
        words = {"succeeded": {"result": "by hand"}, "failed": {"error": "no"}}
        said: dict[str, Any] = dict(words.get(outcome, {}))
        if not code:
            async with self.runtime(code=False) as runtime:
                await runtime.record_resolution(self.execution_id, subject, outcome, **said)
            self.committed.append("resolution")
        elif stand_still:
            Traps.left, Traps.reached = 1, asyncio.Event()
            runtime = Runtime(
                SqliteStore(self._path), [self.agent], trace=self._trace, poll_interval=0, close_timeout=0
            )
            async with runtime:
                resolving = asyncio.ensure_future(runtime.resolve(self.execution_id, subject, outcome, **said))
                await asyncio.wait_for(Traps.reached.wait(), 20)
            with pytest.raises(RuntimeClosed):
                await resolving
        else:
            async with self.runtime() as runtime:
                await runtime.resolve(self.execution_id, subject, outcome, **said)
        await self.check()

    async def check(self) -> None:
        store = SqliteStore(self._path)
        store.open()
        try:
            found = store.read(snapshot(self.execution_id))
        finally:
            store.close()
        read = steps(found.record, found.journal, [stored.row for stored in found.tools])
        assert [step.barrier for step in read] == self.committed
        assert [step.revision for step in read] == list(range(found.record.revision + 1))
        assert [entry for step in read for entry in step.entries] == list(found.journal)
        taken = way(MODEL, read, standing(found))
        assert overlay(MODEL, standing(found), taken).path == tuple(taken)
        assert set(taken) <= self.hops | WITHOUT_CODE
        assert taken[-1][1] == standing(found)


def answers(*script: Any, tools: Any = (look, pay, charge, mail, broken), **options: Any) -> Agent:
    return Agent(name="agent", model=scripted(script), tools=tools, **options)


async def straight(world: World) -> None:
    await world.start()


async def approved_by_parts(world: World) -> None:
    rest = await world.start()
    for code, name in ((False, "c2"), (True, "c3")):
        async with world.runtime(code=code) as runtime:
            if code:
                await runtime.decide(rest.request.id, items={name: True})
            else:
                await runtime.record_decision(rest.request.id, items={name: True})
                world.committed.append("approval")
                await world.check()


async def rejected(world: World) -> None:
    rest = await world.start()
    async with world.runtime() as runtime:
        await runtime.decide(rest.request.id, items={"c2": Decision("c2", Verdict.REJECTED, "no")})


async def cancelled_at_rest(world: World) -> None:
    assert isinstance(await world.start(), Suspended)
    async with world.runtime() as runtime:
        await runtime.cancel(world.execution_id)
        await (await runtime.execution(world.execution_id)).terminal()


def lost(*said: str, code: bool = True) -> Story:
    """The process dies in a call; somebody says each time what became of it, and it dies again where it runs again."""

    async def story(world: World) -> None:
        await world.die()
        rest = await world.go_on()
        assert isinstance(rest, NeedsResolution)
        subject = rest.unresolved[0].subject
        for place, outcome in enumerate(said):
            again = outcome == "not_performed" and place + 1 < len(said)
            await world.resolve(subject, outcome, code=code, stand_still=again and code)
            if again and not code:
                await world.die()
            if again:
                assert isinstance(await world.go_on(), NeedsResolution)
        if not code:
            await world.go_on()

    return story


def died(times: int) -> Story:
    """The process dies in something that is simply done again."""

    async def story(world: World) -> None:
        for _ in range(times):
            await world.die()
        await world.go_on()

    return story


async def repeated_until_somebody_is_asked(world: World) -> None:
    for _ in range(3):
        await world.die()
    assert isinstance(await world.go_on(), NeedsResolution)
    await world.resolve("c1", "succeeded")


async def slow(request: object) -> str:
    await Traps.step()
    return "done"


STORIES: dict[str, tuple[Agent, Story]] = {
    "nothing but an answer": (answers("done"), straight),
    "tools, twice": (answers(call("look", n=1), calls(call("look", n=2), call("mail", to="ann")), "done"), straight),
    "a tool that does not exist": (answers(call("nowhere"), "done"), straight),
    "a tool that fails the run": (answers(call("broken")), straight),
    "no answers left": (answers(call("look", n=1), call("look", n=2), max_iterations=2), straight),
    "a model that fails": (answers(ModelError("no")), straight),
    "approved item by item": (
        answers(calls(call("look", n=1), call("pay", cents=1), call("pay", cents=2)), "done"), approved_by_parts,
    ),
    "rejected": (answers(calls(call("look", n=1), call("pay", cents=1)), "done"), rejected),
    "rejected, and told the model": (
        answers(calls(call("look", n=1), call("pay", cents=1)), "done", on_rejection="continue"), rejected,
    ),
    "cancelled while it waits": (answers(call("pay", cents=1)), cancelled_at_rest),
    "lost in a call that happened": (answers(call("charge", cents=1), "done"), lost("succeeded")),
    "lost in a call that failed": (answers(call("charge", cents=1), "done"), lost("failed", code=False)),
    "lost in a call, again and again": (
        answers(call("charge", cents=1), "done"), lost("not_performed", "not_performed", "succeeded"),
    ),
    "lost in a call, answered without code": (
        answers(call("charge", cents=1), "done"), lost("not_performed", "succeeded", code=False),
    ),
    "lost in a call that is repeated": (answers(call("mail", to="ann"), "done"), died(2)),
    "lost in a call that was repeated too often": (
        answers(call("mail", to="ann"), "done"), repeated_until_somebody_is_asked,
    ),
    "lost in the model": (answers(slow), died(2)),
    "lost in the model, behind tools": (answers(call("look", n=1), slow), died(1)),
    "lost in a model that is asked about": (answers(slow, model_recovery="ask"), lost("succeeded")),
    "lost in a model that failed": (answers(slow, model_recovery="ask"), lost("failed")),
    "lost in a model that failed, said without code": (answers(slow, model_recovery="ask"), lost("failed", code=False)),
    "lost in the model, again and again": (
        answers(slow, model_recovery="ask"), lost("not_performed", "not_performed", "succeeded"),
    ),
    "lost in the model, answered without code": (
        answers(slow, model_recovery="ask"), lost("not_performed", "succeeded", code=False),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
def test_the_barriers_and_the_way_that_are_read_are_those_of_the_run(name: str, tmp_path: Path) -> None:
    agent, story = STORIES[name]
    world = World(tmp_path / "runs.db", agent)

    async def play() -> None:
        await story(world)
        await world.check()

    asyncio.run(play())


@pytest.mark.parametrize("state", sorted(BARRIERS))
def test_every_barrier_of_the_machine_has_its_name_here(state: str) -> None:
    assert MACHINE.state[state].name == state
    barriers = {info.name for info in MACHINE.states if f"{info.name}.committing" in MACHINE.state}
    assert barriers == set(BARRIERS)
    assert {barrier: state for state, barrier in BARRIERS.items()} == STATES


def test_no_revision_is_claimed_when_the_barriers_do_not_add_up(tmp_path: Path) -> None:
    world = World(tmp_path / "runs.db", answers(call("look", n=1), "done"))

    async def play() -> None:
        await world.start()

    asyncio.run(play())
    store = SqliteStore(tmp_path / "runs.db")
    store.open()
    found = store.read(snapshot(world.execution_id))
    store.close()

    read = steps(replace(found.record, revision=9), found.journal, [stored.row for stored in found.tools])

    assert {step.revision for step in read} == {None}
    assert [entry for step in read for entry in step.entries] == list(found.journal)


@pytest.mark.parametrize("name", ["nothing but an answer", "tools, twice", "rejected", "lost in the model"])
def test_the_way_that_is_read_is_the_whole_way(name: str, tmp_path: Path) -> None:
    agent, story = STORIES[name]
    world = World(tmp_path / "runs.db", agent)

    async def play() -> set[tuple[str, str]]:
        await story(world)
        async with world.runtime(code=False) as runtime:
            found = await runtime._host.store.read(snapshot(world.execution_id))
        read = steps(found.record, found.journal, [stored.row for stored in found.tools])
        return set(way(MODEL, read, standing(found)))

    assert asyncio.run(play()) == {hop for hop in world.hops if hop[0] != hop[1]}


WRONG = """\
from pawl import Agent, ModelAnswer, ToolCall, scripted, tool

@tool
def add(a: int, b: int) -> int:
    return a + b

good = ToolCall("c3", "add", '{"a": 1, "b": 2}')
calls = ModelAnswer("", (ToolCall("c1", "add", "{}"), ToolCall("c2", "nothing", "{}"), good))
clerk = Agent(name="clerk", model=scripted([calls, "I see"]), tools=[add])
"""


def test_a_call_that_never_ran_is_told_as_failed_wherever_it_is_told(shell: Shell) -> None:
    shell.write("wrong.py", WRONG)
    ran = shell("run", "wrong", "add")
    name = shell("ls", "--json").json["executions"][0]["execution_id"]

    told = [ran.out, shell("tail", name).out, shell("show", name).out]

    for out in told:
        assert "c1 add failed (attempt 0): error: invalid arguments for add: a: missing" in out
        assert "c2 nothing failed (attempt 0): error: there is no tool 'nothing'" in out
    assert "c1  add {}  failed, attempt 0" in told[2]
    shown = shell("show", name, "--json").json
    assert [row["status"] for row in shown["tools"]] == ["failed", "failed", "completed"]
    results = [one["meta"]["status"] for one in shown["journal"] if one["kind"] == "tool_result"]
    assert results == ["failed", "failed", "completed"]
