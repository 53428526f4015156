"""Patterns of constraints: which are refused, how long their texts may be, and that the steps are never more."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeAlias

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pawl.runtime.agent.patterns import FEWEST, MOST, STEPS, Cost, longest
from pawl.runtime.agent.tool import Tool, tool
from pawl.runtime.records.errors import InvalidArguments


@attrs.frozen
class Text:
    pattern: str
    max_length: int | None = None


def taking(*marks: Any) -> Tool[..., Any]:
    def take(a: str) -> str:
        """Take it."""
        return a

    take.__annotations__["a"] = Annotated[(str, *marks)]  # type: ignore[index]
    return tool(take)


ENDLESS = [
    "^(a+)+$",
    r"^(\w+\s?)*$",
    "^(a|aa)+$",
    "^(a|a)*$",
    "^(a?b?)*$",
    "(.*a){11}",
    "(x+x+)+y",
    r"^(?:[a-z]+\s*)+$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    "(?i)^(a+A?)+$",
    r"^(?:é+\w?)+$",
    r"^(?:(?P<q>['\"])|a)+(?:a+a*)*$",
    "^(?:a*?b?)*?c$",
    r"^(?:(a)\1?)+$",
]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_a_pattern_with_endless_ways_is_refused_when_the_tool_is_made(pattern: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        taking(Text(pattern))
    assert "tool take: parameter 'a': the pattern" in str(caught.value)
    assert "may try an endless number of ways" in str(caught.value)
    assert "atomic group (?>…)" in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{4}-\d{2}-\d{2}$",
        "foo",
        r'^(?:[^"\\]|\\.)*$',
        r"^[\w.+-]+@[\w-]+\.[\w.-]+$",
        r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$",
        r"^(?:\+?\d{1,3}[- ]?)?\(?\d{3}\)?[- ]?\d{3}[- ]?\d{4}$",
        r"^https?://[^\s/$.?#].[^\s]*$",
        "^(?:a|b)*$",
        r"^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$",
        "(?s)^.*$",
        "",
    ],
)
def test_usual_patterns_need_no_limit_of_length(pattern: str) -> None:
    assert longest(re.compile(pattern)) == MOST
    assert taking(Text(pattern)).spec.parameters["properties"]["a"] == {"type": "string", "pattern": pattern}


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z0-9]+(?:-[a-z0-9]+)*$",
        r"[\w.-]+@[\w.-]+\.\w+",
        "a+b",
        "^.*,.*$",
        r"^([a-z]+)\1$",
        r"^\s*(.*?)\s*$",
        "^(?:a++b?)+$",
        "^(?=.*a)(?!.*b).*c.*$",
    ],
)
def test_others_get_one_which_the_model_is_told_when_it_gives_more(pattern: str) -> None:
    most = longest(re.compile(pattern))
    assert FEWEST <= most <= 1000
    assert Cost(re.compile(pattern)).of(most // 2) <= STEPS
    one = taking(Text(pattern))
    assert "maxLength" not in one.spec.parameters["properties"]["a"]  # for OpenAI's strict mode
    with pytest.raises(InvalidArguments, match=f"at most {most} characters, got the text"):
        one.validate_value({"a": "!" * (most + 1)})


def test_a_limit_of_ones_own_is_kept_and_may_save_a_pattern() -> None:
    for pattern, most in (("^.*,.*$", 20), ("^(a|aa)+$", 8), ("foo", 200_000), ("^.*$", 1 << 20)):
        assert taking(Text(pattern, most)).spec.parameters["properties"]["a"]["maxLength"] == most


def test_a_limit_that_is_too_long_for_its_pattern_is_refused() -> None:
    most = longest(re.compile("^.*,.*$"))
    with pytest.raises(InvalidArguments, match=f"is too slow for texts of {most + 1} characters.*max_length={most} at"):
        taking(Text("^.*,.*$", most + 1))


def test_a_text_that_is_too_long_is_not_matched() -> None:
    with pytest.raises(InvalidArguments) as caught:
        taking(Text("^.*,.*$")).validate_value({"a": "x" * 5000})
    assert "matching" not in str(caught.value).partition("expected text, ")[2].partition(", got")[0]


def test_many_texts_together_may_not_take_long_either() -> None:
    @tool
    def take(a: list[Annotated[str, Text("^.*,.*$")]]) -> str:
        """Take them."""
        return ""

    most = longest(re.compile("^.*,.*$"))
    assert take.validate_value({"a": [",", "a,b"] * 100})
    with pytest.raises(InvalidArguments, match="all the text that has to match patterns is too long to be checked"):
        take.validate_value({"a": ["," * most] * 20})


# against a matcher that counts ----------------------------------------------------------------------------------------

Count: TypeAlias = Callable[[], None]
Go: TypeAlias = Callable[[int], bool]


@attrs.frozen
class Node:
    """A pattern as text, and a matcher: (text, place, what to do then, count a character) → whether it matched."""

    text: str
    match: Callable[[str, int, Go, Count], bool]


def char(one: str) -> Node:
    def match(text: str, at: int, go: Go, count: Count) -> bool:
        count()
        return at < len(text) and (one == "." or text[at] == one) and go(at + 1)

    return Node(one, match)


def _on(part: Node, text: str, go: Go, count: Count, at: int) -> bool:
    return part.match(text, at, go, count)


def then(parts: list[Node]) -> Node:
    def match(text: str, at: int, go: Go, count: Count) -> bool:
        for part in reversed(parts):
            go = partial(_on, part, text, go, count)
        return go(at)

    return Node("".join(part.text for part in parts), match)


def either(branches: list[Node]) -> Node:
    def match(text: str, at: int, go: Go, count: Count) -> bool:
        return any(branch.match(text, at, go, count) for branch in branches)

    # In groups, or the reader would make one set of characters of them.
    return Node(f"(?:{'|'.join(f'({branch.text})' for branch in branches)})", match)


def repeat(body: Node, least: int, most: int) -> Node:
    def match(text: str, at: int, go: Go, count: Count) -> bool:
        def again(times: int, begun: int) -> Go:
            def on(at: int) -> bool:
                if times > least and at == begun:  # nothing was taken: not again
                    return go(at)
                return (times < most and body.match(text, at, again(times + 1, at), count)) or (
                    times >= least and go(at)
                )

            return on

        return again(0, -1)(at)

    return Node(f"(?:{body.text}){{{least},{most if most < 99 else ''}}}", match)


nodes = st.recursive(
    st.sampled_from("ab.").map(char),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(then)
        | st.lists(inner, min_size=2, max_size=3).map(either)
        | st.builds(repeat, inner, st.sampled_from([0, 1, 2]), st.sampled_from([2, 3, 99]))
        | st.builds(repeat, inner, st.just(0), st.just(1))
    ),
    max_leaves=6,
)


class Enough(Exception):
    """So many steps that nothing more is to be learnt."""


texts = st.text("ab", max_size=7) | st.builds(
    lambda again, times, end: again * times + end,
    st.sampled_from(["a", "b", "ab"]),
    st.integers(1, 31),
    st.sampled_from(["", "a", "b"]),
)


@settings(max_examples=300, deadline=None)
@given(nodes, texts, st.booleans())
def test_no_more_steps_are_taken_than_were_foreseen(node: Node, text: str, anchored: bool) -> None:
    pattern = re.compile(f"^{node.text}$" if anchored else node.text)
    foreseen, taken = Cost(pattern).of(len(text)), 0

    def count() -> None:
        nonlocal taken
        taken += 1
        assert taken <= foreseen
        if taken > 20_000:
            raise Enough

    def found(at: int) -> bool:
        return not anchored or at == len(text)

    starts = range(1) if anchored else range(len(text) + 1)
    try:
        matched = any(node.match(text, at, found, count) for at in starts)
    except Enough:
        return
    assert matched is (pattern.search(text) is not None)
