"""A run on the picture of its machine: where it stands, and the way it took where that was traced."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from pawl.generated.agent_invocation import State
from pawl.runtime.records.evolution import WAITS
from pawl.tools.cli.history import steps
from pawl.tools.cli.output import Misuse
from pawl.tools.cli.record import Snapshot
from pawl.tools.cli.way import STATES, way
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.emit_svg import CannotDraw, emit_svg
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.overlay import overlay


def draw(found: Snapshot, path: Path) -> None:
    """Draw where an execution stands, and how it came there, into `path`, an .svg or .dot. Raises Misuse."""
    model, state = agent_machine(), standing(found)
    committed = steps(found.record, found.journal, [stored.row for stored in found.tools])
    save(path, model, state, way(model, committed, state))


def standing(found: Snapshot) -> str:
    """The state of the machine that what is on disk means."""
    if found.ended:
        return found.record.status
    if found.awaiting is not None:
        return WAITS[found.awaiting]
    return STATES.get(found.barrier, State.RECOVERING)


def agent_machine() -> MachineModel:
    """The machine of a run, compiled from the spec that this Pawl comes with."""
    spec = resources.files("pawl") / "fsm_specs" / "agent_invocation.yaml"
    compiled = compile_text(spec.read_text(encoding="utf-8"), spec.name)
    return compiled.machines[0]


def save(path: Path, model: MachineModel, state: str | None, hops: Iterable[tuple[str, str]] = ()) -> None:
    """Write the picture with `state` and the way `hops`. Raises Misuse for another suffix, or when it cannot be."""
    write_drawing(path, emit_dot(model, over=overlay(model, state, hops)), model.file)


def write_drawing(path: Path, dot: str, file: str) -> None:
    """Write `dot`, or draw it, as the suffix of `path` says; `file` is the spec. Raises Misuse as `save` does."""
    if path.suffix not in (".svg", ".dot"):
        raise Misuse(f"{path}: a diagram is written as .svg or .dot; name such a file")
    try:
        text = emit_svg(dot, file) if path.suffix == ".svg" else dot
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except CannotDraw as error:
        raise Misuse(str(error)) from None
    except OSError as error:
        raise Misuse(f"cannot write {path}: {error.strerror or error}; name another file") from None
