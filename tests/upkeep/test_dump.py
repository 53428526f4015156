"""What leaves in a dump, and what comes of it in another store: all of it, or nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pawl import Agent, ModelRequest, NeedsResolution, Suspended, call, calls, scripted
from pawl.runtime.barriers.edits import bound
from pawl.runtime.records.errors import (
    AgentExists,
    ExecutionNotFound,
    IdConflict,
    InvalidArguments,
    PawlError,
    StoreCorrupt,
)
from pawl.runtime.simulation.samples import an_agent, done
from pawl.runtime.simulation.world import World
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Store
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.store.sqlite_look import SqliteLook
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.dump import dump
from pawl.runtime.upkeep.load import load
from pawl.runtime.upkeep.redact import Declared, Placeholders, redacted_meta
from upkeep.town import agents, damaged, memory, pay, town

KEY = b"the same in every test"

PRIVATE = (
    "pay both", "Ann", "Bob", "open A", "1234", "9876", "with another code", "weather?", "acme", "tenant", "Ulm",
    "rain", "Be brief", "no such model", "Eve", "stop me",
)  # fmt: skip


@pytest.fixture(scope="module")
def whole_town() -> Any:
    with town(memory()) as world:
        yield world


def dumped(world: World, agent: str, place: int = -1, **options: Any) -> list[str]:
    mine = [record for record in world.records() if record.agent_id == agent]
    return list(dump(world.store, mine[place].execution_id, key=KEY, **options))


def fresh(folder: Path | None = None) -> Store:
    store: Store = MemoryStore(inline=True) if folder is None else SqliteStore(folder / "fresh.db", inline=True)
    store.open()
    return store


ALL = [
    (name, place) for name in ("done", "waits", "lost", "failed", "cancelled", "rejected", "begun") for place in (0,)
]
ALL += [("edited", 0), ("edited", 1), ("reset", 0), ("reset", 2)]


@pytest.mark.parametrize("redact", [True, False])
@pytest.mark.parametrize(("agent", "place"), ALL)
def test_what_was_dumped_is_whole_where_it_is_loaded(
    whole_town: World, agent: str, place: int, redact: bool, tmp_path: Path
) -> None:
    lines = dumped(whole_town, agent, place, redact=redact)
    for store in (fresh(), fresh(tmp_path)):
        record = load(store, lines)
        assert [str(finding) for finding in check_store(store)] == []
        again = list(dump(store, record.execution_id, redact=False))
        assert len(again) == len(lines)
        if not (redact and agent == "edited"):  # placeholders stand where its secrets were, and are left out themselves
            assert again[1:] == lines[1:]
        store.close()


@pytest.mark.parametrize(("agent", "place"), ALL)
def test_nothing_that_anybody_wrote_leaves_in_a_redacted_dump(whole_town: World, agent: str, place: int) -> None:
    text = "\n".join(dumped(whole_town, agent, place))
    assert [word for word in PRIVATE if word in text] == []


def test_the_same_text_has_the_same_placeholder_and_structure_stays(whole_town: World) -> None:
    lines = [json.loads(line) for line in dumped(whole_town, "waits")]
    (execution,) = [line["execution"]["data"] for line in lines if "execution" in line]
    rows = [line["tool"]["data"] for line in lines if "tool" in line]
    assert [row["tool"] for row in rows] == ["pay", "pay", "look"]
    assert rows[0]["arguments"].keys() == {"cents", "to"}
    assert json.loads(rows[0]["raw_arguments"]) == rows[0]["arguments"]
    assert execution["request"]["items"][0]["arguments"] == rows[0]["arguments"]
    assert rows[0]["arguments"]["to"] == "[3 characters, " + rows[0]["arguments"]["to"][15:]
    assert rows[0]["arguments"]["to"] != rows[1]["arguments"]["to"]
    assert execution["request"]["agent_id"] == execution["agent_id"] != "waits"


def test_two_dumps_have_other_placeholders(whole_town: World) -> None:
    name = whole_town.records()[1].execution_id
    one, two = (list(dump(whole_town.store, name)) for _ in range(2))
    assert one[1:] != two[1:]
    assert len(one) == len(two)


def test_declared_secrets_stay_out_of_every_dump(whole_town: World) -> None:
    lines = dumped(whole_town, "edited", 0, redact=False)
    text = "\n".join(lines)
    assert "open A" in text
    assert "with another code" in text
    assert "1234" not in text
    assert "9876" not in text


def test_decisions_stay_bound_to_the_arguments_that_were_asked_about(whole_town: World) -> None:
    store = fresh()
    record = load(store, dumped(whole_town, "waits"))
    assert record.request is not None
    rows = {row.tool_invocation_id: row for row in store.read(lambda tx: tx.tools.of_execution(record.execution_id))}
    assert [item.digest for item in record.request.items] == [
        bound(rows[item.tool_invocation_id]) for item in record.request.items
    ]


def test_a_loaded_run_rests_as_it_did_and_goes_on(whole_town: World) -> None:
    store = memory()
    with World(*agents(), store=store) as world:
        waits = load(store, dumped(whole_town, "waits", redact=False))
        lost = load(store, dumped(whole_town, "lost", redact=False))
        world.invariants.tampered = True  # it has seen no barrier of these runs
        process = world.open()
        rest = process.do(process.runtime.result(waits.execution_id))
        assert isinstance(rest, Suspended)
        (undecided,) = rest.undecided
        assert isinstance(process.do(process.runtime.result(lost.execution_id)), NeedsResolution)
        process.do(process.runtime.decide(rest.request.id, items={undecided: False}))
        assert world.record(waits.execution_id).status == "rejected"


# --- with the conversation ---


@pytest.mark.parametrize("redact", [True, False])
@pytest.mark.parametrize(("agent", "place"), ALL)
def test_a_conversation_is_whole_where_it_is_loaded(
    whole_town: World, agent: str, place: int, redact: bool, tmp_path: Path
) -> None:
    lines = dumped(whole_town, agent, place, redact=redact, conversation=True)
    mine = [record.execution_id for record in whole_town.records() if record.agent_id == agent]
    seen = mine[2:] if (agent, place) == ("reset", 2) else mine[: place + 1]
    for store in (fresh(), fresh(tmp_path)):
        assert load(store, lines).execution_id == mine[place]
        assert [str(finding) for finding in check_store(store)] == []
        assert sorted(record.execution_id for record, _ in store.read(lambda tx: tx.executions.list())) == sorted(seen)
        again = list(dump(store, mine[place], redact=False, conversation=True))
        assert len(again) == len(lines)
        if not redact:
            assert again == lines
        store.close()


@pytest.mark.parametrize("conversation", [True, False])
def test_a_loaded_run_goes_on_with_what_it_has_seen(conversation: bool) -> None:
    seen: list[list[str]] = []

    def answer(request: ModelRequest) -> object:
        seen.append([message.text for message in request.messages])
        return [calls(call("pay", cents=5, to="Ann")), "paid"][any(one.role == "tool" for one in request.messages)]

    def payer(*script: Any) -> Agent:
        return Agent(name="payer", model=scripted(script, record=False), tools=[pay])

    with World(payer("hello", answer, answer), store=memory()) as world:
        process = world.open()
        process.do(process.runtime.run(world.agents[0], "good morning"))
        rest = process.do(process.runtime.run(world.agents[0], "pay Ann"))
        assert isinstance(rest, Suspended)
        lines = list(dump(world.store, rest.execution_id, redact=False, conversation=conversation))
        process.do(process.runtime.decide(rest.request.id, approve=True))
        there = seen.pop()
    with World(payer("hello", answer, answer), store=memory()) as world:
        load(world.store, lines)
        world.invariants.tampered = True  # it has seen no barrier of these runs
        process = world.open()
        process.do(process.runtime.decide(rest.request.id, approve=True))
        earlier = ["good morning", "hello"]
        assert there == [*earlier, "pay Ann", "", "paid 5 to Ann"]
        assert seen[-1] == (there if conversation else there[len(earlier) :])


# --- what is refused ---


def same(_: str) -> str:
    return _


def cut(lines: list[str]) -> list[str]:
    return lines[:-1]


def changed(what: str, old: str, new: str) -> Any:
    def change(lines: list[str]) -> list[str]:
        at = next(place for place, line in enumerate(lines) if f'"{what}":' in line and old in line)
        return [*lines[:at], lines[at].replace(old, new, 1), *lines[at + 1 :]]

    return change


def without(what: str) -> Any:
    def change(lines: list[str]) -> list[str]:
        kept = [line for line in lines if f'"{what}":' not in line]
        return [*kept[:-1], json.dumps({"end": len(kept) - 1})]

    return change


BROKEN: dict[str, tuple[Any, str]] = {
    "empty": (lambda lines: [], "the dump is empty"),
    "no dump": (lambda lines: ["{}"], "line 1: no header"),
    "no JSON": (lambda lines: ["hello"], "line 1: dump: not JSON"),
    "a list": (lambda lines: ["[]"], "line 1: not an object"),
    "of a later version": (changed("pawl_dump", '"pawl_dump":1', '"pawl_dump":2'), "of version 2, known is 1; upgrade"),
    "cut off": (cut, "the dump is cut off behind line"),
    "a line missing": (lambda lines: [*lines[:-2], lines[-1]], "lines were written"),
    "more behind": (lambda lines: [*lines, lines[1]], "more behind the last line"),
    "an unknown line": (lambda lines: [lines[0], '{"evil":1}', *lines[1:]], "line 2: no line of a dump has the keys"),
    "a changed body": (changed("content", '"body":"p', '"body":"P'), "the body is not the one of sha256:"),
    "a missing body": (without("body"), "is not in the dump"),
    "a gap": (changed("journal", '"journal":3', '"journal":4'), "journal record 2 is followed by 4"),
    "a kind that is none": (changed("journal", "input_received", "dream"), "line .*dream"),
    "a position that is none": (changed("journal", '"journal":1', '"journal":"1"'), "a position is an integer"),
    "an unknown key in a record": (changed("execution", '"batch":', '"more":1,"batch":'), "unknown 'more'"),
    "no agent": (without("agent_id\":\"waits\",\"answers"), "has no agent"),
    "two agents": (lambda lines: [*lines[:-1], *(line for line in lines if line.startswith('{"agent"'))], "twice"),
    "a rest that is none": (changed("execution", '"awaiting":"approval"', '"awaiting":"rain"'), "nothing waits for"),
    "another usage": (changed("execution", '"usage":{"input":0', '"usage":{"input":9'), "does not fit together: usage"),
    "a row less": (without("tool\":{\"data"), "does not fit together: batch"),
    "other arguments": (changed("tool", '"cents":7', '"cents":9'), "does not fit together: request"),
}  # fmt: skip


@pytest.mark.parametrize("how", BROKEN)
def test_a_file_that_is_no_whole_dump_is_refused_and_leaves_nothing(whole_town: World, how: str) -> None:
    change, said = BROKEN[how]
    store = fresh()
    with pytest.raises(InvalidArguments, match=said):
        load(store, change(dumped(whole_town, "waits", redact=False)))
    assert set(store.read(lambda tx: tx.upkeep.counts()).values()) == {0}


@pytest.mark.parametrize("agent", ["waits", "edited", "lost"])
@pytest.mark.parametrize("redact", [True, False])
def test_lines_that_are_lost_doubled_moved_or_cut_are_refused_or_change_nothing(
    whole_town: World, agent: str, redact: bool
) -> None:
    lines = dumped(whole_town, agent, redact=redact, conversation=True)
    whole = fresh()
    load(whole, lines)
    wanted = list(dump(whole, whole_town_id(whole_town, agent), redact=False, conversation=True))

    def counted(changed: list[str]) -> list[str]:
        return [*changed[:-1], json.dumps({"end": len(changed) - 1})]

    for at, line in enumerate(lines[:-1]):
        for changed in (
            [*lines[:at], *lines[at + 1 :]],
            [*lines[:at], line, line, *lines[at + 1 :]],
            [*lines[:at], lines[at + 1], line, *lines[at + 2 :]],
            [*lines[:at], *lines[at + 1 : -1], line, lines[-1]],
            [*lines[:at], line[: len(line) // 2], *lines[at + 1 :]],
            lines[:at],
        ):
            for tried in (changed, counted(changed) if changed else changed):
                store = fresh()
                try:
                    load(store, tried)
                except PawlError:
                    assert set(store.read(lambda tx: tx.upkeep.counts()).values()) == {0}
                else:
                    assert list(check_store(store)) == []
                    there = list(dump(store, whole_town_id(whole_town, agent), redact=False, conversation=True))
                    assert sorted(there) == sorted(wanted), (at, line[:60])


def whole_town_id(world: World, agent: str) -> str:
    return [record.execution_id for record in world.records() if record.agent_id == agent][-1]


def test_what_is_there_already_stays_and_refuses(whole_town: World) -> None:
    store = fresh()
    lines = dumped(whole_town, "done", redact=False)
    done(store, lambda tx: tx.agents.insert(an_agent("done")))
    with pytest.raises(AgentExists):
        load(store, lines)
    assert store.read(lambda tx: tx.executions.list()) == []
    other = [line.replace('"agent_id":"done"', '"agent_id":"other"') for line in lines]
    load(store, other)
    again = [line.replace('"agent_id":"done"', '"agent_id":"third"') for line in lines]
    with pytest.raises(IdConflict):
        load(store, again)
    assert store.read(lambda tx: tx.agents.get("third")) is None


def test_hostile_lines_raise_what_they_should(whole_town: World) -> None:
    lines = dumped(whole_town, "waits", redact=False)
    for number, line in enumerate(lines):
        value = json.loads(line)
        for key in value:
            for bad in (None, [], {}, "x", -1, 1e400, True, "\ud800", "x" * 10_000):
                broken = [*lines[:number], json.dumps({**value, key: bad}), *lines[number + 1 :]]
                _refused_or_whole(broken)


def _refused_or_whole(lines: Sequence[str]) -> None:
    store = fresh()
    try:
        load(store, lines)
    except PawlError:
        assert set(store.read(lambda tx: tx.upkeep.counts()).values()) == {0}
    else:
        assert list(check_store(store)) == []


def test_an_execution_that_is_not_there_cannot_be_dumped(whole_town: World) -> None:
    with pytest.raises(ExecutionNotFound):
        dump(whole_town.store, "none")


def test_a_damaged_execution_is_not_dumped_in_part(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("DELETE FROM contents WHERE body = 'rain in Ulm'")
    (name,) = connection.execute("SELECT execution_id FROM executions e JOIN agents a ON a.id = e.agent "
                                 "WHERE agent_id = 'done'").fetchone()  # fmt: skip
    connection.commit()
    connection.close()
    look = SqliteLook(file)
    look.open()
    with pytest.raises(PawlError, match="missing"):
        dump(look, name)
    look.close()


@pytest.mark.parametrize("table", ["agents", "tools"])
def test_what_refers_to_rows_that_are_gone_is_not_dumped(file: Path, table: str) -> None:
    connection = sqlite3.connect(file)
    (name,) = connection.execute("SELECT execution_id FROM executions e JOIN agents a ON a.id = e.agent "
                                 "WHERE agent_id = 'waits'").fetchone()  # fmt: skip
    connection.execute(f"DELETE FROM {table}")
    connection.commit()
    connection.close()
    look = SqliteLook(file)
    look.open()
    with pytest.raises(StoreCorrupt, match="`pawl fsck` says what is missing"):
        dump(look, name)
    look.close()


@pytest.mark.parametrize("change", ["digest = hex(digest)", "digest = id", "body = CAST(body AS BLOB)"])
def test_a_body_of_another_type_is_not_dumped(file: Path, change: str) -> None:
    damaged(file, f"UPDATE contents SET {change}")
    connection = sqlite3.connect(file)
    names = [name for (name,) in connection.execute("SELECT execution_id FROM executions")]
    connection.close()
    look = SqliteLook(file)
    look.open()
    for name in names:
        with pytest.raises(StoreCorrupt, match="restore a backup"):
            dump(look, name)
    look.close()


def test_what_is_not_known_to_be_structure_is_text() -> None:
    meta = {
        "usage": {"input": 3, "output": "secret"},
        "status": "completed",
        "late": True,
        "note": "secret",
        "amount": 7,
        "seconds": 0.5,
        "calls": [{"id": "c1", "name": "pay", "arguments": '{"to": "secret", "n": 7}', "secret": None}, "c2"],
        "decisions": [{"verdict": "approved", "message": "secret", "edit": {"to": ["secret", {"secret": 1}]}}],
        "error": {"type": "ToolError", "message": "secret"},
        "start_id": "secret",
    }
    shown = redacted_meta(Placeholders(KEY), meta)
    assert {name for name in meta if name in shown} == set(meta)
    assert "secret" not in json.dumps(shown).replace('"secret": null', "")
    assert (shown["usage"]["input"], shown["status"], shown["late"], shown["seconds"]) == (3, "completed", True, 0.5)
    assert isinstance(shown["amount"], str)
    assert (shown["calls"][0]["id"], shown["calls"][1], shown["error"]["type"]) == ("c1", "c2", "ToolError")
    assert redacted_meta(Declared({}), meta) == meta
