"""`pawl watch`: modules, diagrams and a page made anew whenever a spec is saved, and what is wrong told at once.

What changed is told by a source of batches, which is `watchfiles` but in tests. A spec that is broken or gone for a
moment is told as such, what it made stays, and the next save is waited for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import attrs

from pawl.tools.cli.checking import cross_checked
from pawl.tools.cli.compiling import Work, compile_specs
from pawl.tools.cli.documenting import sources
from pawl.tools.cli.drawing import drawings
from pawl.tools.cli.generating import module
from pawl.tools.cli.output import Misuse, clear, err, out
from pawl.tools.cli.project import SUFFIXES, Project, find_specs, project
from pawl.tools.cli.words import clock, count, span
from pawl.tools.compiler.emit_svg import CannotDraw
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.write import Change, ForeignFile, Output, write
from pawl.tools.docs.page import page as document

Source = Callable[[Collection[Path]], Iterator[Collection[Path]]]
"""From folders to batches of files that changed in them, some of them perhaps gone. The first batch comes as soon as
nothing can be missed any more, and may be empty, as may be others."""

_TICK_MS = 100
_SETTLED_MS = 50
"""How long it must be quiet before a batch is told: editors write more than once."""


@attrs.frozen
class Wish:
    """Where the files go; None: what [tool.pawl] says, else beside each spec, no diagrams and no page."""

    out: Path | None = None
    diagrams: Path | None = None
    page: Path | None = None
    clear: bool = False


@attrs.define
class Watch:
    """What a watch knows from round to round. `now` and `spent` are clocks, in seconds."""

    given: Sequence[Path]
    wish: Wish
    now: Callable[[], float] = time.time
    spent: Callable[[], float] = time.perf_counter
    seen: dict[str, MachineModel] = attrs.field(factory=dict)
    """The machines as they were when their files were last written."""
    told: str = ""

    def run(self, source: Source) -> None:
        """Round after round, until the source ends. Raises Misuse when there is nothing to begin with."""
        find_specs(self.given, project())
        folders = self._folders(())
        while folders:
            folders = self._rounds(folders, source)

    def _rounds(self, folders: frozenset[Path], source: Source) -> frozenset[Path]:
        """Rounds over some folders; the folders to go on with once a spec has come to include from others."""
        for number, batch in enumerate(source(folders)):
            changed = sorted(path.name for path in batch if path.suffix in SUFFIXES)
            if number and not changed:
                continue
            needed = folders | self._round(changed)
            if needed != folders:
                return needed
        return frozenset()

    def _folders(self, included: Sequence[str]) -> frozenset[Path]:
        """Where the specs are: a file is watched by its folder, as an editor may put another in its place."""
        paths = [*(self.given or project().specs or ()), *map(Path, included)]
        return frozenset((path if path.is_dir() else path.parent).resolve() for path in paths)

    def _round(self, changed: Sequence[str]) -> frozenset[Path]:
        """Make everything that is not as it should be; the folders that it was made from."""
        begun = self.spent()
        if changed:
            if self.wish.clear:
                clear()
            out(f"{clock(self.now())}  {', '.join(changed)}", "bold")
        included: tuple[str, ...] = ()
        try:
            known = project()
            work = compile_specs(self.given, known)
            included = work.compiled.included
            self._make(work, known)
            verdict, style = _summary(work)
        except (Misuse, CannotDraw, ForeignFile, OSError) as error:
            verdict, style = f"not yet: {error}", "red"
        if changed or verdict != self.told:
            out(f"{verdict}  ({span(self.spent() - begun)})", style)
        self.told = verdict
        return self._folders(included)

    def _make(self, work: Work, known: Project) -> None:
        """Write what follows from the machines that are right; nothing of a machine that is not."""
        diagrams = self.wish.diagrams or known.diagrams
        made: dict[str, list[Output]] = {}
        for model in work.machines:
            if self.seen.get(model.name) != model:
                outputs = module(work, model, self.wish.out or known.out)
                if outputs and cross_checked(work, model) is not None:
                    made[model.name] = [*outputs, *(drawings(model, diagrams) if diagrams is not None else [])]
        for name, outputs in made.items():
            _write(outputs)
            self.seen[name] = next(model for model in work.machines if model.name == name)
        if self.wish.page is not None and work.ok and work.machines:
            title = work.machines[0].name if len(work.machines) == 1 else "State machines"
            _write([Output(self.wish.page, document(work.machines, sources(work.machines), title))])


def watch(given: Sequence[Path], wish: Wish) -> None:
    """Watch `given`, or the project's specs, until somebody presses Ctrl-C."""
    watching = Watch(given, wish)
    try:
        out("watching; Ctrl-C ends it", "dim")
        watching.run(changes)
    except KeyboardInterrupt:
        err("stopped")


def changes(folders: Collection[Path]) -> Iterator[Collection[Path]]:
    """Batches from `watchfiles`. Raises Misuse."""
    try:
        import watchfiles
    except ModuleNotFoundError:
        raise Misuse("watchfiles is not installed; pip install 'pawl-fsm[tools]'") from None

    def wanted(_: watchfiles.Change, path: str) -> bool:
        return os.path.splitext(path)[1] in SUFFIXES

    try:
        batches = watchfiles.watch(
            *folders, watch_filter=wanted, step=_SETTLED_MS, rust_timeout=_TICK_MS, yield_on_timeout=True,
            recursive=False,
        )  # fmt: skip
        for batch in batches:
            yield [Path(path) for _, path in batch]
    except OSError as error:
        raise Misuse(f"the folder cannot be watched: {error}; WATCHFILES_FORCE_POLLING=1 may help") from None


def _write(outputs: Sequence[Output]) -> None:
    styles = {Change.CREATED: "green", Change.UPDATED: "yellow"}
    for path, change in write(outputs).items():
        if change is not Change.UNCHANGED:
            out(f"{change:<9} {path}", styles.get(change, ""))


def _summary(work: Work) -> tuple[str, str]:
    wrong = len(work.compiled.errors) + len(work.wrong)
    warnings = len(work.compiled.findings) - len(work.compiled.errors)
    told = f"{count(len(work.specs.files), 'spec')}, {count(wrong, 'error')}, {count(warnings, 'warning')}"
    return told, "red" if wrong else "yellow" if warnings else "green"
