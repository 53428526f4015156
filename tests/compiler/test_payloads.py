"""The payload of an event travels through its whole step, and nowhere else."""

from __future__ import annotations

import ast

from compiler.by_hand import event, machine, order, row, state
from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.payloads import payloads

INT, STR, ERROR = "builtins:int", "builtins:str", "builtins:Exception"


def test_a_payload_goes_to_guards_row_actions_entry_actions_and_the_automatic_rows_that_follow() -> None:
    model = machine(
        [
            state("a", enter=("start",)),
            state("b", Kind.AUTO, enter=("in_b",)),
            state("c", Kind.AUTO, enter=("in_c",)),
            state("d", enter=("in_d",)),
        ],
        [event("number", INT), event("text", STR), event("bare")],
        [
            row("a", "number", "b", when=("number_ok",), do=("note",)),
            row("a", "bare", "d"),
            row("b", None, "c", when=("hop_ok",), do=("hop",)),
            row("c", None, "d"),
            row("d", "text", None, when=("stay_ok",), do=("stay",)),
        ],
    )

    met = payloads(model)

    assert met.guards == {"number_ok": (INT,), "hop_ok": (INT,), "stay_ok": (STR,)}
    assert met.actions == {
        "note": (INT,), "hop": (INT,), "stay": (STR,),
        "start": (None,), "in_b": (INT,), "in_c": (INT,), "in_d": (INT, None),
    }  # fmt: skip


def test_a_cycle_of_automatic_rows_comes_to_an_end() -> None:
    model = machine(
        [state("a"), state("b", Kind.AUTO, enter=("in_b",)), state("c", Kind.AUTO, enter=("in_c",))],
        [event("x", INT), event("y", STR)],
        [row("a", "x", "b"), row("a", "y", "c"), row("b", None, "c", when=("g",)), row("c", None, "b", when=("g",))],
    )

    assert payloads(model).actions == {"in_b": (INT, STR), "in_c": (INT, STR)}


def test_an_internal_error_brings_the_exception_by_rows_and_by_default() -> None:
    model = machine(
        [state("a"), state("b", enter=("in_b",)), state("c", enter=("in_c",))],
        [event("internal_error")],
        [row("a", "internal_error", "b", do=("note",))],
        error="c",
    )

    assert payloads(model).actions == {"note": (ERROR,), "in_b": (ERROR,), "in_c": (ERROR,)}


def test_a_state_that_no_row_leads_to_is_entered_with_nothing() -> None:
    model = machine([state("a"), state("recovering", enter=("load",))], [], [])

    assert payloads(model).actions == {"load": (None,)}


def test_a_method_that_nothing_calls_takes_never_so_that_any_method_will_do() -> None:
    text = emit_python(order(delays={"payment_timeout": "", "spare": ""}, guards={**order().guards, "spare_guard": ""}))

    assert "def spare_guard(self, payload: Never, /) -> bool: ..." in text
    assert "from typing import TYPE_CHECKING" not in text
    ast.parse(text)
