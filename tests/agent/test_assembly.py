"""What a request is made of: its sequences, and the manifest that says it again."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pawl import CodecError, Message
from pawl.runtime.agent.assembly import PLAIN, Assembly, Composed, Window, offered, restored, stored
from pawl.runtime.llm.port import ToolSpec
from pawl.runtime.records.canonical import canonical, digest
from pawl.runtime.records.codec import decode, encode
from pawl.runtime.records.executions import Manifest
from pawl.runtime.records.messages import ToolCall

SAID = [Message("user", str(number)) for number in range(10)]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["system", "user"]), TEXTS)
    | st.builds(Message, st.just("assistant"), TEXTS, st.tuples(st.builds(ToolCall, TEXTS, TEXTS, TEXTS)))
    | st.builds(Message, st.just("tool"), TEXTS, st.just(()), TEXTS),
    max_size=3,
).map(tuple)


def kept(assembly: Assembly, *messages: Message) -> None:
    assert list(assembly.messages(SAID)) == list(messages)


def test_the_plain_request_is_the_transcript_itself() -> None:
    assert PLAIN.messages(SAID) is SAID
    assert PLAIN.instructions is None
    assert PLAIN.manifest(7) == Manifest(7)
    assert stored(PLAIN) is PLAIN


def test_what_is_left_out_is_gone_and_what_is_added_stands_around_the_rest() -> None:
    first, last = Message("system", "first"), Message("user", "last")
    kept(Assembly(left_out=((0, 4), (6, 9))), SAID[4], SAID[5], SAID[9])
    kept(Assembly(left_out=((0, 10),), before=(first,), after=(last,)), first, last)
    kept(Assembly(left_out=((3, 10),), before=(first,)), first, *SAID[:3])


@given(st.lists(st.integers(0, 3), max_size=5))
def test_composed_sequences_behave_like_the_list_of_their_messages(lengths: list[int]) -> None:
    parts: list[Sequence[Message]] = [Window(SAID, start, start + length) for start, length in enumerate(lengths)]
    composed = Composed(parts)
    flat = [message for part in parts for message in part]
    assert list(composed) == flat
    assert len(composed) == len(flat)
    assert bool(composed) == bool(flat)
    for place in range(-len(flat), len(flat)):
        assert composed[place] == flat[place]
    assert composed[1:-1] == flat[1:-1]
    assert composed == flat
    assert composed != [*flat, SAID[0]]
    for place in (len(flat), -len(flat) - 1):
        with pytest.raises(IndexError):
            composed[place]


@given(st.none() | st.lists(TEXTS, max_size=4).map(tuple), MESSAGES, MESSAGES, st.none() | st.lists(TEXTS).map(tuple))
def test_what_is_stored_is_what_is_restored(
    told: tuple[str, ...] | None,
    before: tuple[Message, ...],
    after: tuple[Message, ...],
    tools: tuple[str, ...] | None,
) -> None:
    made = stored(Assembly(told, before, after, tools, ((1, 4), (8, 9)), ((0, 3), (5, 6))))
    bodies = {content.digest: content.body for content in made.contents}
    assert all(digest(body) == name for name, body in bodies.items())
    manifest = decode(encode(made.manifest(20)), Manifest)
    assert set(manifest.extra) == set(bodies)
    again = restored(manifest, [1, 2, 4, 6, 7, 8], bodies.__getitem__)
    assert again == attrs.evolve(made, contents=())


def test_texts_that_requests_share_are_stored_once() -> None:
    knowledge = "long " * 1000
    made = [stored(Assembly(told=(f"now it is {hour}", knowledge))) for hour in range(10)]
    bodies = {content.digest: content.body for one in made for content in one.contents}
    assert sum(map(len, bodies.values())) < len(knowledge) + 500


@pytest.mark.parametrize("frame", ["[]", "{}", '{"told":[9],"before":[],"after":[],"tools":null}', "7", '{"told":7}'])
def test_a_frame_that_is_none_is_an_error_of_the_store(frame: str) -> None:
    with pytest.raises(CodecError, match="request frame"):
        restored(Manifest(1, (), (digest(frame),)), [], lambda name: frame)


def test_a_message_in_a_frame_that_is_none_is_an_error_of_the_store() -> None:
    frame = canonical({"told": None, "before": [1], "after": [], "tools": None})
    bodies = {"a": frame, "b": "no message"}
    with pytest.raises(CodecError):
        restored(Manifest(1, (), ("a", "b")), [], bodies.__getitem__)


def test_tools_keep_the_order_of_the_definition() -> None:
    specs = tuple(ToolSpec(name, "", {}) for name in "abc")
    assert [spec.name for spec in offered(("c", "a"), specs)] == ["a", "c"]
    assert offered(None, specs) == specs
    assert offered((), specs) == ()
