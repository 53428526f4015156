"""Events as JSON and as server-sent events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pawl import Event, EventKind, InvalidArguments
from pawl.runtime.records.events import durable_events
from pawl.runtime.records.journal import JournalKind

CALL = Event(EventKind.TOOL_CALL, "x1", "a", {"id": "c1", "name": "f", "arguments": "{}"}, 4)


@pytest.mark.parametrize("event", [CALL, Event(EventKind.TOKEN, "x1", "ä\u2028", {"text": "\ud800\n"})])
def test_an_event_comes_back_from_its_json(event: Event) -> None:
    assert Event.from_dict(json.loads(json.dumps(event.to_dict()))) == event


def test_what_is_missing_before_an_event_and_what_follows_it_come_back_too() -> None:
    event = Event(EventKind.TOOL_CALL, "x1", "a", {}, 4, more=True, dropped=3)
    again = Event.from_dict(event.to_dict())
    assert (again.more, again.dropped) == (True, 3)
    assert set(CALL.to_dict()) == {"kind", "execution_id", "agent_id", "data", "cursor"}


def test_a_server_sent_event_is_three_lines_and_an_empty_one() -> None:
    event = Event(EventKind.TOKEN, "x1", "a", {"text": "one\ntwo\r\u2028\u0085"}, None)
    name, data, *rest = event.to_sse().split("\n")
    assert (name, rest) == ("event: token", ["", ""])
    assert Event.from_dict(json.loads(data.removeprefix("data: "))) == event
    assert CALL.to_sse().startswith("id: 4\nevent: tool_call\ndata: {")


def test_only_the_last_event_of_a_record_says_where_to_go_on() -> None:
    calls = [{"id": f"c{n}", "name": "f", "arguments": "{}"} for n in range(3)]
    events = durable_events(JournalKind.ASSISTANT_MESSAGE, "a", "x1", 4, "", {"calls": calls})
    assert [event.id for event in events] == [None, None, "4"]
    assert [event.cursor for event in events] == [4, 4, 4]
    assert [event.to_sse().startswith("id:") for event in events] == [False, False, True]


def test_keys_that_a_later_version_adds_are_left_out() -> None:
    assert Event.from_dict({**CALL.to_dict(), "later": 1}) == CALL
    assert Event.from_dict({"kind": "done", "execution_id": "x", "agent_id": "a"}) == Event(EventKind.DONE, "x", "a")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kind": "no"}, "an event's kind is 'no'"),
        ({"kind": None}, "an event's kind is None"),
        ({"execution_id": 5}, "an event's execution_id is 5"),
        ({"data": []}, "an event's data is []"),
        ({"cursor": "4"}, "an event's cursor is '4'"),
        ({"cursor": True}, "an event's cursor is True"),
        ({"more": 1}, "an event's more is 1"),
        ({"dropped": True}, "an event's dropped is True"),
    ],
)
def test_what_is_no_event_is_named(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        Event.from_dict({**CALL.to_dict(), **wrong})
    assert says in str(caught.value)


@pytest.mark.parametrize("wrong", [None, "text", [CALL.to_dict()]])
def test_what_is_no_object_is_no_event(wrong: Any) -> None:
    with pytest.raises(InvalidArguments, match="an event is a JSON object"):
        Event.from_dict(wrong)
