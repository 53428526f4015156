"""A plain synchronous script: ask, decide at the terminal, done. Killed anywhere, it goes on when it is run again.

python -m pawl.tools.examples.script "Refund order 7"
"""

from __future__ import annotations

import sys
from pathlib import Path

from pawl import Blocked, Cancelled, Completed, Failed, NeedsResolution, PawlError, Rejected, Suspended
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
    match rest:
        case Completed(output=output):
            print(output)
            return 0
        case Rejected(reason=reason):
            print(reason)
        case Failed(error=error) | Blocked(error=error):
            print(f"{error.type}: {error.message}")
        case Cancelled():
            print("cancelled")
        case NeedsResolution(unresolved=lost):
            print(f"nobody knows what became of {', '.join(one.subject for one in lost)}; see `pawl resolve`")
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(" ".join(sys.argv[1:]) or "Refund order 7"))
    except EOFError:
        sys.exit("\nnobody answered; run it again to be asked again")
    except PawlError as error:
        sys.exit(str(error))
