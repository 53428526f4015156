"""The support agent of the demo. It can be run by hand, too: `pawl run pawl.tools.demo.agent "Refund order 7"`."""

from __future__ import annotations

import os
import time

from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import tool
from pawl.runtime.llm.scripted import call, calls, scripted
from pawl.runtime.records.messages import ModelAnswer, Usage
from pawl.tools.demo import wire
from pawl.tools.demo.ledger import Ledger

ORDER = "7"
CENTS = 1250

HOLD = "PAWL_DEMO_HOLD"
"""Set where a refund is to stand still after its work is done, until its process is killed."""

_SLOW = 0.25
_LONGEST_HOLD = 60.0


@tool
def lookup_order(order_id: str, ctx: ToolContext) -> dict[str, object]:
    """What was bought, and what it cost. Looking harms nobody: it needs no approval."""
    Ledger().note("lookup_order", ctx.idempotency_key, ctx.attempt)
    return {"order_id": order_id, "item": "a teapot", "cents": CENTS, "state": "arrived broken"}


@tool(recovery="ask")
def hold_parcel(order_id: str, ctx: ToolContext) -> str:
    """Ask the warehouse to hold what comes back. Slow, and twice would be a mistake: if in doubt, a person is asked."""
    Ledger().note("hold_parcel", ctx.idempotency_key, ctx.attempt)
    time.sleep(_SLOW)
    return f"the warehouse expects the return of order {order_id}"


@tool(approval=True, recovery="replay")
def refund(order_id: str, cents: int, ctx: ToolContext) -> str:
    """Pay back. A person has to approve; the provider takes an idempotency key, so it is safe to ask again."""
    moved = Ledger().pay(ctx.idempotency_key, ctx.attempt, order_id, cents)
    wire.tell("refunded", key=ctx.idempotency_key, attempt=ctx.attempt, moved=moved)
    if os.environ.get(HOLD) and ctx.attempt == 1:
        ctx.cancellation.wait(_LONGEST_HOLD)  # the money has moved, and nobody has been told yet
    return f"refunded {cents} cents for order {order_id}"


support = Agent(
    name="support",
    instructions="Help with orders. Look before you act.",
    model=scripted(
        [
            calls(call("lookup_order", order_id=ORDER), usage=Usage(212, 18)),
            calls(
                call("hold_parcel", order_id=ORDER),
                call("refund", order_id=ORDER, cents=CENTS),
                usage=Usage(268, 41),
            ),
            ModelAnswer(
                "Your 12.50 are on their way back, and the warehouse expects the teapot.", usage=Usage(327, 24)
            ),
        ]
    ),
    tools=[lookup_order, hold_parcel, refund],
)
