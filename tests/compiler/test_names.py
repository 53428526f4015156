from __future__ import annotations

import enum
import keyword
import sys

import pytest

from compiler.specs import DOOR, said
from pawl.tools.compiler.names import LONGEST, folded, is_group_name, is_name, is_reference, reserved


@pytest.mark.parametrize(
    "name", ["a", "calling_llm", "a1", "a_1", "x2y_3z", "größe", "état_2", "δοκιμή", "猫", "x\u0660", "a" * LONGEST]
)
def test_snake_case_identifiers_are_names(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "A", "aB", "a__b", "_a", "a_", "1a", "a-b", "a b", "a.b", "a\n", "\uff41", "\ufb01nal", "\u01c5", "猫 ",
     "a" * (LONGEST + 1), "a;b", "a'b", 'a"b', "{{a}}", "*", "é_", "__class__", "x\u200b", "\u0660x"],
)  # fmt: skip
def test_anything_else_is_not(name: str) -> None:
    assert not is_name(name)


def test_every_name_is_an_identifier_and_so_is_the_enum_member_made_of_it() -> None:
    accepted = [chr(code) for code in range(0x110000) if is_name(chr(code))]
    assert len(accepted) > 1000
    for name in accepted:
        assert name.isidentifier()
        assert name.upper().isidentifier()


def test_every_letter_that_is_accepted_makes_a_working_enum_member() -> None:
    for code in [*range(0x20, 0x600), 0x1E9E, 0x00DF, 0x0149, 0x01F0, 0x03B0]:
        name = chr(code)
        if is_name(name):
            scope: dict[str, object] = {"StrEnum": enum.StrEnum}
            exec(f"class E(StrEnum):\n    {name.upper()} = {name!r}\n", scope)
            assert [member.value for member in scope["E"]] == [name]  # type: ignore[attr-defined]


def test_groups_may_shout() -> None:
    assert is_group_name("STOP")
    assert is_group_name("STOP_2")
    assert is_group_name("stop")
    assert not is_group_name("Stop")
    assert not is_group_name("STOP__2")


@pytest.mark.parametrize("text", ["a:B", "a.b.c:D", "builtins:Exception", "a_b.c1:D.E", "a:b"])
def test_references_that_an_import_can_hold(text: str) -> None:
    assert is_reference(text)


@pytest.mark.parametrize(
    "text",
    ["", "a", "a:", ":B", "a.:B", "a..b:C", "a:B:C", "a b:C", "a:B()", "a:B[int]", "import os;a:B", "a:B\n", "class:X",
     "a.if:X",      "import os:B", "1a:B", "a:1B", "é:B", "a:B " , "a" * 300 + ":B"],
)  # fmt: skip
def test_references_that_are_refused(text: str) -> None:
    assert not is_reference(text)


def test_keywords_are_reserved_hard_and_soft_ones() -> None:
    for word in [*keyword.kwlist, *keyword.softkwlist, "match", "case", "type"]:
        assert reserved(word) == "a Python keyword" or word == "_"


@pytest.mark.parametrize("word", ["mro", "name", "value"])
def test_what_an_enum_keeps_for_itself_is_reserved(word: str) -> None:
    assert reserved(word) == "reserved by Python's enum"


def test_no_name_breaks_a_str_enum_in_upper_case() -> None:
    words = [word.lower() for word in (*dir(enum.StrEnum), *dir(str)) if is_name(word.lower())]
    assert "upper" in words
    for word in words:
        if reserved(word) is None:
            made = enum.StrEnum("made", {word.upper(): word})  # type: ignore[misc]
            assert str(made[word.upper()]) == word
            assert "ab".upper() == "AB"


def test_only_machines_are_kept_from_the_names_of_modules() -> None:
    assert reserved("queue") is None
    assert reserved("queue", module=True) == "a module of Python's standard library"
    assert reserved("lpt1", module=True) == "a device on Windows"
    for word in sys.stdlib_module_names:
        assert reserved(word, module=True) is not None


def test_modules_of_other_pythons_are_refused_as_well() -> None:
    for word in ("distutils", "imp", "annotationlib", "compression"):
        assert reserved(word, module=True) is not None


@pytest.mark.parametrize(("one", "other"), [("straße", "strasse"), ("\u0131", "i"), ("\u017f", "s"), ("a.b", "a__b")])
def test_names_that_become_one_identifier_fold_to_one(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_a_name_in_another_normal_form_is_refused_with_the_right_one() -> None:
    assert said(DOOR, ("open", "o\ufb01le")) == ["6 E10"]


def test_states_and_events_may_share_a_name_and_so_may_guards_and_states() -> None:
    changes = (("push", "open"), ("on: open, to: open", "on: open, to: open, when: gone}\n  - {from: closed, on: open"))
    assert said(DOOR, *changes) == []
