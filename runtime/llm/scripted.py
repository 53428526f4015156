"""A model that says what its script says, for tests and demonstrations."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import count
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import attrs

from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import InvalidArguments, ModelError
from pawl.runtime.records.messages import ModelAnswer, ToolCall, Usage


@attrs.frozen
class ScriptedCall:
    """A tool call in a script; without an id it gets the next free one of `c1`, `c2`, …"""

    tool: str
    arguments: dict[str, Any]
    call_id: str | None = None


@attrs.frozen
class ScriptedCalls:
    """An answer of several tool calls."""

    calls: tuple[ScriptedCall, ...]
    text: str
    usage: Usage


@attrs.frozen
class Hang:
    """An attempt that never answers; it ends by cancellation only."""


@attrs.frozen
class Streamed:
    """An answer in given pieces, each `delay` seconds after the one before; it may break off at its last part."""

    parts: tuple[str | ScriptedCall | Exception | Hang, ...]
    usage: Usage
    delay: float


Spoken: TypeAlias = str | ModelAnswer | ScriptedCall | ScriptedCalls
Answer: TypeAlias = Spoken | Streamed | Exception | Hang | Callable[[ModelRequest], Any]


def call(tool: str, /, *, call_id: str | None = None, **arguments: Any) -> ScriptedCall:
    """Call `tool` with JSON `arguments`: `call("refund", order_id="7", cents=500)`."""
    return ScriptedCall(tool, arguments, call_id)


def calls(*parts: ScriptedCall, text: str = "", usage: Usage | None = None) -> ScriptedCalls:
    """Several calls in one answer: `calls(call("add", a=1), call("add", a=2))`."""
    return ScriptedCalls(parts, text, usage or Usage())


def hang() -> Hang:
    """Let one attempt never answer."""
    return Hang()


def streamed(*parts: str | ScriptedCall | Exception | Hang, usage: Usage | None = None, delay: float = 0.0) -> Streamed:
    """An answer in exactly these pieces: `streamed("Let me ", "look.", call("find", what="7"))`.

    Text is a piece each; calls come with the end of the answer. An exception or `hang()` as the last part breaks the
    stream off there, for one attempt. Before every part pass `delay` seconds of the event loop's clock, which is
    virtual in a simulation.
    """
    return Streamed(parts, usage or Usage(), delay)


def scripted(answers: Iterable[Answer], *, record: bool = True, output_schema: bool = False) -> ScriptedProvider:
    """Make a provider that gives `answers` in order, to each logical agent from the first one on.

    An answer is text, a ModelAnswer, `call(...)`, `calls(...)`, `streamed(...)` or a function of the ModelRequest
    (`async` or not) that returns one of these. An exception is raised, and `hang()` hangs, for one attempt: the next
    attempt at the same answer goes on. Where it is streamed, text comes word by word. With `output_schema` the
    provider says that it takes `ModelRequest.output`. Raises InvalidArguments for anything else.
    """
    return ScriptedProvider(answers, record=record, output_schema=output_schema)


class ScriptedProvider:
    """What `scripted` makes. `requests` lists the calls received, unless `record` is false.

    The n-th answer of a logical agent is chosen by `request.sequence`, not by counting calls: a call that is
    dispatched again gets the same answer, also from another object with the same script.
    """

    name = "scripted"
    model = "scripted"

    def __init__(self, answers: Iterable[Answer], *, record: bool = True, output_schema: bool = False) -> None:
        if isinstance(answers, str | bytes):
            raise InvalidArguments("a script is a list of answers; put the text in brackets: scripted(['…'])")
        self._script = tuple(answers)
        for place, item in enumerate(self._script):
            _check(item, place)
        self._ids = _assign_ids(self._script)
        self._turns = _turns(self._script)
        self._attempts: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._used: set[int] = set()
        self._record = record
        self.supports_output_schema = output_schema
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Give the answer that the script has for `request.sequence`. Raises ModelError when it has none."""
        item, ids = await self._given(request)
        if isinstance(item, Streamed):
            async for _ in _pieces(item):
                pass
            return _spoken(_whole(item), ids)
        return _spoken(item, ids) if isinstance(item, Spoken) else item

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelAnswer]:
        """Give the same answer in pieces: as the script has them, else word by word. Raises as `complete`."""
        item, ids = await self._given(request)
        if isinstance(item, Streamed):
            async for piece in _pieces(item):
                yield piece
            yield _spoken(_whole(item), ids)
        elif isinstance(item, Spoken):
            answer = _spoken(item, ids)
            for word in _WORD.findall(answer.text):
                await asyncio.sleep(0)
                yield word
            yield answer
        else:
            yield item

    async def aclose(self) -> None:
        """Do nothing."""

    def assert_consumed(self) -> None:
        """Raise AssertionError naming every part of the script that no agent has been given."""
        left = [f"[{place}] {_show(item)}" for place, item in enumerate(self._script) if place not in self._used]
        if left:
            raise AssertionError(
                f"{len(left)} of {len(self._script)} scripted answers were never asked for: {'; '.join(left)}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What went wrong inside says more than what is left because of it.
        if error is None:
            self.assert_consumed()

    def __repr__(self) -> str:
        return f"scripted([{len(self._script)} answers])"

    def _next(self, request: ModelRequest) -> int:
        """The place in the script for this attempt: the failures before an answer once each, then the answer."""
        turn = self._turns[request.sequence - 1] if 1 <= request.sequence <= len(self._turns) else ()
        key = (request.agent_id, request.sequence)
        attempt = self._attempts[key]
        self._attempts[key] += 1
        place = turn[min(attempt, len(turn) - 1)] if turn else None
        if place is None or (attempt >= len(turn) and _fails(self._script[place])):
            answers = sum(1 for turn in self._turns if turn and not _fails(self._script[turn[-1]]))
            raise ModelError(
                f"the script ends after {answers} answer{'' if answers == 1 else 's'}, and agent "
                f"{request.agent_id!r} asks for number {request.sequence} (attempt {attempt + 1}); add an answer"
            )
        return place

    async def _given(self, request: ModelRequest) -> tuple[Any, Iterator[str]]:
        """What the script has for this attempt, with the ids for its calls. A function may give a wrong answer, on
        purpose: the runtime checks every provider's.
        """
        if self._record:
            self.requests.append(request)
        place = self._next(request)
        self._used.add(place)
        item = self._script[place]
        if isinstance(item, Exception):
            raise item
        if isinstance(item, Hang):
            await _for_ever()
        if isinstance(item, Spoken | Streamed):
            return item, iter(self._ids.get(place, ()))
        answer = item(request)  # type: ignore[operator]  # what else may stand in a script was checked
        if isinstance(answer, Awaitable):
            answer = await answer
        return answer, (f"c{request.sequence}-{number}" for number in count(1))


_WORD: Final = re.compile(r"\S+\s*|\s+")


async def _pieces(item: Streamed) -> AsyncIterator[str]:
    """The pieces of text, each in its time, up to where the stream breaks off."""
    for part in item.parts:
        await asyncio.sleep(item.delay)  # one turn of the loop at least, so that it can be stopped between two pieces
        if isinstance(part, Exception):
            raise part
        if isinstance(part, Hang):
            await _for_ever()
        if isinstance(part, str):
            yield part


async def _for_ever() -> None:
    await asyncio.get_running_loop().create_future()


def _check(item: object, place: int) -> None:
    good = isinstance(item, Spoken | Streamed | Exception | Hang)
    if not good and (isinstance(item, type) or not callable(item)):
        raise InvalidArguments(
            f"scripted answer [{place}] is {item!r}; give text, a ModelAnswer, call(...), calls(...), streamed(...), "
            "an exception instance, hang() or a function of the request"
        )
    if isinstance(item, Streamed):
        _check_parts(item, place)
    for part in _calls(item):
        if not isinstance(part, ScriptedCall):
            raise InvalidArguments(f"scripted answer [{place}]: calls() takes call(...), not {part!r}")
        try:
            canonical(part.arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArguments(
                f"scripted answer [{place}]: the arguments of {part.tool!r} are not JSON: {error}"
            ) from None


def _check_parts(item: Streamed, place: int) -> None:
    for part in item.parts:
        if not isinstance(part, str | ScriptedCall | Exception | Hang):
            raise InvalidArguments(
                f"scripted answer [{place}]: streamed() takes text, call(...), an exception instance or hang(), "
                f"not {part!r}"
            )
    if any(isinstance(part, Exception | Hang) for part in item.parts[:-1]):
        raise InvalidArguments(f"scripted answer [{place}]: nothing follows an exception or hang() in streamed()")


def _calls(item: object) -> tuple[ScriptedCall, ...]:
    if isinstance(item, ScriptedCalls):
        return item.calls
    if isinstance(item, Streamed):
        return tuple(part for part in item.parts if isinstance(part, ScriptedCall))
    return (item,) if isinstance(item, ScriptedCall) else ()


def _assign_ids(script: tuple[Answer, ...]) -> dict[int, tuple[str, ...]]:
    """Place in the script -> ids of its calls; free ids are counted through the whole script."""
    taken = {part.call_id for item in script for part in _calls(item)}
    free = (f"c{number}" for number in count(1) if f"c{number}" not in taken)
    return {
        place: tuple(next(free) if part.call_id is None else part.call_id for part in _calls(item))
        for place, item in enumerate(script)
        if _calls(item)
    }


def _fails(item: Answer) -> bool:
    broken = isinstance(item, Streamed) and item.parts and isinstance(item.parts[-1], Exception | Hang)
    return bool(broken) or isinstance(item, Exception | Hang)


def _turns(script: tuple[Answer, ...]) -> tuple[tuple[int, ...], ...]:
    """Places of each numbered answer: the failures before it, then itself; failures at the end are a turn alone."""
    turns: list[tuple[int, ...]] = []
    turn: list[int] = []
    for place, item in enumerate(script):
        turn.append(place)
        if not _fails(item):
            turns.append(tuple(turn))
            turn = []
    return (*turns, tuple(turn)) if turn else tuple(turns)


def _whole(item: Streamed) -> ScriptedCalls:
    return ScriptedCalls(_calls(item), "".join(part for part in item.parts if isinstance(part, str)), item.usage)


def _spoken(item: Spoken, ids: Iterator[str]) -> ModelAnswer:
    if isinstance(item, str):
        return ModelAnswer(item)
    if isinstance(item, ModelAnswer):
        return item
    if isinstance(item, ScriptedCall):
        item = ScriptedCalls((item,), "", Usage())
    made = tuple(
        ToolCall(part.call_id if part.call_id is not None else number, part.tool, canonical(part.arguments))
        for part, number in zip(item.calls, ids, strict=False)
    )
    return ModelAnswer(item.text, made, item.usage)


def _show(item: Answer) -> str:
    if isinstance(item, ScriptedCalls):
        return f"calls({', '.join(_show(part) for part in item.calls)})"
    if isinstance(item, ScriptedCall):
        arguments = "".join(f", {name}={value!r}" for name, value in item.arguments.items())
        return f"call({item.tool!r}{arguments})"
    if isinstance(item, Hang):
        return "hang()"
    if isinstance(item, Streamed):
        return f"streamed({', '.join(_show(part) for part in item.parts)})"
    if inspect.isroutine(item):
        return f"function {getattr(item, '__qualname__', item)}"
    text = repr(item)
    return text if len(text) <= 80 else text[:77] + "…"
