"""Context policies: units stay whole, budgets are kept, what is needed stays, and counting costs what is added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pawl import Agent, ContextPolicy, ContextQuery, ContextTooLarge, ContextUnit, InvalidArguments, Message, scripted
from pawl.runtime.agent import context_policy
from pawl.runtime.agent.assembly import Assembly
from pawl.runtime.agent.context_policy import Counts, Units, chosen, estimate, ranges
from pawl.runtime.agent.ledger import Ledger, Stretch, continued, ledger_of
from pawl.runtime.execution.load import messages
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.records.messages import ToolCall, why_invalid

NOW = "now"
"""The execution id of the current run."""


@attrs.frozen
class Talk:
    """A conversation as the journal has it, and the sizes of its units, oldest first."""

    records: tuple[JournalRecord, ...]
    sizes: tuple[int, ...]
    request: int

    @property
    def messages(self) -> tuple[Message, ...]:
        return messages(self.records)

    @property
    def ledger(self) -> Ledger:
        return ledger_of(self.records, NOW, lambda message: len(message.text), self.messages)


class Writer:
    """Writes runs down, with records that are no messages in between."""

    def __init__(self) -> None:
        self.records: list[JournalRecord] = []
        self.position = 1

    def say(self, kind: JournalKind, run: str, text: str, **meta: Any) -> None:
        self.records.append(JournalRecord(self.position, kind, run, 0.0, text, meta))
        self.position += 2

    def answer(self, run: str, text: str, results: Sequence[str], correction: str | None = None) -> int:
        ids = [f"c{self.position}-{place}" for place in range(len(results))]
        calls = [{"id": name, "name": "look", "arguments": "{}"} for name in ids]
        self.say(JournalKind.ASSISTANT_MESSAGE, run, text, calls=calls)
        for name, result in zip(ids, results, strict=True):
            self.say(JournalKind.TOOL_MESSAGE, run, result, tool_call_id=name)
        if correction is not None:
            self.say(JournalKind.CORRECTION, run, correction)
        return len(text) + sum(map(len, results)) + len(correction or "")


TEXT = st.integers(0, 30).map("x".__mul__)
ANSWER = st.tuples(TEXT, st.lists(TEXT, max_size=3), st.none() | TEXT)
RUN = st.tuples(TEXT, st.lists(ANSWER, max_size=4))


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    writer, sizes = Writer(), []
    for number, (asked, answers) in enumerate(draw(st.lists(RUN, max_size=5))):
        run = f"run {number}"
        writer.say(JournalKind.EXTERNAL_MESSAGE, run, asked)
        sizes.append(len(asked) + sum(writer.answer(run, *answer) for answer in answers))
    request = len(sizes)
    asked, answers = draw(RUN)
    writer.say(JournalKind.EXTERNAL_MESSAGE, NOW, asked)
    sizes.append(len(asked))
    sizes += [writer.answer(NOW, *answer) for answer in answers]
    return Talk(tuple(writer.records), tuple(sizes), request)


def assembled(talk: Talk, out: Iterable[range]) -> Sequence[Message]:
    excluded, left_out = ranges(out, talk.ledger)
    positions = [record.position for record in talk.records]
    kept = [
        message
        for message, position in zip(talk.messages, positions, strict=True)
        if not any(first <= position <= last for first, last in excluded)
    ]
    shown = Assembly(excluded=excluded, left_out=left_out).messages(talk.messages)
    assert list(shown) == kept  # positions and places say the same
    return shown


@given(talks())
def test_units_are_exchanges_and_answers_with_everything_that_belongs_to_them(talk: Talk) -> None:
    ledger = talk.ledger
    assert [ledger.tokens(number) for number in range(len(ledger))] == list(talk.sizes)
    assert ledger.request == talk.request
    assert ledger.messages == len(talk.messages)
    stretches = [ledger.stretch(number) for number in range(len(ledger))]
    assert [stretch.start for stretch in stretches[1:]] == [stretch.end for stretch in stretches[:-1]]
    for stretch in stretches:
        assert why_invalid(talk.messages[stretch.start : stretch.end]) is None


@given(talks(), st.integers(1, 300), st.integers(0, 60))
def test_a_budget_is_kept_by_leaving_out_the_fewest_oldest_whole_units(talk: Talk, budget: int, fixed: int) -> None:
    ledger, count = talk.ledger, len(talk.sizes)
    needed = {talk.request, count - 1}
    least = fixed + sum(talk.sizes[number] for number in needed)
    policy = ContextPolicy(budget)
    if least > budget:
        with pytest.raises(ContextTooLarge) as error:
            policy.left_out(ledger, fixed)
        assert f"needs {least} tokens and may have {budget}" in str(error.value)
        return
    out = policy.left_out(ledger, fixed)
    shown = assembled(talk, out)
    used = fixed + sum(len(message.text) for message in shown)
    assert used <= budget
    assert why_invalid(shown) is None
    left = [*out[0], *out[1]]
    droppable = [number for number in range(count) if number not in needed]
    assert left == droppable[: len(left)]  # the oldest, none twice, nothing needed
    assert not left or used + talk.sizes[left[-1]] > budget  # and not one more than there had to be
    query = ContextQuery(
        agent_id="a", definition="a", execution_id=NOW, sequence=1, units=Units(ledger, talk.messages), fixed=fixed
    )
    kept = list(policy.select(query))
    assert [unit.number for unit in kept] == [number for number in range(count) if number not in left]
    assert [number for numbers in chosen(kept, query.units, ledger) for number in numbers] == left


@given(talks(), st.data())
def test_whatever_a_policy_of_ones_own_keeps_no_unit_is_split_and_what_is_needed_stays(
    talk: Talk, data: st.DataObject
) -> None:
    ledger = talk.ledger
    units = Units(ledger, talk.messages)
    kept = data.draw(st.lists(st.sampled_from(list(units))))
    missing = {unit.number for unit in units if unit.needed} - {unit.number for unit in kept}
    if missing:
        with pytest.raises(ValueError, match="must stay"):
            chosen(kept, units, ledger)
        return
    shown = assembled(talk, chosen(kept, units, ledger))
    assert why_invalid(shown) is None
    numbers = sorted({unit.number for unit in kept})
    assert list(shown) == [message for number in numbers for message in units[number].messages]


@given(talks(), st.lists(ANSWER, max_size=5))
def test_a_ledger_that_is_continued_is_the_one_that_would_be_read(talk: Talk, more: list[Any]) -> None:
    writer = Writer()
    writer.records, writer.position = list(talk.records), talk.records[-1].position + 2
    ledger = talk.ledger.reaching(writer.position - 1)
    views = [(ledger, len(ledger), ledger.total)]
    for answer in more:
        writer.answer(NOW, *answer)
        said = messages(writer.records)
        ledger = continued(ledger, said, writer.position - 1, lambda message: len(message.text))
        views.append((ledger, len(ledger), ledger.total))
    read = ledger_of(writer.records, NOW, lambda message: len(message.text), messages(writer.records))
    assert len(ledger) == len(read)
    for number in range(len(read)):
        grown, whole = ledger.stretch(number), read.stretch(number)
        assert (grown.start, grown.end) == (whole.start, whole.end)
        assert grown.first <= whole.first
        assert whole.last <= grown.last
        assert ledger.tokens(number) == read.tokens(number)
    assert [(len(view), view.total) for view, _, _ in views] == [(length, total) for _, length, total in views]


def test_growing_an_older_view_leaves_the_newer_one_alone() -> None:
    first = Ledger().grown(Stretch(0, 1, 1, 1), 5, request=True)
    newer, other = first.grown(Stretch(1, 2, 2, 2), 7), first.grown(Stretch(1, 3, 2, 4), 9)
    assert (first.total, newer.total, other.total) == (5, 12, 14)
    assert (newer.stretch(1), other.stretch(1)) == (Stretch(1, 2, 2, 2), Stretch(1, 3, 2, 4))
    with pytest.raises(IndexError):
        first.stretch(1)


# counting -------------------------------------------------------------------------------------------------------


def test_the_estimate_is_a_quarter_of_the_bytes_rounded_up() -> None:
    assert [estimate(text) for text in ("", "a", "abcd", "abcde", "日本語", "\ud800")] == [0, 1, 1, 2, 3, 1]


def test_a_counter_is_asked_once_for_each_text_of_messages_and_calls() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counts = Counts(count)
    call = Message("assistant", "said", (ToolCall("c1", "add", '{"a":1}'),))
    assert [counts.of(Message("user", "hello")), counts.of(Message("tool", "hello")), counts.of(call)] == [5, 5, 16]
    assert counts.of(call) == 16
    assert asked == ["hello", 'said\nadd {"a":1}']


def test_what_is_remembered_is_bounded_and_what_is_used_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_policy, "REMEMBERED", 10)
    asked: list[str] = []
    counts = Counts(lambda text: asked.append(text) or 1)
    for number in range(100):
        counts("often")
        counts(f"seldom {number}")
    assert asked.count("often") == 1
    assert len(counts._young) + len(counts._old) <= 20


@pytest.mark.parametrize("tokens", [None, -1, 1.5, True, "7"])
def test_a_counter_that_does_not_count_is_named(tokens: Any) -> None:
    def count(text: str) -> Any:
        return tokens

    with pytest.raises(TypeError, match=r"^the counter 'count' returned .*, not a number of tokens"):
        Counts(count)("hello")


# what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, -1, 1.5, True, None, "100"])
def test_a_budget_is_a_whole_number(budget: Any) -> None:
    with pytest.raises(InvalidArguments, match=r"^ContextPolicy: max_tokens="):
        ContextPolicy(budget)


def test_a_counter_is_a_function() -> None:
    with pytest.raises(InvalidArguments, match=r"^ContextPolicy: count=7 must be a function"):
        ContextPolicy(100, count=7)  # type: ignore[arg-type]


class Taking:
    def select(self) -> None:
        """Takes nothing."""


class Counting:
    count = 7

    def select(self, query: ContextQuery) -> Iterable[ContextUnit]:
        return query.units


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (100, "agent a: context=100 must be a ContextPolicy(max_tokens=…), or an object with `select(query)`"),
        (ContextPolicy, "agent a: context=<class"),
        (Taking(), "agent a: context: 'select' takes none, and is given 1"),
        (Counting(), "agent a: the context policy's count=7 must be a function of text"),
    ],
)
def test_what_is_no_policy_is_refused_where_it_is_given(policy: Any, said: str) -> None:
    with pytest.raises(InvalidArguments) as error:
        Agent(name="a", model=scripted(["x"]), context=policy)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("answer", [None, 7, "units", ["unit"], [0]])
def test_what_is_no_choice_of_units_is_refused(answer: Any) -> None:
    ledger = Ledger().grown(Stretch(0, 1, 1, 1), 5, request=True)
    with pytest.raises(TypeError, match=r"^it returned"):
        chosen(answer, Units(ledger, [Message("user", "hello")]), ledger)


def test_a_unit_that_was_made_up_is_refused() -> None:
    ledger = Ledger().grown(Stretch(0, 1, 1, 1), 5, request=True)
    units = Units(ledger, [Message("user", "hello")])
    for unit in (attrs.evolve(units[0], number=7), attrs.evolve(units[0], tokens=0)):
        with pytest.raises(TypeError, match=r"none of query\.units"):
            chosen([unit], units, ledger)
