"""Spec files to checked machine models: the front of the compiler in one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from pawl.tools.compiler.alone import alone
from pawl.tools.compiler.assemble import assemble, too_large
from pawl.tools.compiler.checks.rules import check
from pawl.tools.compiler.checks.subject import Subject
from pawl.tools.compiler.compose import compose
from pawl.tools.compiler.findings import Finding, Severity, in_file_order
from pawl.tools.compiler.include import Library
from pawl.tools.compiler.installed import protocol
from pawl.tools.compiler.load import load, load_text
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.nodes import Document
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import Fragment, Spec


@attrs.frozen
class Compiled:
    """What a run made: the machines without an error, by name, and every finding, in file order.

    `included` are the files that were read because another names them, the given ones among them too.
    """

    machines: tuple[MachineModel, ...]
    findings: tuple[Finding, ...]
    included: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that refuse a machine."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)


def compile_files(paths: Sequence[Path]) -> Compiled:
    """Compile the specs at `paths` together. What is wrong with a file is a finding; nothing is raised for it."""
    return compile_documents([load(path) for path in dict.fromkeys(paths)])


def compile_text(text: str, file: str = "spec.yaml") -> Compiled:
    """Compile one spec from its text; `file` is what positions say, and includes are looked for beside it."""
    return compile_documents([load_text(text, file)])


def compile_documents(documents: Sequence[Document]) -> Compiled:
    """Compile documents that were read already; what they include is read from beside them."""
    library = Library(documents)
    findings: list[Finding] = []
    specs: list[tuple[Spec, bool]] = []
    refused: set[str] = set()
    for document in documents:
        part, wrong = library.part(document), library.findings_of(document)
        findings += wrong
        if isinstance(part, Spec):
            includes = library.includes(part)
            composed, unfit = compose(part, includes)
            findings += unfit
            if unfit or not includes.whole:
                refused.add(part.file)  # the machine has holes, and what a check would say about them is noise
            else:
                specs.append((composed, not wrong))
    run = tuple(spec for spec, _ in specs)
    machines: list[MachineModel] = []
    for spec, whole in specs:
        scope = Scope(spec, protocol() if spec.barrier_states() else None)
        oversized = too_large(scope)
        if oversized is not None:
            findings.append(oversized)
            continue
        model = assemble(scope)
        findings += check(Subject(scope, model, run), whole)
        machines.append(model)
    used = {fragment.file for spec in run for fragment in spec.fragments.values()}
    for document in documents:
        part = library.part(document)
        if isinstance(part, Fragment) and part.file not in used:
            findings += alone(part)
    refused |= {each.position.outermost.file for each in findings if each.severity is Severity.ERROR}
    good = sorted((m for m in machines if m.file not in refused), key=lambda machine: (machine.name, machine.file))
    return Compiled(tuple(good), in_file_order([*findings, *library.findings]), tuple(library.read))
