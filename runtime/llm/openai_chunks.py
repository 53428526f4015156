"""A streamed chat completion: server-sent events from bytes, and one answer from many chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import attrs

from pawl.runtime.llm.openai_errors import is_safe
from pawl.runtime.llm.openai_wire import LARGEST, kind, malformed, read_json, read_message, shorten
from pawl.runtime.llm.port import LARGEST_ANSWER, MOST_CALLS
from pawl.runtime.records.errors import ModelError
from pawl.runtime.records.messages import ModelAnswer

_LINE_END = re.compile(rb"\r\n|\n|\r")
_LINE = 64
"""Bytes that a line takes beside its text."""


class EventData:
    """The data of server-sent events, from bytes in any pieces.

    Lines are split as bytes: text in JSON may hold what Unicode calls a line end.
    """

    def __init__(self, provider: str = "openai") -> None:
        self._who = provider
        self._pieces: list[bytes] = []
        self._data: list[bytes] = []
        self._size = self._held = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of each event that `piece` completes. Raises MalformedModelAnswer for one that is too long."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > LARGEST:
            malformed(self._who, f"one event of the stream has more than {LARGEST} bytes")
        if b"\n" not in piece and b"\r" not in piece:
            return
        lines = _LINE_END.split(b"".join(self._pieces))
        rest = lines.pop()
        if not rest and piece.endswith(b"\r"):  # maybe the first half of a line end
            rest = lines.pop() + b"\r"
        self._pieces = [rest] if rest else []
        for line in lines:
            yield from self._line(line)
        self._size = len(rest) + self._held

    def end(self) -> Iterator[bytes]:
        """What is left when the stream is over: servers forget the last empty line."""
        yield from self._line(b"".join(self._pieces).rstrip(b"\r"))
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[bytes]:
        if not line:
            if self._data:
                yield b"\n".join(self._data)
                self._data, self._held = [], 0
        elif line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._held += len(line) + _LINE
        # comments keep a connection awake; other fields say nothing here


@attrs.define
class _Call:
    order: int
    id: str = ""
    name: str = ""
    arguments: list[str] = attrs.Factory(list)

    def whole(self) -> dict[str, Any]:
        return {"id": self.id, "function": {"name": self.name, "arguments": "".join(self.arguments)}}


class Chunks:
    """What the chunks of one answer add up to. `take` gives the text that each adds."""

    def __init__(self, provider: str = "openai") -> None:
        self._who = provider
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._finish: object = None
        self._usage: object = None
        self._model: str | None = None
        self._done = False
        self._size = 0

    @property
    def complete(self) -> bool:
        """Whether the answer has an end: why it finished, or `[DONE]`. What may come yet is the usage."""
        return self._done or self._finish is not None

    @property
    def done(self) -> bool:
        """Whether the server says that nothing more follows."""
        return self._done

    @property
    def begun(self) -> bool:
        """Whether any of the answer has come."""
        return bool(self._text or self._calls or self._refusal)

    def take(self, data: bytes) -> str:
        """Add one chunk. Raises MalformedModelAnswer; ModelError for an error that the server sends in the stream."""
        if data.startswith(b"[DONE]"):
            self._done = True
            return ""
        chunk = read_json(data, self._who)
        if chunk.get("error"):
            raise self._said(chunk["error"])
        if chunk.get("usage") is not None:
            self._usage = chunk["usage"]
        if isinstance(chunk.get("model"), str):
            self._model = chunk["model"]
        choices = chunk.get("choices")
        if choices is None:
            choices = []
        if not isinstance(choices, list):
            malformed(self._who, f"choices is {kind(choices)}, not a list")
        return "".join(self._choice(choice) for choice in choices)

    def answer(self) -> ModelAnswer:
        """The whole answer. Raises like `from_wire`; ModelError when there was no end."""
        if not self.complete:
            raise ModelError(f"{self._who}: the stream ended before the answer was complete")
        message: dict[str, Any] = {"content": "".join(self._text), "refusal": "".join(self._refusal)}
        if self._calls:
            message["tool_calls"] = [call.whole() for call in sorted(self._calls, key=lambda call: call.order)]
        return read_message(message, self._finish, self._usage, self._model, self._who)

    def _choice(self, choice: Any) -> str:
        if not isinstance(choice, dict):
            malformed(self._who, f"a choice is {kind(choice)}, not an object")
        if choice.get("index", 0) != 0:
            return ""
        if choice.get("finish_reason"):
            self._finish = choice["finish_reason"]
        delta = choice.get("delta") or {}
        if not isinstance(delta, dict):
            malformed(self._who, f"delta is {kind(delta)}, not an object")
        if delta.get("function_call") is not None:
            malformed(self._who, "it uses the retired `function_call`; tools were offered as `tools`")
        calls = delta.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            malformed(self._who, f"tool_calls is {kind(calls)}, not a list")
        for call in calls or ():
            self._call(call)
        for key, parts in (("refusal", self._refusal), ("content", self._text)):
            text = self._read(delta, key, key)
            if text:
                parts.append(text)
        return text

    def _call(self, delta: Any) -> None:
        if not isinstance(delta, dict):
            malformed(self._who, f"a part of a tool call is {kind(delta)}, not an object")
        function = delta.get("function") or {}
        if not isinstance(function, dict):
            malformed(self._who, f"the function of a tool call is {kind(function)}, not an object")
        id_ = self._read(delta, "id", "the id of a tool call")
        name = self._read(function, "name", "the name of a tool call")
        call = self._slot(delta.get("index"), id_, name)
        call.id = call.id or id_
        if name and call.name and name != call.name:
            malformed(self._who, f"tool call {call.id!r} is named {call.name!r} and then {name!r}")
        call.name = call.name or name
        call.arguments.append(self._read(function, "arguments", "the arguments of a tool call"))

    def _slot(self, index: object, id_: str, name: str) -> _Call:
        """The call that a part belongs to. Some servers give every call the index 0, some give none at all."""
        if index is not None and (type(index) is not int or index < 0):
            malformed(self._who, f"the index of a tool call is {shorten(repr(index))}")
        if type(index) is int:
            known = self._at.get(index)
        elif id_:
            known = next((call for call in self._calls if call.id == id_), None)
        else:
            known = self._calls[-1] if self._calls and not name else None
        if known is not None and not (id_ and known.id and id_ != known.id):
            return known
        if not id_ and not name and index is None:
            malformed(self._who, "a part of a tool call belongs to no call")
        if len(self._calls) >= MOST_CALLS:
            malformed(self._who, f"it asks for more than {MOST_CALLS} calls at once")
        made = _Call(index if type(index) is int else len(self._calls))
        self._calls.append(made)
        if type(index) is int:
            self._at[index] = made
        return made

    def _read(self, holder: dict[str, Any], key: str, what: str) -> str:
        value = holder.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            malformed(self._who, f"{what} is {kind(value)}, not text")
        self._size += len(value)
        if self._size > LARGEST_ANSWER:
            malformed(self._who, f"it has more than {LARGEST_ANSWER} bytes")
        return value

    def _said(self, error: Any) -> ModelError:
        """An error in place of a chunk: safe where the server says that it made none of the answer, and has not."""
        told = error if isinstance(error, dict) else {"message": error}
        code = told.get("code")
        named = f" ({code})" if code else ""
        return ModelError(
            f"{self._who} broke off the answer{named}: {shorten(str(told.get('message')))}",
            retry_safe=not self.begun and is_safe(code, told.get("type")),
        )
