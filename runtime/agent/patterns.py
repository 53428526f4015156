"""How many steps a regular expression may take on a text of some length: Python's matcher tries every way.

It holds the interpreter while it does, on whatever thread, so what it may be given has to be known before. A pattern is
followed as the matcher would: wherever two ways go on with the same character it tries both, and where that is so
inside of a repeat, there are twice as many ways each time around.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from re import _constants as sre  # type: ignore[attr-defined]  # the standard library's own reader of patterns
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final, TypeAlias

import attrs

STEPS: Final = 1_000_000
"""Steps that matching one text may take: some hundredths of a second."""

MOST: Final = 50_000
"""Characters beyond which nobody asks: what may be so long takes time in proportion."""

FEWEST: Final = 64
"""Characters that a pattern has to be good for, where nothing says that its texts are shorter."""

Chars: TypeAlias = frozenset[str]
Items: TypeAlias = Sequence[tuple[Any, Any]]
"""Part of a pattern, as the standard library reads it: (what it is, what it is of)."""

_NONE: Final[Chars] = frozenset()
_USUAL: Final = frozenset(map(chr, range(128))) | {"é", "É", "ß", "\u0663", "\u2003", "€", "\U0001f600", "\uffff"}
"""Characters that stand for all that no pattern tells apart: beyond ASCII letters, a digit, a space, and others."""

_CATEGORIES: Final = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
_ONE: Final = frozenset({sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY})
_REPEATS: Final = frozenset({sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT})
_LOOKS: Final = frozenset({sre.ASSERT, sre.ASSERT_NOT})


def longest(pattern: re.Pattern[str]) -> int:
    """Characters of the longest text that `pattern` can be looked for in with STEPS steps, MOST at most."""
    walk = _Walk(pattern)
    least, most = 0, MOST
    while least < most:
        length = (least + most + 1) // 2
        least, most = (length, most) if walk.steps(length) <= STEPS else (least, length - 1)
    return least


class Cost:
    """Steps that looking for a pattern may take, never fewer than it does; one figure for each doubling of a length."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._known: dict[int, float] = {}

    def of(self, length: int) -> float:
        """In a text of so many characters."""
        size = length.bit_length()
        if size not in self._known:
            self._known[size] = _Walk(self._pattern).steps((1 << size) - 1)
        return self._known[size]


@attrs.frozen
class _Behind:
    """What may follow a part: the characters that it may begin with, and how many looks it takes to see that none has
    come.
    """

    chars: Chars = _NONE
    looks: int = 0


_NOTHING: Final = _Behind()


@attrs.frozen
class _Ways:
    """In how many ways the end of a part is come to, and the steps to all of them, each time its beginning is."""

    ways: float
    steps: float


class _Walk:
    """One pattern, followed for texts of any length."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._items = parser.parse(pattern.pattern, pattern.flags)
        self._flags = pattern.flags
        self._known: dict[tuple[int, int], tuple[Chars, bool]] = {}
        self._alphabet = _USUAL | frozenset(_near(self._items))
        self._anchored = bool(self._items) and self._starts_at_the_beginning(self._items[0])
        self._length = 0

    def _starts_at_the_beginning(self, item: tuple[Any, Any]) -> bool:
        op, of = item
        begins = (
            (sre.AT_BEGINNING_STRING,) if self._flags & re.MULTILINE else (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
        )
        return op is sre.AT and of in begins

    def steps(self, length: int) -> float:
        """At most so many."""
        self._length = length
        found = self._sequence(self._items, _NOTHING, self._flags, last=True)
        return found.steps if self._anchored else found.steps * (length + 1)

    # which characters a part may begin with, and whether it may be passed without any ------------------------------

    def _first(self, items: Items, flags: int) -> tuple[Chars, bool]:
        known = self._known.get((id(items), flags))
        if known is None:
            first, empty = _NONE, True
            for item in items:
                more, empty = self._first_of(item, flags)
                first |= more
                if not empty:
                    break
            known = self._known[id(items), flags] = first, empty
        return known

    def _first_of(self, item: tuple[Any, Any], flags: int) -> tuple[Chars, bool]:
        op, of = item
        if op in _ONE:
            return self._chars(item, flags), False
        if op is sre.AT:
            ends = of is sre.AT_END_STRING or (of is sre.AT_END and not flags & re.MULTILINE)
            return _NONE, not ends  # nothing is behind the end
        if op in _REPEATS:
            first, empty = self._first(of[2], flags)
            return first, empty or of[0] == 0
        if op is sre.SUBPATTERN:
            return self._first(of[3], (flags | of[1]) & ~of[2])
        if op is sre.ATOMIC_GROUP:
            return self._first(of, flags)
        if op is sre.BRANCH:
            firsts = [self._first(branch, flags) for branch in of[1]]
            return _NONE.union(*(first for first, _ in firsts)), any(empty for _, empty in firsts)
        return (_NONE, True) if op in _LOOKS else (self._alphabet, True)

    def _chars(self, item: tuple[Any, Any], flags: int) -> Chars:
        key = id(item), flags
        if key not in self._known:
            chars = frozenset(char for char in self._alphabet if _takes(item, char, flags))
            if flags & re.IGNORECASE:
                chars = frozenset(char for char in self._alphabet if not chars.isdisjoint(_cases(char)))
            self._known[key] = chars, False
        return self._known[key][0]

    def _looks(self, items: Items) -> int:
        """Characters that are looked at to see that a part does not begin here."""
        looks = 0
        for op, of in items:
            if op in _REPEATS:
                looks += self._looks(of[2])
                if of[0] == 0:
                    continue
            elif op is sre.SUBPATTERN:
                looks += self._looks(of[3])
            elif op in (sre.BRANCH, sre.GROUPREF_EXISTS):
                looks += sum(self._looks(branch) for branch in _branches(op, of))
            elif op in _LOOKS or op is sre.ATOMIC_GROUP:
                looks += self._looks(of[1] if op in _LOOKS else of)
                continue
            elif op in (sre.AT, sre.GROUPREF):
                looks += 1
                continue
            else:
                looks += 1
            break
        return looks

    # ways ----------------------------------------------------------------------------------------------------------

    def _sequence(self, items: Items, behind: _Behind, flags: int, *, last: bool = False) -> _Ways:
        follows: list[_Behind] = []
        for item in reversed(items):
            follows.append(behind)
            first, empty = self._first_of(item, flags)
            looks = self._looks((item,))
            behind = _Behind(first | behind.chars, looks + behind.looks) if empty else _Behind(first, looks)
        ways, total = 1.0, 1.0
        for at, (item, follow) in enumerate(zip(items, reversed(follows), strict=True), 1):
            found = self._item(item, follow, flags, last and at == len(items))
            total, ways = total + ways * found.steps, ways * found.ways
        return _Ways(ways, total)

    def _item(self, item: tuple[Any, Any], behind: _Behind, flags: int, last: bool) -> _Ways:
        op, of = item
        if op in _REPEATS:
            return self._repeat(op, of, behind, flags, last)
        if op is sre.SUBPATTERN:
            return self._sequence(of[3], behind, (flags | of[1]) & ~of[2], last=last)
        if op in (sre.BRANCH, sre.GROUPREF_EXISTS):
            return self._either(_branches(op, of), behind, flags)
        if op is sre.GROUPREF:
            return _Ways(1, self._length)
        if op in _LOOKS or op is sre.ATOMIC_GROUP:  # once it is passed it is passed
            return _Ways(1, self._sequence(of[1] if op in _LOOKS else of, _NOTHING, flags).steps)
        return _Ways(1, 1)

    def _either(self, branches: Sequence[Items], behind: _Behind, flags: int) -> _Ways:
        begun, same, found = _NONE, False, []
        for branch in branches:
            first, empty = self._first(branch, flags)
            first = first | behind.chars if empty else first
            same = same or not first.isdisjoint(begun)
            begun |= first
            found.append(self._sequence(branch, behind, flags))
        ways = [one.ways for one in found]
        return _Ways(sum(ways) if same else max(ways), sum(one.steps for one in found))

    def _repeat(self, op: Any, of: Any, behind: _Behind, flags: int, last: bool) -> _Ways:
        least, most, body = of
        times = min(most, self._length + 1)
        first, _ = self._first(body, flags)
        again = _Behind(first | behind.chars, self._looks(body) + behind.looks) if most > 1 else behind
        inner = self._sequence(body, again, flags)
        if op is sre.POSSESSIVE_REPEAT:
            return _Ways(1, times * inner.steps)
        exits = max(1, times - least + 1)
        if inner.ways > 1:
            ways = _power(inner.ways, times)
            return _Ways(ways * exits, ways * times * inner.steps)
        if not first.isdisjoint(behind.chars):
            return _Ways(exits, times * inner.steps)
        # What is last in a pattern fails before it has matched often enough only: then the text is found.
        times = max(1, min(least, times)) if last else times
        return _Ways(1, times * inner.steps + exits * behind.looks)


def _branches(op: Any, of: Any) -> Sequence[Items]:
    return [branch for branch in of[1:] if branch is not None] if op is sre.GROUPREF_EXISTS else of[1]


def _power(ways: float, times: int) -> float:
    try:
        return math.pow(ways, times)
    except OverflowError:
        return math.inf


def _near(items: Iterable[Any]) -> Iterable[str]:
    """The characters that a pattern names, and their neighbours."""
    for op, of in items:
        if op in (sre.LITERAL, sre.NOT_LITERAL):
            yield from _around(of)
        elif op is sre.RANGE:
            yield from (char for end in of for char in _around(end))
        elif op in (sre.IN, sre.ATOMIC_GROUP):
            yield from _near(of)
        elif op in (sre.BRANCH, sre.GROUPREF_EXISTS):
            yield from (char for branch in _branches(op, of) for char in _near(branch))
        elif op in _REPEATS or op is sre.SUBPATTERN or op in _LOOKS:
            yield from _near(of[-1])


def _around(code: int) -> Iterable[str]:
    yield from (case for near in (code - 1, code, code + 1) if 0 <= near <= 0x10FFFF for case in _cases(chr(near)))


def _cases(char: str) -> set[str]:
    return {case for case in (char, char.lower(), char.upper(), char.swapcase()) if len(case) == 1}


def _takes(item: tuple[Any, Any], char: str, flags: int) -> bool:
    op, of = item
    if op is sre.LITERAL:
        return bool(ord(char) == of)
    if op is sre.NOT_LITERAL:
        return bool(ord(char) != of)
    if op is sre.RANGE:
        return bool(of[0] <= ord(char) <= of[1])
    if op is sre.CATEGORY:
        return re.fullmatch(_CATEGORIES[of], char, flags & re.ASCII) is not None
    if op is sre.ANY:
        return char != "\n" or bool(flags & re.DOTALL)
    negated = of[0][0] is sre.NEGATE
    return any(_takes(one, char, flags) for one in of[negated:]) is not negated
