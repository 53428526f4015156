"""Text that does not mean what the spec says is never written, whatever is wrong with it."""

from __future__ import annotations

import sys

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.by_hand import order
from compiler.golden import CASES, model_of
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.verify import GeneratedDiffers, verify


@pytest.mark.parametrize("case", CASES)
def test_what_is_generated_is_accepted(case: str) -> None:
    model = model_of(case)

    assert verify(model, emit_python(model)).name == model.name


def test_running_the_text_leaves_no_module_behind() -> None:
    before = set(sys.modules)

    verify(order(), emit_python(order()))

    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ('PAYING = "paying"', 'PAYING = "payed"', "State"),
        ("version=SPEC_VERSION", "version=9", "version"),
        ('name="order"', 'name="border"', "name"),
        ("initial=State.CART", "initial=State.STUCK", "initial"),
        ("error=State.STUCK", "error=State.CART", "error"),
        ("Kind.WAIT, ", "Kind.HALT, ", "states[4].kind"),
        ('("reserve", "print_label")', '("print_label", "reserve")', "states[3].enter"),
        ('After("payment_timeout", ', 'After("other_timeout", ', "states[1].after"),
        ("outcome=Outcome.DELIVERED", "outcome=Outcome.CANCELLED", "states[5].outcome"),
        ('correlate="payment_id"', "correlate=None", "events[2].correlate"),
        ("unhandled=Unhandled.STALE", "unhandled=Unhandled.IGNORE", "events[3].unhandled"),
        ('unless=("empty",)', 'when=("empty",)', "rows[1].when"),
        ('do=("put",)', "do=()", "rows[0].do"),
        ("line=31", "line=32", "rows[13].line"),
        ("    def empty(self, payload: None, /) -> bool: ...\n", "", "Guards"),
        ("    def payment_timeout(", "    def payment_timeouts(", "Delays"),
        ("class Context(Guards, Actions, Delays, Protocol)", "class Context(Guards, Actions, Protocol)", "Context"),
        ("        Row(State.ON_HOLD,   Event.CANCEL", "#", "number of rows"),
    ],
)
def test_a_difference_refuses_the_text_and_is_named(old: str, new: str, difference: str) -> None:
    text = emit_python(order())
    assert old in text

    with pytest.raises(GeneratedDiffers) as caught:
        verify(order(), text.replace(old, new, 1))

    assert any(each.startswith(difference) for each in caught.value.differences), caught.value.differences


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "from os import abort",
        "from pawl.runtime.fsm import session",
        "print('ran')",
        "SPEC_NAME: str = print('ran')",
        "SPEC_NAME: str = (lambda: 'ran')()",
        "SPEC_NAME: str = f'{State}'",
        "for x in (): pass",
        "class Sly(StrEnum, metaclass=print()): pass",
        "class Sly:\n    print('ran')",
        "class Sly:\n    import os",
        "def sly() -> None: ...",
        "if TYPE_CHECKING:\n    print('ran')",
        "if not TYPE_CHECKING:\n    import os",
        "MACHINE = None",
        "Row: object = exec",
        "from builtins import exec as Row",
        "class Sly:\n    Row = exec",
        "class Sly:\n    [x for x in ()]",
        "@print\nclass Sly: ...",
        "class Sly:\n    @print\n    def sly(self) -> None: ...",
        "class Sly:\n    def sly(self, payload: int = print()) -> None: ...",
    ],
)
def test_what_no_generated_module_holds_is_refused_before_it_runs(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(GeneratedDiffers) as caught:
        verify(order(), f"{emit_python(order())}\n{line}\n")

    assert "does not belong here" in str(caught.value)
    assert capsys.readouterr().out == ""


def test_text_that_is_no_python_or_raises_is_refused() -> None:
    with pytest.raises(GeneratedDiffers, match="not Python"):
        verify(order(), "class")
    with pytest.raises(GeneratedDiffers, match="raises AttributeError"):
        verify(order(), emit_python(order()).replace("State.CART, ", "State.CARD, "))
    with pytest.raises(GeneratedDiffers, match="MACHINE is missing"):
        verify(order(), '"""Nothing."""')


@given(st.text(), st.text(), st.text(), st.text())
def test_hostile_texts_stay_texts(doc: str, label: str, correlate: str, guard: str) -> None:
    """Every text of a model that is no identifier, at once; the machine that comes out holds exactly these."""
    model = order(doc=doc)
    model = attrs.evolve(
        model,
        file=f"{label}/{guard or 'x'}",
        states=tuple(attrs.evolve(state, label=label, doc=doc, barrier=guard, effect=doc) for state in model.states),
        events=tuple(attrs.evolve(event, correlate=correlate, doc=guard) for event in model.events),
        guards=dict.fromkeys(model.guards, doc),
    )

    machine = verify(model, emit_python(model))

    assert machine.doc == doc
    assert {state.label for state in machine.states} == {label}


@pytest.mark.parametrize("name", ["x = 1\nimport os", "a b", "__init__", "class", "a;b", "x: int = print()"])
def test_a_hostile_name_is_refused_by_the_generator(name: str) -> None:
    model = order()
    renamed = attrs.evolve(model, guards={**model.guards, name: ""})

    with pytest.raises(ValueError, match="Python name"):
        emit_python(renamed)


@pytest.mark.parametrize("path", ["os", "os:", ":x", "a b:C", "os:abort()", "x:C\nimport os", "a..b:C", "x:__class__"])
def test_a_hostile_type_is_refused_by_the_generator(path: str) -> None:
    with pytest.raises(ValueError, match=r"not a type|Python name"):
        emit_python(order(context=path))
