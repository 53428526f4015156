"""The barrier protocol of this installation, read from `fsm_specs/barrier.yaml`."""

from __future__ import annotations

from functools import cache
from importlib import resources

from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.assemble import assemble
from pawl.tools.compiler.load import load_text
from pawl.tools.compiler.protocol import FINALS, Protocol
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import Spec
from pawl.tools.compiler.structure import structure


@cache
def protocol() -> Protocol:
    """The installed protocol. Raises RuntimeError when the installed file is not a protocol."""
    text = (resources.files("pawl") / "fsm_specs" / "barrier.yaml").read_text(encoding="utf-8")
    return read_protocol(text, "pawl/fsm_specs/barrier.yaml")


def read_protocol(text: str, file: str) -> Protocol:
    """A protocol from the text of its spec. Raises RuntimeError that says what is wrong with it."""
    document = load_text(text, file)
    spec, findings = structure(document)
    wrong = (*document.findings, *findings)
    if not isinstance(spec, Spec) or wrong:
        what = wrong[0] if wrong else f"{file} holds no machine"
        raise RuntimeError(f"the barrier protocol does not compile: {what}; reinstall pawl, or restore this file")
    machine = assemble(Scope(spec, None))
    finals = {state.name for state in machine.states if state.kind is Kind.FINAL}
    if finals != set(FINALS):
        raise RuntimeError(f"{file}: a barrier ends in {', '.join(FINALS)}, not in {', '.join(sorted(finals))}")
    return Protocol(machine, tuple(state.name for state in machine.states if state.name not in finals))
