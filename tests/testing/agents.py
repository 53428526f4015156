"""Agents that the tests of the testing kit run, as an application would have them."""

from __future__ import annotations

import asyncio
from typing import Any

from pawl import Agent, ToolContext, tool


@tool(approval=True, recovery="replay")
def refund(order_id: str, cents: int, ctx: ToolContext) -> str:
    """Refund an order."""
    return f"refunded {cents} of {order_id}, attempt {ctx.attempt}"


@tool
async def nap(seconds: float) -> str:
    """Nap."""
    await asyncio.sleep(seconds)
    return "rested"


@tool
def charge(cents: int) -> str:
    """Charge a card, once."""
    return f"charged {cents}"


def support(**options: Any) -> Agent[Any]:
    return Agent(name="support", model="openai:gpt-5", tools=[refund, nap, charge], **options)
