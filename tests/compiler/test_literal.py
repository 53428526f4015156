"""No text can break out of the place where it is written, and nothing is written without passing the one door."""

from __future__ import annotations

import ast

import jinja2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pawl.tools.compiler.literal import Code, UnsafeText, align, environment, identifier, literal, member

TEXTS = st.text() | st.text(alphabet="\"'\\\n\r\t {}#%a\u2028\ud800\x00\x1c")


@given(TEXTS)
@example('"""')
@example("\\")
@example("' and \"")
@example("\u202e reversed \u2066")
def test_a_literal_reads_back_as_the_text_it_was_made_of(text: str) -> None:
    source = literal(text)

    assert ast.literal_eval(source) == text
    assert "\n" not in source
    assert "\t" not in source


@given(TEXTS, st.sampled_from([0, 4, 8]))
@example('ends with a quote"', 0)
@example('ends with four quotes""""', 4)
@example("ends with a backslash\\", 4)
@example('\\"""', 0)
def test_a_docstring_is_one_string_with_the_words_of_the_text(text: str, indent: int) -> None:
    source = literal(text, doc=True, indent=indent)
    (statement,) = ast.parse(source).body

    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Constant)
    assert statement.value.value.split() == text.split()


@given(TEXTS)
def test_a_docstring_shows_no_character_that_is_not_printable(text: str) -> None:
    assert all(line.isprintable() for line in literal(text, doc=True).split("\n"))


def test_tuples_and_plain_values_are_written_as_people_write_them() -> None:
    assert literal(()) == "()"
    assert literal(("a",)) == '("a",)'
    assert literal(("a", 'b"')) == """("a", 'b"')"""
    assert literal(None) == "None"
    assert literal(12) == "12"


def test_a_value_that_could_answer_repr_as_it_likes_is_refused() -> None:
    class Sly(str):
        __slots__ = ()

        def __repr__(self) -> str:
            return "__import__('os').abort()"

    with pytest.raises(UnsafeText):
        literal(Sly("x"))
    with pytest.raises(UnsafeText):
        literal((Sly("x"),))


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a\n", "1a", "class", "__class__", "a-b", "ﬁn", "x;y", "None"])
def test_what_python_would_not_read_as_this_name_is_no_identifier(name: str) -> None:
    with pytest.raises(UnsafeText):
        identifier(name)


def test_an_inner_state_and_a_name_in_other_letters_become_members() -> None:
    assert member("calling_llm.committing", "State") == "State.CALLING_LLM__COMMITTING"
    assert member("größe") == "GRÖSSE"


def test_an_interpolation_that_passed_no_filter_is_an_error() -> None:
    made = environment()

    with pytest.raises(UnsafeText):
        made.from_string("x = {{ value }}").render(value="print()")
    with pytest.raises(UnsafeText):
        made.from_string("x = {{ value|upper }}").render(value=Code("a"))
    with pytest.raises(UnsafeText):
        made.from_string("x = {{ missing|repr }}").render()
    with pytest.raises(jinja2.UndefinedError):
        made.from_string("x = {{ missing.name|repr }}").render()


def test_columns_are_padded_and_line_ends_are_clean() -> None:
    assert align("a, \tb, \tc\nlonger, \td") == "a,      b, c\nlonger, d"
    assert align("a,\tb\n\t") == "a,b\n"
