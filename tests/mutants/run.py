"""Planting one mutant after another in a copy of the tree, and letting its tests look for it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, time

import attrs

from mutants.first import WHERE
from mutants.plan import ROOT, Mutant, Unplanted

LEFT_OUT = (".venv", ".git", "build", ".hypothesis", ".mypy_cache", ".ruff_cache", ".pytest_cache", "peers")
LONGEST = 300
"""Seconds that the tests of one mutant may take: a fault that makes everything hang is noticed by that."""

PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "mutants.first", "--timeout", "40")


@attrs.frozen
class Verdict:
    """What became of a mutant: the first test that failed, and what it said; no `test` means that it survived."""

    mutant: Mutant
    test: str | None
    said: str
    seconds: float

    @property
    def noticed(self) -> bool:
        """Whether anything failed."""
        return self.test is not None


class Copy:
    """A copy of the tree that has one fault at a time."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self._writes = 0
        self._report = folder.with_suffix(".json")
        ignore = shutil.ignore_patterns(*LEFT_OUT)
        shutil.copytree(ROOT, folder, symlinks=True, ignore=ignore)

    def hunt(self, mutant: Mutant) -> Verdict:
        """Plant it, run its tests until one fails, and put everything back."""
        begin = monotonic()
        with self._planted(mutant):
            refused = self._generate() if mutant.of_specs else None
            if refused is not None:
                return Verdict(mutant, "pawl generate", refused, monotonic() - begin)
            test, said = self.first_failure(shlex.split(mutant.tests))
        return Verdict(mutant, test, said, monotonic() - begin)

    def first_failure(self, tests: Sequence[str]) -> tuple[str | None, str]:
        """The first of these tests that fails, and what it says; None when none does."""
        failed = self.failures(["-x", *tests])
        return failed[0] if failed else (None, "")

    def failures(self, tests: Sequence[str]) -> list[tuple[str, str]]:
        """Those of these tests that fail, in order, each with what it says. Raises Unplanted when they do not run."""
        self._report.unlink(missing_ok=True)
        done = self._python(["pytest", *PYTEST, *tests])
        if self._report.exists():
            lines = self._report.read_text(encoding="utf-8").splitlines()
            return [(test, said) for test, said in map(json.loads, lines)]
        if done is None:
            return [("(all of them)", f"no end within {LONGEST} s")]
        if done.returncode != 0:
            raise Unplanted(f"pytest {shlex.join(tests)} did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return []

    def _generate(self) -> str | None:
        """What the compiler has against it, None when it takes it."""
        done = self._python(["pawl", "generate"])
        if done is None or done.returncode == 0:
            return None
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        return lines[0] if lines else "refused"

    def _python(self, module: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
        path = os.pathsep.join([str(self.root / ".src"), str(self.root / "tests")])
        environment = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", WHERE: str(self._report)}
        try:
            return subprocess.run(
                [sys.executable, "-m", *module],
                cwd=self.root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            return None

    @contextmanager
    def _planted(self, mutant: Mutant) -> Iterator[None]:
        texts = mutant.planted(self.root)
        made = sorted((self.root / "generated").glob("*.py")) if mutant.of_specs else []
        before = {self.root / file: (self.root / file).read_text(encoding="utf-8") for file in texts}
        before |= {path: path.read_text(encoding="utf-8") for path in made}
        try:
            for file, text in texts.items():
                self._write(self.root / file, text)
            yield
        finally:
            for path, text in before.items():
                self._write(path, text)

    def _write(self, path: Path, text: str) -> None:
        """Bytecode is kept by the second and the size of its source: each write is of another second."""
        path.write_text(text, encoding="utf-8")
        self._writes += 1
        stamp = time() + self._writes
        os.utime(path, (stamp, stamp))
