"""Redacted arguments: real where something is done with them, and nowhere where people look."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Annotated, Any

import attrs
import pytest

from execution.programs import CRASHES, LOST
from pawl import (
    Agent,
    AlreadyDecided,
    ApprovalQuery,
    Completed,
    Decision,
    Event,
    InvalidArguments,
    ModelAnswer,
    NeedsResolution,
    Runtime,
    Secret,
    StaleRequest,
    Suspended,
    ToolCall,
    Verdict,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.records.frozen import replace
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World

CARD, ZIP, PIN = "4111222233334444", "99887", "7391"
SECRETS = (CARD, ZIP, PIN)


@attrs.frozen
class Address:
    street: str
    zip: Annotated[str, Secret]


def ask(query: ApprovalQuery) -> tuple[str, str]:
    return ("reject", "a strange card") if not query.arguments["card"].startswith("4") else ("ask", "a lot of money")


@tool(approval=ask, redact=["card", "pins"])
def pay(card: str, cents: int, to: Address, pins: list[str] | None = None) -> str:
    """Pay."""
    PAID.append((card, cents, to.zip, pins))
    return "paid"


PAID: list[Any] = []
STRANGER = Agent(name="stranger", model=scripted(["hello"], record=False))
GIVEN = {"card": CARD, "cents": 5, "to": {"street": "x", "zip": ZIP}, "pins": [PIN]}
SHOWN = {"card": "[redacted]", "cents": 5, "to": {"street": "x", "zip": "[redacted]"}, "pins": "[redacted]"}


def office(*answers: Any, **options: Any) -> Agent:
    script = answers or (call("pay", **GIVEN), "done")
    return Agent(name="office", model=scripted(script, record=False), tools=[pay], **options)


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


def suspended(world: World, agent: Agent) -> tuple[Process, Suspended]:
    process = world.open()
    rest = process.do(process.runtime.run(agent, "go"))
    assert isinstance(rest, Suspended)
    return process, rest


def silent(*said: object) -> None:
    """Nothing of what is redacted is in there."""
    for text in map(repr, said):
        assert not [secret for secret in SECRETS if secret in text], text


# where people look ------------------------------------------------------------------------------------------------


def test_people_never_see_it_and_the_tool_the_policy_and_the_model_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent, events = office(), list[Event]()
    caplog.set_level(logging.DEBUG)

    async def main() -> list[object]:
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent], on_event=events.append) as runtime:
            rest = await runtime.run(agent, "go")
            assert isinstance(rest, Suspended)
            assert rest.request.items[0].arguments == SHOWN
            assert rest.request.items[0].reason == "a lot of money"
            end = await runtime.decide(rest.request.id, approve=True)
            execution = await runtime.execution(rest.execution_id)
            return [
                rest,
                end,
                await execution.history(),
                await runtime.receipts(rest.request.id),
                await runtime.executions(),
                await runtime.result(rest.execution_id),
            ]

    said = asyncio.run(main())
    assert PAID == [(CARD, 5, ZIP, [PIN])]
    assert [str(event.kind) for event in events] == ["tool_call", "approval_required", "tool_result", "done"]
    assert '"card":"[redacted]"' in events[0].data["arguments"]
    silent(said, events, caplog.text, [record.getMessage() for record in caplog.records])


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "blocking"])
def test_a_policy_that_fails_over_it_is_named_without_its_words(asynchronous: bool) -> None:
    def fails(query: ApprovalQuery) -> Any:
        raise KeyError(query.arguments["card"])

    async def fails_async(query: ApprovalQuery) -> Any:
        return fails(query)

    one = tool(name="pay", approval=fails_async if asynchronous else fails, redact=["card", "pins"])(pay.function)
    agent = Agent(name="office", model=scripted([call("pay", **GIVEN), "done"], record=False), tools=[one])
    with World(agent) as world:
        process, rest = suspended(world, agent)
        assert rest.request.items[0].reason == "the approval policy failed: KeyError"
        silent(rest, process.events)


def test_the_model_reads_its_own_call_as_it_made_it() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        process.do(process.runtime.decide(rest.request.id, approve=True))
        (asked,) = [message for message in world.witness.requests[-1].messages if message.calls]
        assert CARD in asked.calls[0].arguments
        silent(asked, world.rows(rest.execution_id), world.journal("office"))
        assert world.rows(rest.execution_id)[0].arguments == GIVEN


@pytest.mark.parametrize(
    "arguments",
    [
        f'{{"card": {CARD}, "cents": 5}}',
        f'{{"card": "a", "cents": "{CARD}", "to": {{}}}}',
        f'{{"cents": 5, "crad": "{CARD}"}}',
        f'["{CARD}"]',
        f'"{CARD}"',
        f'{{"card": "{CARD}"',
        f'{{"card": "{CARD}", "card": "{CARD}"}}',
    ],
)
def test_arguments_that_do_not_fit_are_neither_shown_nor_quoted(arguments: str) -> None:
    agent = office(ModelAnswer("", (ToolCall("c1", "pay", arguments),)), "done")
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Completed)
        assert [event.data["arguments"] for event in process.events if event.kind == "tool_call"] == ["[redacted]"]
        assert "invalid arguments" in process.events[1].data["text"]
        silent(process.events, end)


def test_a_tool_that_does_not_exist_may_be_one_whose_name_was_misspelt() -> None:
    agent = office(call("pya", **GIVEN), "done")
    with World(agent) as world:
        process = world.open()
        process.do(process.runtime.run(agent, "go"))
        silent(process.events)
        assert process.events[0].data["arguments"] == "[redacted]"


def test_what_is_asked_about_after_a_crash_is_redacted_as_well() -> None:
    agent = office()
    with World(agent, faults=[Fault("tool:pay#1", "crash_during_effect")]) as world:
        process, rest = suspended(world, agent)
        process.begin(process.runtime.decide(rest.request.id, approve=True))
        world.settle()
        second = world.open()
        end = second.do(second.runtime.result(rest.execution_id))
        assert isinstance(end, NeedsResolution)
        assert '"cents":5' in end.unresolved[0].arguments
        silent(end, second.events)


def test_an_answer_that_was_given_without_the_code_shows_no_arguments() -> None:
    agent = office("unused", model_recovery="ask")
    with World(agent, faults=[Fault("model#1", "crash_during_effect")]) as world:
        first = world.open()
        first.begin(first.runtime.run(agent, "go", id="r"))
        world.settle()
        (record,) = world.records()
        other = world.open(STRANGER)
        said = ModelAnswer("", (call_of(GIVEN),))
        other.do(other.runtime.record_resolution(record.execution_id, "model", "succeeded", result=said))
        history = other.do(other.do(other.runtime.execution(record.execution_id)).history())
        assert [event.data["arguments"] for event in history if event.kind == "tool_call"] == ["[redacted]"]


def call_of(arguments: dict[str, Any]) -> ToolCall:
    return ToolCall("c1", "pay", json.dumps(arguments))


# decisions --------------------------------------------------------------------------------------------------------


def approved(edit: dict[str, Any]) -> dict[str, bool | Decision]:
    return {"c1": Decision("c1", Verdict.APPROVED, edit=edit)}


@pytest.mark.parametrize("code", [True, False], ids=["with the code", "without the code"])
@pytest.mark.parametrize(
    ("edit", "paid"),
    [
        ({**SHOWN, "cents": 4}, (CARD, 4, ZIP, [PIN])),
        ({"cents": 4, "to": {"street": "y"}}, (CARD, 4, ZIP, [PIN])),
        ({**SHOWN, "card": "4999", "pins": None}, ("4999", 5, ZIP, None)),
    ],
    ids=["left as it was", "left out", "given anew"],
)
def test_an_edit_keeps_what_it_could_not_see(edit: dict[str, Any], paid: Any, code: bool) -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        decider = process if code else world.open(STRANGER)
        decider.do(decider.runtime.record_decision(rest.request.id, items=approved(edit)))
        again = decider.do(decider.runtime.record_decision(rest.request.id, items=approved(edit)))
        assert len(again) == 1
        silent(again)
        assert "4999" not in repr(again)
        with pytest.raises(AlreadyDecided):
            decider.do(decider.runtime.record_decision(rest.request.id, items=approved({**edit, "card": "4777"})))
        (journalled,) = [entry for entry in world.journal("office") if entry.kind == "approval_decided"]
        silent(journalled.meta)
        end = process.do(process.do(process.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, Completed)
        assert [paid] == PAID
        silent(process.events, world.record(rest.execution_id))


def test_a_live_decision_with_an_edit_runs_what_it_says() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        end = process.do(process.runtime.decide(rest.request.id, items=approved({**SHOWN, "cents": 4})))
        assert isinstance(end, Completed)
        assert PAID == [(CARD, 4, ZIP, [PIN])]
        (row,) = world.rows(rest.execution_id)
        assert (row.arguments, row.shown) == ({**GIVEN, "cents": 4}, {**SHOWN, "cents": 4})


BARRIERS = ("suspension#1", "approval#1", "tool_dispatch#1", "tool_outcome#1")


@pytest.mark.parametrize("at", BARRIERS)
@pytest.mark.parametrize("do", [*CRASHES, *LOST])
def test_an_edit_survives_whatever_happens_on_the_way(at: str, do: Any) -> None:
    one = tool(name="pay", approval=True, recovery="replay", redact=["card", "pins"])(pay.function)
    agent = Agent(name="office", model=scripted([call("pay", **GIVEN), "done"], record=False), tools=[one])
    with World(agent, faults=[Fault(at, do)]) as world:
        client = Client(world, agent, decide=lambda rest: approved({**rest.request.items[0].arguments, "cents": 4}))
        end = client.see_through()
        assert isinstance(end, Completed)
        assert not world.faults.unmet
        assert {repr(paid) for paid in PAID} == {repr((CARD, 4, ZIP, [PIN]))}
        (row,) = world.rows(end.execution_id)
        assert (row.arguments, row.redacted) == ({**GIVEN, "cents": 4}, ("/card", "/to/zip", "/pins"))
        silent(world.journal("office"), client.rests, [process.events for process in world.processes])


def test_an_edit_whose_outline_is_new_is_not_shown_where_the_code_is_not_here() -> None:
    agent = office()
    with World(agent) as world:
        _, rest = suspended(world, agent)
        other = world.open(STRANGER)
        edit = {**SHOWN, "to": {"street": "x", "zip": "12345", "zip2": "54321"}}
        (receipt,) = other.do(other.runtime.record_decision(rest.request.id, items=approved(edit)))
        assert set((receipt.decision.edit or {}).values()) == {"[redacted]"}


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({**SHOWN, "cents": "4"}, "cents: expected an integer, got text"),
        ({**SHOWN, "card": 4111222233334444}, "card: expected text, got a number"),
        ({**SHOWN, "note": "[redacted]"}, "the edit of 'c1': the edit has the text [redacted]"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused_before_the_commit(edit: dict[str, Any], says: str) -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        with pytest.raises(InvalidArguments) as caught:
            process.do(process.runtime.decide(rest.request.id, items=approved(edit)))
        assert says in str(caught.value)
        silent(str(caught.value))
        assert isinstance(process.do(process.runtime.result(rest.execution_id)), Suspended)


def test_a_request_is_bound_to_the_real_arguments() -> None:
    digests = set()
    for card in ("4000", "4001"):
        agent = office(call("pay", **{**GIVEN, "card": card}), "done")
        with World(agent) as world:
            _, rest = suspended(world, agent)
            digests.add(rest.request.items[0].digest)
            assert rest.request.items[0].arguments == SHOWN
    assert len(digests) == 2


@pytest.mark.parametrize("code", [True, False], ids=["with the code", "without the code"])
def test_arguments_that_are_not_those_that_were_asked_about_cannot_be_approved(code: bool) -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        (row,) = world.rows(rest.execution_id)
        changed = replace(row, arguments={**GIVEN, "card": "4000"})
        world.store.submit(lambda tx: tx.tools.put((changed,)), lambda answer: None)
        decider = process if code else world.open(STRANGER)
        with pytest.raises(StaleRequest, match="are not those that request"):
            decider.do(decider.runtime.record_decision(rest.request.id, approve=True))


def test_calls_beside_it_are_shown_as_before() -> None:
    @tool
    def add(a: int) -> int:
        return a

    agent = Agent(
        name="office", model=scripted([calls(call("add", a=1), call("add", a=2)), "x"], record=False), tools=[pay, add]
    )
    with World(agent) as world:
        process = world.open()
        process.do(process.runtime.run(agent, "go"))
        said = [event.data["arguments"] for event in process.events if event.kind == "tool_call"]
        assert said == ['{"a":1}', '{"a":2}']
        (answer, _) = [entry for entry in world.journal("office") if entry.kind == "assistant_message"]
        assert [one.keys() for one in answer.meta["calls"]] == [{"id", "name", "arguments"}] * 2
