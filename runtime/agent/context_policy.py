"""Context policies: which units of a conversation the next request leaves out, and by which count."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, overload

import attrs

from pawl.runtime.agent.assembly import Ranges, Window
from pawl.runtime.agent.callback import name_of
from pawl.runtime.agent.freeze import freeze_mapping
from pawl.runtime.agent.ledger import Ledger
from pawl.runtime.records.errors import ContextTooLarge, InvalidArguments
from pawl.runtime.records.messages import Message

Counter: TypeAlias = Callable[[str], int]
"""Tokens of a text, such as `lambda text: len(encoding.encode(text))` with tiktoken."""

REMEMBERED: Final = 100_000
"""Texts whose count one policy keeps at most twice over: 100 bytes each."""


def estimate(text: str) -> int:
    """A quarter of the bytes in UTF-8, rounded up: near the truth for English, and too many for most other text."""
    return (len(text.encode("utf-8", "surrogatepass")) + 3) // 4


class Counts:
    """A counter that is asked once for each text, by the digest of the content; the oldest half is forgotten."""

    def __init__(self, count: Counter) -> None:
        self._count, self._young, self._old = count, dict[bytes, int](), dict[bytes, int]()

    def __call__(self, text: str) -> int:
        """Tokens of `text`. Raises TypeError for a counter that does not count, and what it raises."""
        if self._count is estimate:
            return estimate(text)  # cheaper than the digest
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._young.get(key)
        if known is None:
            known = self._old.get(key)
            if known is None:
                known = _counted(self._count, text)
            if len(self._young) >= REMEMBERED:
                self._old, self._young = self._young, {}
            self._young[key] = known
        return known

    def of(self, message: Message) -> int:
        """Tokens of a message: of its text, with the names and arguments of its calls."""
        if not message.calls:
            return self(message.text)
        return self("\n".join((message.text, *(f"{call.name} {call.arguments}" for call in message.calls))))


def _counted(count: Counter, text: str) -> int:
    tokens = count(text)
    if type(tokens) is not int or tokens < 0:
        raise TypeError(f"the counter '{name_of(count)}' returned {tokens!r:.60}, not a number of tokens")
    return tokens


@attrs.frozen
class ContextUnit:
    """Messages that are seen or left out together. `current`: of the run that goes on now; `needed`: never left out."""

    number: int
    messages: Sequence[Message] = attrs.field(repr=False, eq=False)
    tokens: int
    current: bool
    needed: bool


class Units(Sequence[ContextUnit]):
    """The units of a conversation, oldest first, each made when it is looked at."""

    def __init__(self, ledger: Ledger, messages: Sequence[Message]) -> None:
        self._ledger, self._messages = ledger, messages

    def __len__(self) -> int:
        return len(self._ledger)

    @overload
    def __getitem__(self, index: int) -> ContextUnit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ContextUnit]: ...
    def __getitem__(self, index: int | slice) -> ContextUnit | Sequence[ContextUnit]:
        if isinstance(index, slice):
            return [self._unit(number) for number in range(*index.indices(len(self)))]
        return self._unit(index + len(self) if index < 0 else index)

    def __iter__(self) -> Iterator[ContextUnit]:
        return (self._unit(number) for number in range(len(self)))

    def _unit(self, number: int) -> ContextUnit:
        ledger, stretch = self._ledger, self._ledger.stretch(number)
        messages = Window(self._messages, stretch.start, stretch.end)
        return ContextUnit(number, messages, ledger.tokens(number), number >= ledger.request, ledger.needed(number))


@attrs.frozen(kw_only=True)
class ContextQuery:
    """What a context policy is asked: which of `units` are part of the request number `sequence` of this run.

    `fixed` are the tokens that are in it anyway: instructions, knowledge, the tools, and what hooks added. They are
    counted by the policy's own `count(text)`, if it has one, and else a quarter of the bytes.
    """

    agent_id: str
    definition: str
    execution_id: str
    sequence: int
    units: Sequence[ContextUnit]
    fixed: int
    durable_context: Mapping[str, Any] = attrs.field(factory=dict, converter=freeze_mapping)
    deps: Any = attrs.field(default=None, repr=False, eq=False)


class SelectsContext(Protocol):
    """Any object with this method can be `Agent(context=…)`."""

    def select(self, query: ContextQuery) -> Iterable[ContextUnit] | Awaitable[Iterable[ContextUnit]]:
        """The units of `query.units` that stay, async or not; those that are `needed` must be among them."""


def _budget(_: object, __: object, value: Any) -> None:
    if type(value) is not int or value < 1:
        raise InvalidArguments(f"ContextPolicy: max_tokens={value!r:.40} must be a whole number from 1")


def _counter(_: object, __: object, value: Any) -> None:
    if value is not None and not callable(value):
        raise InvalidArguments(f"ContextPolicy: count={value!r:.40} must be a function of text that returns its tokens")


@attrs.frozen(eq=False)
class ContextPolicy:
    """A token budget for requests: where the conversation does not fit, its oldest units leave, whole.

    First whole exchanges of earlier runs leave, then answers of the current run together with the results of their
    calls. The instructions, the knowledge, the tools, what hooks add, the current input and the newest answer with its
    results never leave: a run whose request does not even hold these fails with ContextTooLarge.

    `count` gives the tokens of a text; by default they are estimated, a quarter of the UTF-8 bytes. It is asked once
    for each text, also over runs. Raises InvalidArguments.
    """

    max_tokens: int = attrs.field(validator=_budget)
    count: Counter | None = attrs.field(default=None, validator=_counter)
    counts: Counts = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "counts", Counts(self.count or estimate))

    def select(self, query: ContextQuery) -> Iterable[ContextUnit]:
        """The units that stay. Raises ContextTooLarge."""
        units = query.units
        assert isinstance(units, Units)
        left = self.left_out(units._ledger, query.fixed)  # noqa: SLF001 - of the same module
        return [unit for unit in units if unit.number not in left[0] and unit.number not in left[1]]

    def left_out(self, ledger: Ledger, fixed: int) -> tuple[range, range]:
        """The numbers of the units that leave. Raises ContextTooLarge."""
        out = ledger.oldest_out(self.max_tokens - fixed)
        if out is None:
            kept = [number for number in {ledger.request, len(ledger) - 1} if number >= 0]
            rest = sum(map(ledger.tokens, kept))
            raise ContextTooLarge(
                f"the request needs {fixed + rest} tokens and may have {self.max_tokens} (max_tokens): {fixed} for "
                f"instructions, knowledge, tools and what hooks add, {rest} for the current input and the newest "
                "answer with its results, which never leave"
            )
        return out


def chosen(answer: object, units: Sequence[ContextUnit], ledger: Ledger) -> tuple[range, ...]:
    """The numbers of the units that a policy left out. Raises TypeError, ValueError for an answer that is none."""
    if not isinstance(answer, Iterable) or isinstance(answer, str | bytes):
        raise TypeError(f"it returned {answer!r:.60}; return those of query.units that stay")
    kept: set[int] = set()
    for unit in answer:
        if not isinstance(unit, ContextUnit) or not 0 <= unit.number < len(units) or units[unit.number] != unit:
            raise TypeError(f"it returned {unit!r:.60}, which is none of query.units")
        kept.add(unit.number)
    for number in {ledger.request, len(ledger) - 1}:
        if number >= 0 and number not in kept:
            what = "the current input" if number == ledger.request else "the newest answer with its results"
            raise ValueError(f"it left out unit {number}, {what}; a unit that is `needed` must stay")
    return tuple(_runs([number for number in range(len(ledger)) if number not in kept]))


def _runs(numbers: list[int]) -> Iterator[range]:
    """Ascending numbers as ranges."""
    start = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            yield range(numbers[start], numbers[place - 1] + 1)
            start = place


def ranges(out: Iterable[range], ledger: Ledger) -> tuple[Ranges, Ranges]:
    """Units by number as ranges of journal positions, and of messages."""
    ends = [(ledger.stretch(numbers[0]), ledger.stretch(numbers[-1])) for numbers in out if len(numbers)]
    return tuple((a.first, b.last) for a, b in ends), tuple((a.start, b.end) for a, b in ends)


def check_policy(policy: object, agent: str) -> None:
    """Check an `Agent(context=…)`. Raises InvalidArguments."""
    if policy is None:
        return
    if isinstance(policy, type) or not callable(getattr(policy, "select", None)):
        raise InvalidArguments(
            f"{agent}: context={policy!r:.60} must be a ContextPolicy(max_tokens=…), or an object with `select(query)`"
        )
    count = getattr(policy, "count", None)
    if count is not None and not callable(count):
        raise InvalidArguments(f"{agent}: the context policy's count={count!r:.40} must be a function of text")


def counts_of(policy: object) -> Counts:
    """How a policy counts; one policy remembers for all the agents that have it."""
    known = getattr(policy, "counts", None)
    return known if isinstance(known, Counts) else Counts(getattr(policy, "count", None) or estimate)


def is_budget(policy: object) -> bool:
    """Whether it is a ContextPolicy as it stands, which needs no look at each unit."""
    return isinstance(policy, ContextPolicy) and type(policy).select is ContextPolicy.select
