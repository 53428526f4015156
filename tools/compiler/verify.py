"""Exec and compare: generated text is run in a module of its own and its `MACHINE` compared with the model.

First the text is parsed and must hold nothing but what a generated module is made of; so even a hole in the generator
could not run a spec's words. Then every field is compared, by a reading of the model that shares no code with the
generator. Any difference refuses the write.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from pawl.runtime.fsm.table import Machine
from pawl.tools.compiler.model import MachineModel, MigrationModel, RowModel, StateModel

_CALLS = {"Machine", "StateInfo", "EventInfo", "Row", "After", "Migration"}
_VARIABLES = {"SPEC_VERSION", "SPEC_HASH", "MACHINE"}
_IMPORTS = {"__future__", "enum", "typing", "builtins", "pawl.runtime.fsm.table"}
_TYPING_ONLY = (ast.ImportFrom, ast.FunctionDef)


class GeneratedDiffers(Exception):
    """The generated text does not mean what the spec says: a fault of the compiler; nothing was written.

    `differences` are sentences, one for each field that differs.
    """

    def __init__(self, machine: str, differences: tuple[str, ...]) -> None:
        self.machine, self.differences = machine, differences
        shown = "\n  ".join(differences[:20])
        super().__init__(
            f"{machine}: the generated module differs from the spec, so it is not written; "
            f"this is a fault of pawl, please report it:\n  {shown}"
        )


def verify(model: MachineModel, text: str) -> Machine[Any, Any]:
    """Run `text` and return its machine; raises GeneratedDiffers with all that differs from `model`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise GeneratedDiffers(model.name, (f"it is not Python: {error}",)) from None
    foreign = tuple(_foreign(tree))
    if foreign:
        raise GeneratedDiffers(model.name, foreign)
    module = ModuleType(f"pawl_generated_{model.name}")
    try:
        exec(compile(tree, "<generated>", "exec", dont_inherit=True), module.__dict__)  # what it holds was just checked
    except Exception as error:
        raise GeneratedDiffers(model.name, (f"it raises {type(error).__name__}: {error}",)) from error
    differences = tuple(_differences(model, module))
    if differences:
        raise GeneratedDiffers(model.name, differences)
    machine: Machine[Any, Any] = module.__dict__["MACHINE"]
    return machine


def _foreign(tree: ast.Module) -> Iterator[str]:
    """What the text holds that no generated module needs."""
    for node in tree.body:
        match node:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.AnnAssign(target=ast.Name(id=name)) if name in _VARIABLES:
                yield from _foreign_inside(node)
            case ast.ClassDef(decorator_list=[], keywords=[]):
                yield from _foreign_inside(node)
            case ast.ImportFrom(module=module, level=0, names=names) if module in _IMPORTS and all(
                each.asname is None or each.asname.startswith("_") for each in names
            ):
                pass  # nothing takes the name of something that is called below
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=[]) if all(
                isinstance(inner, _TYPING_ONLY) for inner in node.body
            ):
                pass  # never runs
            case _:
                yield f"line {node.lineno}: a statement that does not belong here"


def _foreign_inside(top: ast.stmt) -> Iterator[str]:
    for node in ast.walk(top):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
                pass
            case ast.Call() | ast.Lambda() | ast.NamedExpr() | ast.Await() | ast.JoinedStr() | ast.comprehension():
                yield f"line {getattr(node, 'lineno', top.lineno)}: an expression that does not belong here"
            case ast.FunctionDef(body=body, decorator_list=[]) if all(isinstance(each, ast.Expr) for each in body):
                pass
            case ast.Expr(value=ast.Constant()) | ast.Assign(value=ast.Constant()) | ast.ClassDef(decorator_list=[]):
                pass
            case ast.stmt() if node is not top:
                yield f"line {node.lineno}: a statement that does not belong here"


def _differences(model: MachineModel, module: ModuleType) -> Iterator[str]:
    machine = getattr(module, "MACHINE", None)
    if type(machine) is not Machine:
        yield "MACHINE is missing"
        return
    names = ("name", "version", "spec_hash", "initial", "error", "doc")
    for field in names:
        yield from _unequal(field, getattr(model, field), getattr(machine, field))
    yield from _unequal("SPEC_VERSION", model.version, getattr(module, "SPEC_VERSION", None))
    yield from _unequal("SPEC_HASH", model.spec_hash, getattr(module, "SPEC_HASH", None))
    yield from _unequal_lists("states", [_state(each) for each in model.states], [_plain(s) for s in machine.states])
    events: list[dict[str, object]] = [
        {"name": e.name, "authority": e.authority, "correlate": e.correlate, "unhandled": e.unhandled}
        for e in model.events
    ]
    yield from _unequal_lists("events", events, [_plain(each) for each in machine.events])
    yield from _unequal_lists("rows", [_row(each) for each in model.rows], [_plain(each) for each in machine.rows])
    migrations = [_migration(each) for each in model.migrations]
    yield from _unequal_lists("migrations", migrations, [_plain(each) for each in machine.migrations])
    yield from _unequal("State", [s.name for s in model.states], _values(module, "State"))
    yield from _unequal("Event", [e.name for e in model.events], _values(module, "Event"))
    outcomes = list(dict.fromkeys(s.outcome for s in model.states if s.outcome is not None))
    yield from _unequal("Outcome", outcomes, _values(module, "Outcome"))
    for protocol, wanted in (("Guards", model.guards), ("Actions", model.actions), ("Delays", model.delays)):
        yield from _unequal(protocol, list(wanted), _methods(module, protocol))
    everything = sorted({*model.guards, *model.actions, *model.delays})
    inherited = {name for base in getattr(module, "Context", object).__mro__ for name in _methods_of(base)}
    yield from _unequal("Context", everything, sorted(inherited))


def _state(state: StateModel) -> dict[str, object]:
    timer = state.after
    after = None if timer is None else {"delay": timer.delay, "event": timer.event, "resume": timer.resume}
    return {
        "name": state.name, "kind": state.kind, "enter": state.enter, "after": after, "outcome": state.outcome,
        "barrier": state.barrier, "effect": state.effect, "label": state.label,
    }  # fmt: skip


def _row(row: RowModel) -> dict[str, object]:
    return {
        "source": row.source, "event": row.event, "target": row.target, "when": row.when, "unless": row.unless,
        "do": row.do, "line": row.at.outermost.line,
    }  # fmt: skip


def _migration(each: MigrationModel) -> dict[str, object]:
    return {
        "spec_hash": each.spec_hash, "version": each.version, "compatible": each.compatible, "states": each.states,
        "refuse": each.refuse,
    }  # fmt: skip


def _plain(value: Any) -> dict[str, object]:
    """The fields of a table value; enum members are texts, so they compare as the texts of the model."""
    fields = {field.name: getattr(value, field.name) for field in type(value).__attrs_attrs__}
    return {name: _plain(v) if hasattr(type(v), "__attrs_attrs__") else v for name, v in fields.items()}


def _values(module: ModuleType, enum: str) -> list[str]:
    return [str(item.value) for item in getattr(module, enum, ())]


def _methods(module: ModuleType, protocol: str) -> list[str]:
    return _methods_of(getattr(module, protocol, object))


def _methods_of(kind: type) -> list[str]:
    if kind.__module__ == "typing":
        return []
    return [name for name, value in vars(kind).items() if callable(value) and not name.startswith("__")]


def _unequal(field: str, wanted: object, found: object) -> Iterator[str]:
    if wanted != found:
        yield f"{field}: the spec says {wanted!r}, the module {found!r}"


def _unequal_lists(field: str, wanted: list[dict[str, object]], found: list[dict[str, object]]) -> Iterator[str]:
    yield from _unequal(f"number of {field}", len(wanted), len(found))
    for index, (one, other) in enumerate(zip(wanted, found, strict=False)):
        for name in dict.fromkeys((*one, *other)):
            yield from _unequal(f"{field}[{index}].{name}", one.get(name), other.get(name))
