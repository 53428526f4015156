"""Any provider's answer in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from pawl.runtime.llm.port import ModelRequest, supports_output_schema
from pawl.runtime.llm.scripted import scripted
from pawl.runtime.llm.streaming import answer_in_pieces, can_stream
from pawl.runtime.records.errors import MalformedModelAnswer, ModelError
from pawl.runtime.records.messages import Message, ModelAnswer

REQUEST = ModelRequest("call", "agent", "run", 1, "m", "", (Message("user", "hi"),))


class Whole:
    """A provider that cannot stream."""

    name = "whole"

    def __init__(self, answer: Any = None) -> None:
        self.answer = ModelAnswer("all at once") if answer is None else answer

    async def complete(self, request: ModelRequest) -> Any:
        return self.answer

    async def aclose(self) -> None: ...


class Streaming(Whole):
    """A provider that streams what it was given."""

    def __init__(self, *items: Any) -> None:
        super().__init__()
        self.items = items
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        try:
            for item in self.items:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self.closed = True


def ask(provider: Any) -> tuple[ModelAnswer, list[str]]:
    pieces: list[str] = []
    return asyncio.run(answer_in_pieces(provider, REQUEST, pieces.append)), pieces


def test_pieces_come_before_the_answer() -> None:
    assert ask(Streaming("a", "", "b", ModelAnswer("ab"))) == (ModelAnswer("ab"), ["a", "b"])


def test_a_provider_that_cannot_stream_gives_one_piece() -> None:
    assert ask(Whole()) == (ModelAnswer("all at once"), ["all at once"])
    assert not can_stream(Whole())
    assert can_stream(scripted([]))


@pytest.mark.parametrize("answer", [ModelAnswer(""), 5, ModelAnswer(None)])  # type: ignore[arg-type]
def test_what_has_no_text_has_no_piece(answer: Any) -> None:
    assert ask(Whole(answer)) == (answer, [])


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ((), "ended without a ModelAnswer"),
        (("a",), "ended without a ModelAnswer"),
        ((5,), "its stream gave a int"),
        ((b"a",), "its stream gave a bytes"),
        ((ModelAnswer("a"), "b"), "goes on behind the answer, with a str"),
        ((ModelAnswer("a"), ModelAnswer("a")), "goes on behind the answer, with a ModelAnswer"),
    ],
)
def test_a_stream_that_keeps_no_order_is_malformed_and_closed(items: tuple[Any, ...], says: str) -> None:
    provider = Streaming(*items)
    with pytest.raises(MalformedModelAnswer, match=says):
        ask(provider)
    assert provider.closed


@pytest.mark.parametrize(
    "wrong",
    [lambda _: None, lambda _: ["a", ModelAnswer("a")]],
    ids=["None", "a list"],
)
def test_a_stream_that_is_none_is_malformed(wrong: Callable[[ModelRequest], Any]) -> None:
    provider = Whole()
    provider.stream = wrong  # type: ignore[attr-defined]
    with pytest.raises(MalformedModelAnswer, match="not an asynchronous iterator"):
        ask(provider)


def test_a_coroutine_that_gives_the_iterator_will_do() -> None:
    streaming, provider = Streaming("a", ModelAnswer("a")), Whole()

    async def stream(request: ModelRequest) -> AsyncIterator[Any]:
        return streaming.stream(request)

    provider.stream = stream  # type: ignore[attr-defined]
    assert ask(provider) == (ModelAnswer("a"), ["a"])


def test_a_provider_that_has_everything_at_hand_lets_others_run() -> None:
    async def run() -> int:
        pieces: list[str] = []
        turns = 0

        async def others() -> None:
            nonlocal turns
            while len(pieces) < 1000:
                turns += 1
                await asyncio.sleep(0)

        provider = Streaming(*["x"] * 1000, ModelAnswer("x" * 1000))
        await asyncio.gather(others(), answer_in_pieces(provider, REQUEST, pieces.append))
        return turns

    assert asyncio.run(run()) > 20


def test_an_iterator_without_aclose_will_do() -> None:
    class Plain:
        def __init__(self) -> None:
            self.left = ["a", ModelAnswer("a")]

        def __aiter__(self) -> Plain:
            return self

        async def __anext__(self) -> Any:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    provider = Whole()
    provider.stream = lambda _: Plain()  # type: ignore[attr-defined]
    assert ask(provider) == (ModelAnswer("a"), ["a"])


def test_an_error_in_the_middle_is_raised_as_it_is() -> None:
    error = ModelError("lost", retry_after=3.0)
    provider = Streaming("a", error)
    with pytest.raises(ModelError) as caught:
        ask(provider)
    assert caught.value is error
    assert provider.closed


def test_a_cancelled_call_has_closed_its_stream() -> None:
    provider = Streaming("a", ModelAnswer("a"))

    async def run() -> None:
        hung = asyncio.Event()

        async def stream(request: ModelRequest) -> AsyncIterator[Any]:
            try:
                yield "a"
                hung.set()
                await asyncio.get_running_loop().create_future()
            finally:
                provider.closed = True

        provider.stream = stream  # type: ignore[method-assign]
        task = asyncio.create_task(answer_in_pieces(provider, REQUEST, lambda _: None))
        await hung.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert provider.closed

    asyncio.run(run())


def test_only_a_true_attribute_says_that_schemas_are_kept_to() -> None:
    class Odd(Whole):
        supports_output_schema = "maybe"

    assert not supports_output_schema(Whole())
    assert not supports_output_schema(Odd())
    assert not supports_output_schema(scripted([]))
    assert supports_output_schema(scripted([], output_schema=True))
