"""A plain synchronous script: ask, decide at the terminal, done. Killed anywhere, it goes on when it is run again.

python -m pawl.tools.examples.script "Refund order 7"
"""

from __future__ import annotations

import sys
from pathlib import Path

from pawl import Completed, NeedsResolution, Suspended
from pawl.sync import Runtime
from pawl.tools.examples.agents import Books, support


def main(text: str) -> int:
    """Run it to its end, asking whoever sits there."""
    with Runtime("sqlite:///refunds.db", agents=[support], deps=Books(Path("payments.db"))) as runtime:
        customer = runtime.open(support, "customer-42")
        rest = customer.run(text, id=f"script: {text}")  # the same words again are the same run
        while isinstance(rest, Suspended):
            for item in rest.request.items:
                print(f"{item.tool} {item.arguments}")
            rest = runtime.decide(rest.request.id, approve=input("approve? [y/N] ").strip().lower() == "y")
        if isinstance(rest, NeedsResolution):
            print(f"nobody knows what became of {[lost.subject for lost in rest.unresolved]}; see `pawl resolve`")
            return 3
        print(rest.output if isinstance(rest, Completed) else rest)
        return 0 if isinstance(rest, Completed) else 1


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:]) or "Refund order 7"))
