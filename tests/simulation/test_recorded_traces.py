"""The traces of random programs are those that were recorded, whichever Python plays them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pawl.runtime.simulation.generating import generate
from pawl.runtime.simulation.simulating import wander

GOLDEN = Path(__file__).parents[1] / "golden" / "simulated_traces.txt"
SEEDS = range(20)


def recorded(seed: int) -> str:
    """One line: the seed, how long its trace is, and the digest of it."""
    trace = wander(generate(seed)).trace
    digest = hashlib.sha256("\n".join(trace).encode()).hexdigest()
    return f"{seed:2} {len(trace):4} lines {digest}\n"


def test_a_seed_is_the_same_trace_on_every_python(rewrite: bool) -> None:
    """What changes a runtime changes traces: then look at a few, and record them with --rewrite. Nothing else may."""
    text = "".join(map(recorded, SEEDS))
    if rewrite:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
