"""What was started and has no outcome on record: repeated, probed or asked about, as each tool and model says."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pawl import (
    Agent,
    Cancelled,
    Completed,
    Failed,
    Found,
    InvalidArguments,
    ModelAnswer,
    NeedsResolution,
    Rest,
    SpecMismatch,
    StaleRevision,
    Superseded,
    ToolCall,
    ToolContext,
    UnknownSubject,
    Usage,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.runtime.execution.load import recovered
from pawl.runtime.records.errors import CodecError, StoreCorrupt
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.sqlite import SqliteStore


@tool
def ask(text: str) -> str:
    """Asked about."""
    return f"asked {text}"


@tool(on_error="fail")
def strict(text: str) -> str:
    """Asked about; its failure is the run's."""
    return f"strict {text}"


@tool(recovery="replay")
def again(text: str, ctx: ToolContext) -> str:
    """Repeated."""
    return f"again {text} {ctx.attempt}"


def probed(*says: Any) -> Any:
    """A tool whose probe gives these answers in order, the last one for ever."""
    answers = list(says)

    def probe(key: str) -> Any:
        said = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(said, Exception):
            raise said
        return said

    @tool(recovery="probe", probe=probe)
    def look(text: str) -> str:
        """Probed."""
        return f"looked {text}"

    return look


def agent_of(*tools: Any, **options: Any) -> Agent:
    parts = [call(one.name, text=one.name) for one in tools]
    script: list[Any] = [calls(*parts, usage=Usage(10, 5)), ModelAnswer("done", usage=Usage(3, 2))]
    return Agent(name="a", model=scripted(script, record=False), tools=list(tools), **options)


def lost(world: World, agent: Agent) -> Process:
    """A run whose process was lost; the next one, in which it has come to rest."""
    process = world.open()
    process.begin(process.runtime.run(agent, "go", id="r1"))
    world.settle()
    assert not process.alive
    return world.open()


def rest_of(process: Process, agent: Agent) -> Rest:
    return process.do(process.runtime.run(agent, "go", id="r1"))


def told(world: World) -> list[str]:
    return [message.text for message in world.witness.requests[-1].messages if message.role == "tool"]


def subjects(rest: Rest) -> list[str]:
    assert isinstance(rest, NeedsResolution)
    return [unresolved.subject for unresolved in rest.unresolved]


# asked ------------------------------------------------------------------------------------------------------------


def test_calls_that_were_recorded_are_not_asked_about() -> None:
    agent = agent_of(ask, strict, again)
    with World(agent, faults=[Fault("tool_outcome#2", "crash_before_commit")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        assert subjects(rest) == ["c2"]
        assert world.witness.effects["again"] == 1  # it waits until nothing is asked any more
        end = process.do(process.runtime.resolve(rest.execution_id, "c2", "succeeded", result="by hand"))
        assert isinstance(end, Completed)
        assert told(world) == ["asked ask", "by hand", "again again 2"]
        assert world.witness.effects == {"ask": 1, "strict": 1, "again": 2}
        assert len(world.witness.keys("c3")) == 1


@pytest.mark.parametrize("order", [("c1", "c2"), ("c2", "c1")])
def test_everything_is_asked_about_at_once_and_answered_in_any_order(order: tuple[str, str]) -> None:
    agent = agent_of(ask, strict)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        assert subjects(rest) == ["c1", "c2"]
        assert [event.kind for event in process.events] == ["recovery_resolution_required"]
        assert [(one.tool, one.arguments, one.attempt) for one in rest.unresolved] == [  # type: ignore[union-attr]
            ("ask", '{"text":"ask"}', 1),
            ("strict", '{"text":"strict"}', 1),
        ]
        assert world.root("a").owner is None
        still = process.do(process.runtime.resolve(rest.execution_id, order[0], "succeeded", result="first"))
        assert subjects(still) == [order[1]]
        end = process.do(process.runtime.resolve(rest.execution_id, order[1], "succeeded", result="second"))
        assert isinstance(end, Completed)
        assert sorted(told(world)) == ["first", "second"]


def test_not_performed_is_run_now_under_the_same_key() -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault("tool:ask#1", "crash_before_effect")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        key = world.rows(rest.execution_id)[0].idempotency_key
        assert isinstance(process.do(process.runtime.resolve(rest.execution_id, "c1", "not_performed")), Completed)
        assert [(entry.idempotency_key, entry.attempt) for entry in world.witness.entries] == [(key, 2)]


@pytest.mark.parametrize(("one", "kind"), [(ask, Completed), (strict, Failed)])
def test_failed_is_what_the_tool_s_failure_is(one: Any, kind: Any) -> None:
    agent = agent_of(one)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        end = process.do(process.runtime.resolve(rest.execution_id, "c1", "failed", error="card declined"))
        assert isinstance(end, kind)
        if isinstance(end, Failed):
            assert "card declined" in end.error.message
        else:
            assert told(world) == ["error: card declined"]


def test_an_answer_about_nothing_that_is_asked_is_refused_and_leaves_everything_as_it_was() -> None:
    agent = agent_of(ask, again)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = lost(world, agent)
        runtime = process.runtime
        rest = rest_of(process, agent)
        name = rest.execution_id
        for subject in ("c2", "c9", "model"):
            with pytest.raises(UnknownSubject, match="waits for: c1"):
                process.do(runtime.resolve(name, subject, "not_performed"))
            with pytest.raises(UnknownSubject):
                process.do(runtime.record_resolution(name, subject, "not_performed"))
        with pytest.raises(StaleRevision):
            process.do(runtime.resolve(name, "c1", "not_performed", revision=rest.revision - 1))
        wrong: list[dict[str, Any]] = [
            {"outcome": "succeeded"},
            {"outcome": "succeeded", "error": "x"},
            {"outcome": "failed"},
            {"outcome": "failed", "result": "x"},
            {"outcome": "not_performed", "result": "x"},
            {"outcome": "perhaps"},
            {"outcome": "succeeded", "result": ModelAnswer("x")},
        ]
        for words in wrong:
            with pytest.raises(InvalidArguments):
                process.do(
                    runtime.resolve(name, "c1", words["outcome"], **{k: v for k, v in words.items() if k != "outcome"})
                )
        assert world.record(name).revision == rest.revision
        assert world.root("a").owner is None
        end = process.do(runtime.resolve(name, "c1", "succeeded", result="x", revision=rest.revision))
        assert isinstance(end, Completed)
        with pytest.raises(UnknownSubject, match="nothing of it waits"):
            process.do(runtime.resolve(name, "c1", "succeeded", result="x"))


def test_a_resolution_that_the_store_refuses_fails_its_caller_alone() -> None:
    agent = agent_of(ask)
    faults = [
        Fault("tool_outcome#1", "crash_before_commit"),
        Fault("resolution#1", "refuse", error=InvalidArguments("no")),
    ]
    with World(agent, faults=faults) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        with pytest.raises(InvalidArguments, match="no"):
            process.do(process.runtime.resolve(rest.execution_id, "c1", "succeeded", result="x"))
        assert world.root("a").owner is None
        assert subjects(rest_of(process, agent)) == ["c1"]
        end = process.do(process.runtime.resolve(rest.execution_id, "c1", "succeeded", result="x"))
        assert isinstance(end, Completed)


def test_an_answer_can_come_before_anybody_has_looked_at_the_lost_run() -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        desk = world.open(Agent(name="other", model=scripted(["x"])))
        (record,) = world.records()
        desk.do(desk.runtime.record_resolution(record.execution_id, "c1", "succeeded", result="by hand"))
        process = world.open()
        assert isinstance(rest_of(process, agent), Completed)
        assert told(world) == ["by hand"]


def test_what_another_process_is_doing_is_not_for_resolution() -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault("tool:ask#1", "hold")]) as world:
        first, second = world.open(), world.open()
        execution = first.do(first.runtime.start(agent, "go"))
        world.settle()
        with pytest.raises(Superseded):
            second.do(second.runtime.resolve(execution.id, "c1", "not_performed"))
        world.release("tool:ask#1")
        assert isinstance(first.do(execution), Completed)
        assert world.witness.effects == {"ask": 1}


# repeated -----------------------------------------------------------------------------------------------------------


def test_a_call_that_is_lost_three_times_is_asked_about_and_not_repeated_for_ever() -> None:
    agent = agent_of(again)
    crashes = [Fault(f"tool:again#{n}", "crash_after_effect") for n in (1, 2, 3)]
    with World(agent, faults=crashes) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        for _ in (2, 3):
            process, _opening = world.begin_open()
            world.settle()
            assert not process.alive
        process = world.open()
        rest = rest_of(process, agent)
        assert subjects(rest) == ["c1"]
        assert rest.unresolved[0].attempt == 3  # type: ignore[union-attr]
        assert isinstance(process.do(process.runtime.resolve(rest.execution_id, "c1", "not_performed")), Completed)
        assert [entry.attempt for entry in world.witness.entries] == [1, 2, 3, 4]
        assert len(world.witness.keys("c1")) == 1


# probed -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "text", "entries"),
    [
        (Found("seen"), "seen", 1),
        (Found({"a": 1}), '{"a":1}', 1),
        ("absent", "looked look", 2),
    ],
)
def test_a_probe_that_knows_is_believed(says: Any, text: str, entries: int) -> None:
    look = probed(says)
    agent = agent_of(look)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = lost(world, agent)
        assert isinstance(rest_of(process, agent), Completed)
        assert told(world) == [text]
        assert world.witness.effects == {"look": entries}
        assert len(world.witness.keys("c1")) == 1


@pytest.mark.parametrize("says", ["unknown", None, "maybe", RuntimeError("no"), Found(object())])
def test_a_probe_that_does_not_know_is_asked_about(says: Any) -> None:
    look = probed(says)
    agent = agent_of(look, again)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        assert subjects(rest) == ["c1"]
        end = process.do(process.runtime.resolve(rest.execution_id, "c1", "succeeded", result="by hand"))
        assert isinstance(end, Completed)
        assert told(world) == ["by hand", "again again 2"]


def test_several_probes_are_asked_one_after_another_and_only_once() -> None:
    one, two = probed(Found("one")), probed("absent")
    two = tool(two.function, name="two", recovery="probe", probe=two.probe)
    agent = agent_of(one, two, ask)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        assert subjects(rest)[-1] == "c3"
        end = process.do(process.runtime.resolve(rest.execution_id, "c3", "succeeded", result="by hand"))
        assert isinstance(end, Completed)
        assert told(world) == ["one", "looked two", "by hand"]


def test_a_probed_call_whose_record_is_refused_becomes_an_asked_one() -> None:
    look = probed(Found("seen"))
    agent = agent_of(look)
    faults = [
        Fault("tool_outcome#1", "crash_before_commit"),
        Fault("resolution#1", "refuse", error=InvalidArguments("no")),
    ]
    with World(agent, faults=faults) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        assert subjects(rest) == ["c1"]
        event = process.events[-1]
        assert event.kind == "recovery_resolution_required"
        assert [subject["subject"] for subject in event.data["subjects"]] == ["c1"]
        end = process.do(process.runtime.resolve(rest.execution_id, "c1", "succeeded", result="by hand"))
        assert isinstance(end, Completed)


def test_a_run_is_cancelled_while_it_probes() -> None:
    look = probed("absent")
    agent = agent_of(look)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit"), Fault("probe:look#1", "hold")]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        process = world.open()
        name = world.records()[0].execution_id
        live = process.runtime._host.keeper.live(name)
        assert live is not None
        assert str(live.state) == "probing"
        process.do(process.runtime.cancel(name))
        world.release("probe:look#1")
        assert isinstance(rest_of(process, agent), Cancelled)
        assert world.witness.effects == {"look": 1}
        assert [row.status for row in world.rows(name)] == ["unknown"]


# the model ----------------------------------------------------------------------------------------------------------


def test_a_lost_model_call_is_made_again_and_recorded_as_lost() -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault("model#2", "crash_during_effect")]) as world:
        process = lost(world, agent)
        end = rest_of(process, agent)
        assert isinstance(end, Completed)
        assert end.usage == Usage(13, 7)
        statuses = [entry.meta["status"] for entry in world.journal("a") if entry.kind == "llm_call_recorded"]
        assert statuses == ["completed", "lost", "completed"]
        assert world.witness.requests[-1].sequence == world.witness.requests[-2].sequence == 2
        assert world.witness.requests[-1].call_id != world.witness.requests[-2].call_id


def test_a_model_that_is_lost_again_and_again_fails_the_run() -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault(f"model#{n}", "crash_during_effect") for n in range(1, 9)]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        opened = 1
        while not world.processes[-1].alive:
            _, opening = world.begin_open()
            world.settle()
            opened += 1
        assert opening.done()
        end = rest_of(world.processes[-1], agent)
        assert isinstance(end, Failed)
        assert "lost 3 times" in end.error.message
        assert world.witness.model_calls == {"a": opened - 1} == {"a": 4}


ANSWERS = [
    ("succeeded", ModelAnswer("all done", usage=Usage(1, 1)), Completed, "all done"),
    ("succeeded", "just text", Completed, "just text"),
    ("not_performed", None, Completed, "done"),
    ("failed", None, Failed, None),
]


@pytest.mark.parametrize(("outcome", "result", "kind", "output"), ANSWERS)
@pytest.mark.parametrize("hostless", [False, True])
def test_a_model_call_is_asked_about_where_the_agent_says_so(
    outcome: Any, result: Any, kind: Any, output: str | None, hostless: bool
) -> None:
    agent = agent_of(ask, model_recovery="ask")
    with World(agent, faults=[Fault("model#2", "crash_during_effect")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        assert subjects(rest) == ["model"]
        error = "rate limited" if outcome == "failed" else None
        resolve = process.runtime.record_resolution if hostless else process.runtime.resolve
        process.do(resolve(rest.execution_id, "model", outcome, result=result, error=error))
        end = process.do(process.do(process.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, kind)
        if output is not None:
            assert end.output == output
        else:
            assert "rate limited" in end.error.message
        assert world.witness.model_calls["a"] == 2 + (outcome == "not_performed")
        kinds = world.kinds("a")
        wanted = {"succeeded": 2, "not_performed": 3, "failed": 2}[outcome]
        assert kinds.count("llm_call_recorded") == wanted


@pytest.mark.parametrize("hostless", [False, True])
def test_an_answer_of_a_model_that_asks_for_tools_is_used_like_any_other(hostless: bool) -> None:
    agent = agent_of(ask, again, model_recovery="ask")
    with World(agent, faults=[Fault("model#1", "crash_during_effect")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        assert subjects(rest) == ["model"]
        said = ModelAnswer(
            "", (ToolCall("", "ask", '{"text":"x"}'), ToolCall("", "again", '{"text":"y"}')), Usage(4, 4)
        )
        resolve = process.runtime.record_resolution if hostless else process.runtime.resolve
        process.do(resolve(rest.execution_id, "model", "succeeded", result=said))
        end = process.do(process.do(process.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, Completed)
        assert end.usage == Usage(7, 6)
        assert told(world) == ["asked x", "again y 1"]
        assert {row.tool_call_id for row in world.rows(rest.execution_id)} == {"call_1", "call_2"}


def test_an_answer_that_no_model_could_have_given_is_refused() -> None:
    agent = agent_of(ask, model_recovery="ask")
    with World(agent, faults=[Fault("model#1", "crash_during_effect")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        for bad in (ModelAnswer(7), ModelAnswer("", (ToolCall("c", "", ""),)), ModelAnswer("\ud800")):  # type: ignore[arg-type]
            with pytest.raises(InvalidArguments):
                process.do(process.runtime.resolve(rest.execution_id, "model", "succeeded", result=bad))
        with pytest.raises(InvalidArguments):
            process.do(process.runtime.resolve(rest.execution_id, "model", "succeeded", result="\ud800"))
        assert world.record(rest.execution_id).revision == rest.revision


def test_text_that_is_no_unicode_is_refused_where_a_tool_s_result_is_given() -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = lost(world, agent)
        rest = rest_of(process, agent)
        bad: list[dict[str, Any]] = [
            {"outcome": "succeeded", "result": "\ud800"},
            {"outcome": "failed", "error": "\ud800"},
        ]
        for words in bad:
            outcome: Any = words.pop("outcome")
            with pytest.raises(InvalidArguments):
                process.do(process.runtime.resolve(rest.execution_id, "c1", outcome, **words))
        assert subjects(rest_of(process, agent)) == ["c1"]


# what may not be touched ----------------------------------------------------------------------------------------------


def test_work_of_another_machine_is_left_untouched_and_listed() -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault("model#1", "crash_during_effect")]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        (record,) = world.records()

        def age(tx: Transaction) -> None:
            tx.executions.save(replace(record, spec_hash="of another time"), record.revision)

        world.store.submit(age, lambda answer: None)
        before = world.records()
        process = world.open()
        world.advance(10)
        assert world.records() == before
        assert [one.execution_id for one in process.do(process.runtime.unclaimed())] == [record.execution_id]
        with pytest.raises(SpecMismatch):
            process.do(process.runtime.resolve(record.execution_id, "model", "not_performed"))
        assert world.records() == before


def test_work_of_an_agent_that_nobody_knows_is_listed() -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault("model#1", "crash_during_effect")]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        desk = world.open(Agent(name="other", model=scripted(["x"])))
        (record,) = desk.do(desk.runtime.unclaimed())
        assert (record.definition, record.status) == ("a", "active")


def test_work_of_an_agent_that_nobody_knows_is_listed_behind_a_page_of_known_work() -> None:
    known, other = (Agent(name=name, model=scripted([hang()] * 200)) for name in ("known", "other"))
    with World(known, other) as world:
        process = world.open()
        for number in range(101):
            process.do(process.runtime.start(known, "go", agent_id=f"k{number}"))
        last = process.do(process.runtime.start(other, "go"))
        desk = world.open(known)
        assert [record.execution_id for record in desk.do(desk.runtime.unclaimed())] == [last.id]


@pytest.mark.parametrize("file", [False, True], ids=["memory", "sqlite"])
def test_a_record_that_cannot_be_read_is_left_alone_and_keeps_nobody_from_work(file: bool, tmp_path: Path) -> None:
    agent, other = agent_of(ask), Agent(name="b", model=scripted(["hello", "hello"], record=False))
    path = tmp_path / "runs.db"
    store = SqliteStore(path, "NORMAL", inline=True) if file else MemoryStore(inline=True)
    faults = [Fault("model#1", "crash_during_effect"), Fault("model#2", "crash_during_effect")]
    world = World(agent, other, faults=faults, store=store)
    for one in (agent, other):
        process = world.open()
        process.begin(process.runtime.run(one, "go", id="r1"))
        world.settle()
        if one is agent:
            damage(path) if isinstance(store, SqliteStore) else damage_memory(store)
    process = world.open()
    assert isinstance(process.do(process.runtime.run(other, "go", id="r1")), Completed)
    with pytest.raises(CodecError, match="iterations"):
        process.do(process.runtime.run(agent, "go", id="r1"))
    world.close()


@pytest.mark.parametrize("file", [False, True], ids=["memory", "sqlite"])
def test_a_record_that_cannot_be_read_hides_no_other_and_is_told_of_once(
    file: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """More of them than a page has come before the one that is adopted."""
    many = 101
    agent, quick = (Agent(name="a", model=scripted([answer] * (many + 1))) for answer in (hang(), "hello"))
    path = tmp_path / "runs.db"
    store = SqliteStore(path, "NORMAL", inline=True) if file else MemoryStore(inline=True)
    world = World(agent, store=store)  # its invariants are of what can be read: it is not looked at
    process = world.open()
    left = [process.do(process.runtime.start(agent, "go", agent_id=f"a{number}")).id for number in range(many)]
    world.settle()
    damage(path) if isinstance(store, SqliteStore) else damage_memory(store)
    last = process.do(process.runtime.start(agent, "go", agent_id="last")).id
    world.settle()
    world.lose(process)
    process = world.open(quick)
    runtime = process.runtime
    assert isinstance(process.do(process.do(runtime.execution(last)).terminal()), Completed)
    process.do(runtime._watch.look())
    told = [record.getMessage() for record in caplog.records if "left untouched" in record.getMessage()]
    assert sorted(told) == sorted(
        f"execution {name} of agent a{number} is left untouched, its record cannot be read; `pawl fsck` says why"
        for number, name in enumerate(left)
    )
    assert [record.execution_id for record in process.do(runtime.executions())] == [last]
    assert [record.execution_id for record in process.do(runtime.executions(after=left[-1], limit=1))] == [last]
    assert process.do(runtime.executions("a7")) == []
    assert process.do(runtime.unclaimed()) == []
    why = process.do(runtime.why_unclaimed(left[7]))
    assert why is not None
    assert why.startswith(f"execution {left[7]} cannot be read (execution.iterations: ")
    assert process.do(runtime.why_unclaimed(last)) is None
    world.close()


def test_a_lease_that_cannot_be_read_keeps_nobody_from_adopting_and_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent, quick = (Agent(name="a", model=scripted([answer])) for answer in (hang(), "hello"))
    path = tmp_path / "runs.db"
    world = World(agent, store=SqliteStore(path, "NORMAL", inline=True))
    process = world.open()
    execution = process.do(process.runtime.start(agent, "go")).id
    world.settle()
    world.lose(process)
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO owners (owner_id, record, expires_at) VALUES ('other', 'none', 1e12)")
        database.execute("UPDATE agents SET owner = NULL, record = replace(record, owner, 'gone')")
        database.execute("DELETE FROM owners WHERE owner_id <> 'other'")
    database.close()
    process = world.open(quick)
    for _ in range(2):
        process.do(process.runtime._watch.look())
    assert isinstance(process.do(process.do(process.runtime.execution(execution)).terminal()), Completed)
    told = [record.getMessage() for record in caplog.records if "a lease cannot be read" in record.getMessage()]
    assert told == ["a lease cannot be read (CodecError); `pawl fsck` says which"]
    world.close()


@pytest.mark.parametrize("kept", ["[1]", "null", '"text"', "no JSON"])
def test_a_durable_context_that_no_start_has_written_is_not_gone_on_with(kept: str) -> None:
    agent = agent_of(ask)
    with World(agent, faults=[Fault("model#1", "crash_during_effect")]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1", durable_context={"tenant": 7}))
        world.settle()
        (record,) = world.records()
        body = Content.of(kept)
        world.store.submit(lambda tx: tx.contents.put(body), lambda _: None)
        wrong = replace(record, context=body.digest)
        world.store.submit(lambda tx: tx.executions.save(wrong, record.revision), lambda _: None)
        process = world.open()
        world.settle()
        assert world.records() == [wrong]
        assert world.root(record.agent_id).owner is None
        assert world.witness.model_calls == {"a": 1}
        with pytest.raises(StoreCorrupt, match="is no JSON object"):
            world.store.read(recovered(record.execution_id))


def damage(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("""UPDATE executions SET record = replace(record, '"iterations":0', '"iterations":"none"')""")
    database.close()


def damage_memory(store: MemoryStore) -> None:
    table = store._transaction._tables.executions
    for name, (text, awaiting) in table.items():
        table[name] = (text.replace('"iterations":0', '"iterations":"none"'), awaiting)
