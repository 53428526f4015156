"""`python -m pawl.tools.bench.peers`: install the peers, measure, print. See `make peers`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pawl.tools.bench.peers.installing import Place
from pawl.tools.bench.peers.running import FULL, QUICK, Line, Runner
from pawl.tools.bench.peers.tables import TABLES, data, machine, markdown


def main(arguments: Sequence[str] | None = None) -> int:
    """Tables on stdout, progress on stderr. Exit code 1 when nothing could be measured at all."""
    known = [table.key for table in TABLES]
    parser = argparse.ArgumentParser(prog="peers", description="Pawl beside other libraries, on the same work.")
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"what to measure: {', '.join(known)}; default: all")
    parser.add_argument("--place", type=Path, default=Path("build/peers"), help="the folder of the environment")
    parser.add_argument("--quick", action="store_true", help="less of everything, for a look")
    parser.add_argument("--json", action="store_true", help="every value of every round, as one JSON object")
    waiting = "seconds to wait, before each measurement at most, until other work leaves the machine alone"
    parser.add_argument("--quiet", type=float, default=10.0, metavar="SECONDS", help=waiting)
    chosen = parser.parse_args(arguments)
    for work in chosen.works:
        if work not in known:
            parser.error(f"no such work: {work}; there are {', '.join(known)}")
    place, amounts = Place(chosen.place.resolve()), QUICK if chosen.quick else FULL
    try:
        place.make(_tell)
    except RuntimeError as error:
        _tell(str(error))
        return 1
    runner = Runner(place, amounts, _tell, chosen.quiet)
    found: dict[str, list[Line]] = {}
    for work in chosen.works or known:
        measure: Callable[[], list[Line]] = getattr(runner, work)
        found[work] = measure()
    about = machine(runner.busy)
    print(json.dumps(data(found, amounts, about), indent=1) if chosen.json else markdown(found, amounts, about))
    return 0 if any(line.values for lines in found.values() for line in lines) else 1


def _tell(what: str) -> None:
    print(f"· {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
