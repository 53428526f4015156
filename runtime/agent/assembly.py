"""What one model request is made of beside the conversation, live and as a manifest names it.

The bodies are contents under their digests: `Manifest.extra` lists the digest of a frame, a small JSON object, and then
those of the bodies that the frame counts from 1. A body that many requests share is stored once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, overload

import attrs

from pawl.runtime.agent.knowledge import joined
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.codec import decode, encode
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.executions import Manifest
from pawl.runtime.records.journal import Content
from pawl.runtime.records.messages import Message
from pawl.runtime.records.strict_json import decode_json

Ranges: TypeAlias = tuple[tuple[int, int], ...]


@attrs.frozen
class Assembly:
    """One request. `told` are the segments that the model is told, None for those of the definition; `before` and
    `after` stand around the conversation; `tools` are the names that are offered, None for all.

    `excluded` are ranges of journal positions, both ends included; `left_out` the same as ranges of the transcript,
    their ends excluded. `extra` and `contents` are what the manifest needs of it.
    """

    told: tuple[str, ...] | None = None
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()
    tools: tuple[str, ...] | None = None
    excluded: Ranges = ()
    left_out: Ranges = ()
    extra: tuple[str, ...] = ()
    contents: tuple[Content, ...] = ()

    @property
    def instructions(self) -> str | None:
        """What the model is told, as one text; None for what the definition says."""
        return None if self.told is None else joined(self.told)

    def messages(self, transcript: Sequence[Message]) -> Sequence[Message]:
        """The messages of the request: what is left of the transcript, with what stands around it."""
        if not (self.before or self.after or self.left_out):
            return transcript
        return Composed((self.before, *_kept(transcript, self.left_out), self.after))

    def manifest(self, position: int) -> Manifest:
        """The record of it, for a journal that ends at `position`."""
        return Manifest(position, self.excluded, self.extra)


PLAIN = Assembly()
"""The whole conversation, and what the definition says."""


def stored(assembly: Assembly) -> Assembly:
    """`assembly` with what a manifest needs of it."""
    if (assembly.told, assembly.before, assembly.after, assembly.tools) == (None, (), (), None):
        return assembly
    bodies: list[Content] = []

    def place(body: str) -> int:
        bodies.append(Content.of(body))
        return len(bodies)

    frame = {
        "after": [place(encode(message)) for message in assembly.after],
        "before": [place(encode(message)) for message in assembly.before],
        "told": None if assembly.told is None else [place(text) for text in assembly.told],
        "tools": None if assembly.tools is None else list(assembly.tools),
    }
    contents = (Content.of(canonical(frame)), *bodies)
    return attrs.evolve(assembly, contents=contents, extra=tuple(content.digest for content in contents))


def restored(manifest: Manifest, positions: Sequence[int], body: Callable[[str], str]) -> Assembly:
    """What a manifest on record names. `positions` are those of the transcript's messages; `body` reads a content.

    Raises CodecError for a frame that is none.
    """
    excluded = manifest.excluded
    known = Assembly(excluded=excluded, left_out=_indices(excluded, positions), extra=manifest.extra)
    if not manifest.extra:
        return known
    bodies = [body(digest) for digest in manifest.extra]
    frame = decode_json(bodies[0], "request frame")
    try:
        told, tools = frame["told"], frame["tools"]
        return attrs.evolve(
            known,
            told=None if told is None else tuple(bodies[place] for place in told),
            before=tuple(decode(bodies[place], Message) for place in frame["before"]),
            after=tuple(decode(bodies[place], Message) for place in frame["after"]),
            tools=None if tools is None else tuple(tools),
        )
    except (KeyError, TypeError, IndexError) as error:
        raise CodecError(f"request frame: {bodies[0][:200]!r} is none ({error!r})") from error


def _indices(excluded: Ranges, positions: Sequence[int]) -> Ranges:
    """Ranges of positions as ranges of the transcript."""
    found: list[tuple[int, int]] = []
    for first, last in excluded:
        start, end = bisect_left(positions, first), bisect_right(positions, last)
        if start < end:
            found.append((start, end))
    return tuple(found)


def _kept(transcript: Sequence[Message], left_out: Ranges) -> Iterator[Sequence[Message]]:
    at = 0
    for start, end in left_out:
        if start > at:
            yield Window(transcript, at, start)
        at = end
    if at < len(transcript):
        yield Window(transcript, at, len(transcript))


class _Messages(Sequence[Message]):
    """What a sequence of messages that is made of others has in common."""

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self._at(place)

    def _at(self, place: int) -> Message:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(len(self))


class Window(_Messages):
    """A stretch of a sequence, without copying it."""

    def __init__(self, inner: Sequence[Message], start: int, end: int) -> None:
        self._inner, self._start, self._length = inner, start, end - start

    def __len__(self) -> int:
        return self._length

    def _at(self, place: int) -> Message:
        return self._inner[self._start + place]

    def __iter__(self) -> Iterator[Message]:
        for place in range(self._start, self._start + self._length):
            yield self._inner[place]


class Composed(_Messages):
    """Sequences one after the other."""

    def __init__(self, parts: Sequence[Sequence[Message]]) -> None:
        self._parts = tuple(part for part in parts if part)
        self._length = sum(map(len, self._parts))

    def __len__(self) -> int:
        return self._length

    def _at(self, place: int) -> Message:
        for part in self._parts:
            if place < len(part):
                return part[place]
            place -= len(part)
        raise IndexError(place)

    def __iter__(self) -> Iterator[Message]:
        for part in self._parts:
            yield from part


def offered(names: tuple[str, ...] | None, specs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tools that a request offers, in the definition's order."""
    return specs if names is None else tuple(spec for spec in specs if spec.name in names)
