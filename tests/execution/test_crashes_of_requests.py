"""Every fault at every place of a run with filters, hooks and a policy: a call that was let go is made again as it
was, whatever its hooks would say the second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from execution.programs import CRASHES, Seen, named, run, single_faults
from pawl import (
    Agent,
    Block,
    Completed,
    ContextPolicy,
    HookQuery,
    Knowledge,
    Message,
    RequestPatch,
    ToolContext,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.records.canonical import digest
from pawl.runtime.records.messages import why_invalid
from pawl.runtime.simulation.faults import BARRIERS, Fault
from pawl.runtime.simulation.world import World
from pawl.runtime.store.port import Store
from pawl.runtime.store.sqlite import SqliteStore


@tool(recovery="replay")
def read(page: str, ctx: ToolContext) -> str:
    """Forty characters of a page."""
    return page * 40


NUMBERS = count()
"""Never twice the same, also when a hook is asked again."""


def numbered(query: HookQuery) -> RequestPatch:
    note = Message("system", f"note {next(NUMBERS)}")
    tools = ["read"] if query.sequence != 2 else []
    return RequestPatch(before=[note], add_instructions=f"number {next(NUMBERS)}", tools=tools)


async def careful(text: str) -> str | Block:
    return Block("no") if "secret" in text else f"({text})"


def librarian(**options: Any) -> Agent:
    """Reads some pages one after the other, of which the oldest leave the request."""
    script = [
        call("read", page="a"),
        calls(call("read", page="b"), call("read", page="c")),
        call("read", page="d"),
        "all read",
    ]
    return Agent(
        name="librarian",
        model=scripted(script * 2, record=False),
        tools=[read],
        instructions=lambda: f"Made as number {next(NUMBERS)}.",
        knowledge=[Knowledge("Pages", "a to d")],
        input_filters=[str.strip, careful],
        output_filters=[careful],
        before_llm=[numbered],
        context=ContextPolicy(400, len),
        **options,
    )


LIBRARIAN = librarian()


def asked_alike(world: World) -> None:
    """However often a model call was let go, it asked the same; and the manifest on record says what."""
    by_sequence: dict[int, list[Any]] = {}
    for request in world.witness.requests:
        asked = (request.instructions, tuple(request.messages), tuple(spec.name for spec in request.tools))
        by_sequence.setdefault(request.sequence, []).append(asked)
        assert why_invalid(request.messages) is None
    for sequence, asked in by_sequence.items():
        assert len(set(asked)) == 1, f"answer {sequence} was asked for in {len(set(asked))} ways"
    for record in world.records():
        manifest = record.manifest
        assert manifest is not None
        bodies = [world.store.read(lambda tx, name=name: tx.contents.get(name)) for name in manifest.extra]
        assert [digest(body) for body in bodies] == list(manifest.extra)
        instructions, messages, _ = by_sequence[max(by_sequence)][0]
        assert instructions == "\n\n".join(body for body in bodies if body.startswith(("Made", "# Pages", "number")))
        assert any(message.text in body for message in messages[:1] for body in bodies)


def disturbed(*faults: Fault, store: Store | None = None) -> tuple[Seen, list[str], World, list[Fault]]:
    with World(LIBRARIAN, faults=faults, store=store) as world:
        result, client = run(world, LIBRARIAN)
        assert len(faults) > 1 or not world.faults.unmet
        asked_alike(world)
        return result, client.asked, world, single_faults(world)


EXPECTED, _, QUIET, FAULTS = disturbed()


def expect_undisturbed(*faults: Fault, store: Store | None = None) -> None:
    result, asked, _, _ = disturbed(*faults, store=store)
    assert (result.outcome, result.output, result.kinds, result.statuses) == (
        EXPECTED.outcome,
        EXPECTED.output,
        EXPECTED.kinds,
        EXPECTED.statuses,
    )
    assert asked == []


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


def test_undisturbed_the_requests_are_these() -> None:
    assert EXPECTED.outcome is Completed
    assert EXPECTED.output == "(all read)"
    first, second, third, fourth = QUIET.witness.requests
    assert texts(first.messages)[1:] == ["(go)"]
    assert texts(second.messages)[1:] == ["(go)", "", "a" * 40]
    assert texts(third.messages)[1:] == ["(go)", "", "b" * 40, "c" * 40]
    assert texts(fourth.messages)[1:] == ["(go)", "", "d" * 40]
    assert [len(request.tools) for request in (first, second, third, fourth)] == [1, 0, 1, 1]


@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_one_fault_anywhere_changes_nothing_and_no_request_is_made_up_again(fault: Fault) -> None:
    expect_undisturbed(fault)


AT_BARRIERS = [fault for fault in FAULTS if fault.at.partition("#")[0] in BARRIERS and fault.do in CRASHES]


@pytest.mark.parametrize("fault", AT_BARRIERS, ids=named)
def test_on_a_file_it_is_the_same(fault: Fault, tmp_path: Path) -> None:
    expect_undisturbed(fault, store=SqliteStore(tmp_path / "runs.db", "NORMAL", inline=True))


LOST = [f"model#{number}" for number in (5, 6, 7, 8)]


@pytest.mark.parametrize("place", LOST)
@pytest.mark.parametrize("do", ["crash_before_effect", "crash_during_effect", "crash_after_effect"])
def test_what_an_earlier_run_said_is_left_out_again_in_the_call_that_is_made_again(place: str, do: Any) -> None:
    with World(LIBRARIAN, faults=[Fault(place, do)]) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(LIBRARIAN, "first", id="r1")), Completed)
        begun = process.begin(process.runtime.run(LIBRARIAN, "second", id="r2"))
        world.settle()
        assert not process.alive
        assert not begun.done()
        again = world.open()
        assert isinstance(again.do(again.runtime.run(LIBRARIAN, "second", id="r2")), Completed)
        asked_alike_of_second = [request for request in world.witness.requests if request.sequence > 4]
        assert {request.sequence for request in asked_alike_of_second} == {5, 6, 7, 8}
        for sequence in range(5, 9):
            asked = [
                (request.instructions, tuple(request.messages), request.tools)
                for request in asked_alike_of_second
                if request.sequence == sequence
            ]
            assert all(one == asked[0] for one in asked)
        last = world.witness.requests[-1]
        assert texts(last.messages)[1:] == ["(second)", "", "d" * 40]


def test_a_call_that_may_not_be_made_again_is_made_as_it_was_when_somebody_says_so() -> None:
    agent = librarian(model_recovery="ask")
    with World(agent, faults=[Fault("model#3", "crash_before_effect")]) as world:
        process = world.open()
        begun = process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        assert not begun.done()
        again = world.open()
        execution = again.do(again.runtime.start(agent, "go", id="r1"))
        rest = again.do(execution._rest())
        assert [subject.subject for subject in rest.unresolved] == ["model"]  # type: ignore[union-attr]
        end = again.do(again.runtime.resolve(execution.id, "model", "not_performed"))
        assert isinstance(end, Completed)
        requests = world.witness.requests
        assert len(requests) == 4
        assert texts(requests[2].messages)[1:] == ["(go)", "", "b" * 40, "c" * 40]
        assert requests[2].messages[0].text.startswith("note ")
