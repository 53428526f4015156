"""`python -m mutants`: plant every fault, show which test notices it, fail when one is not noticed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from mutants.plan import Mutant, Unplanted, mutants
from mutants.run import Copy, Verdict


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description="Which test notices which fault?")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this one (repeatable)")
    parser.add_argument("--list", action="store_true", help="list them, and plant nothing")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default 2)")
    return parser.parse_args()


def _chosen(names: Sequence[str]) -> tuple[Mutant, ...]:
    known = {mutant.name: mutant for mutant in mutants()}
    for name in names:
        if name not in known:
            raise Unplanted(f"there is no mutant {name!r}; `--list` lists them")
    return tuple(known[name] for name in names) or tuple(known.values())


def hunted(copies: Sequence[Copy], chosen: Sequence[Mutant]) -> Iterator[Verdict]:
    """The verdicts in the order of `chosen`, each as soon as it and those before it are there."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def hunt(mutant: Mutant) -> Verdict:
        copy = free.get()
        try:
            return copy.hunt(mutant)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        yield from pool.map(hunt, chosen)


def _wrong_without(copy: Copy, verdicts: Sequence[Verdict]) -> list[str]:
    """The tests that fail without any fault: they show nothing."""
    tests = dict.fromkeys(verdict.test for verdict in verdicts if verdict.test is not None and verdict.test[0] == "t")
    return [test for test, _ in copy.failures(list(tests))] if tests else []


def _told(verdict: Verdict) -> str:
    """One line of the report."""
    mutant = verdict.mutant
    if verdict.test is None:
        return f"SURVIVED  {mutant.name}: {mutant.why}\n          none of these failed: {mutant.tests}\n"
    return f"noticed   {mutant.name:34} {verdict.seconds:5.1f} s  {verdict.test}\n"


def _as_json(verdict: Verdict) -> dict[str, object]:
    mutant = verdict.mutant
    files = [edit.file for edit in mutant.edits]
    said = {"name": mutant.name, "why": mutant.why, "files": files, "test": verdict.test}
    return {**said, "said": verdict.said, "seconds": round(verdict.seconds, 1)}


def main() -> int:
    """Plant them. 1 when one survives, or a test that noticed one fails without it; 2 when one cannot be planted."""
    options = _arguments()
    say = sys.stderr.write if options.json else sys.stdout.write
    try:
        chosen = _chosen(options.only)
    except Unplanted as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if options.list:
        for mutant in chosen:
            say(f"{mutant.name:34} {mutant.why}\n")
        return 0
    verdicts: list[Verdict] = []
    with TemporaryDirectory(prefix="pawl-mutants-") as folder:
        copies = [Copy(Path(folder) / f"copy{number}") for number in range(min(options.jobs, len(chosen)))]
        try:
            for verdict in hunted(copies, chosen):
                verdicts.append(verdict)
                say(_told(verdict))
                sys.stdout.flush()
        except Unplanted as error:
            sys.stderr.write(f"{error}\n")
            return 2
        wrong = _wrong_without(copies[0], verdicts)
    survived = sum(not verdict.noticed for verdict in verdicts)
    for test in wrong:
        say(f"WORTHLESS {test} fails without any fault\n")
    say(f"{len(verdicts) - survived} of {len(verdicts)} faults were noticed\n")
    if options.json:
        json.dump([_as_json(verdict) for verdict in verdicts], sys.stdout, indent=1)
        sys.stdout.write("\n")
    return 1 if survived or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
