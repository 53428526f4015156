"""The messages of a conversation as a value that grows in constant time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from pawl.runtime.records.messages import Message


class Transcript(Sequence[Message]):
    """An immutable view of a list that is only ever appended to.

    Growing the newest view appends in place, so a run of n messages costs n, not n². Every older view still
    sees exactly its own prefix; growing an older view copies.
    """

    __slots__ = ("_length", "_messages")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)
        self._length = len(self._messages)

    def grown(self, messages: Iterable[Message]) -> Transcript:
        """This transcript with `messages` after it."""
        shared = self._messages if len(self._messages) == self._length else self._messages[: self._length]
        shared.extend(messages)
        return Transcript._over(shared)

    @classmethod
    def _over(cls, shared: list[Message]) -> Transcript:
        view = cls()
        view._messages, view._length = shared, len(shared)
        return view

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._messages[place] for place in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._messages[index + self._length if index < 0 else index]

    def __iter__(self) -> Iterator[Message]:
        for place in range(self._length):
            yield self._messages[place]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    def __hash__(self) -> int:
        return hash(self._length)
