"""The agent of the examples: it refunds orders, and a person has to say yes to every refund.

Set PAWL_MODEL=openai:gpt-5 (and OPENAI_API_KEY) to talk to a real model; without it a few lines below stand in for one.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import attrs

from pawl import Agent, ModelAnswer, ModelRequest, ToolCall, ToolContext, Usage, tool


@attrs.frozen
class Books:
    """A payment provider that keeps its books in a file, and pays once for each idempotency key."""

    path: Path

    def pay(self, key: str, order_id: str, cents: int) -> bool:
        """Pay, unless it was paid under this key. Whether money moved."""
        with closing(self._open()) as books, books:
            return bool(
                books.execute("INSERT OR IGNORE INTO payments VALUES (?, ?, ?)", (key, order_id, cents)).rowcount
            )

    def payments(self) -> list[tuple[str, int]]:
        """What was paid, in order: order ids and cents."""
        with closing(self._open()) as books:
            return list(books.execute("SELECT order_id, cents FROM payments ORDER BY rowid"))

    def _open(self) -> sqlite3.Connection:
        books = sqlite3.connect(self.path, timeout=10)
        books.execute("CREATE TABLE IF NOT EXISTS payments (key TEXT PRIMARY KEY, order_id TEXT, cents INTEGER)")
        return books


@tool(approval=True, recovery="replay")
def refund(order_id: str, cents: int, ctx: ToolContext) -> str:
    """Pay an order back.

    Args:
        order_id: the order's number
        cents: how much, in cents
    """
    moved = ctx.deps.pay(ctx.idempotency_key, order_id, cents)
    return f"paid {cents} cents back for order {order_id}" if moved else f"order {order_id} was paid back before"


class StandIn:
    """A model that needs no network: it asks for the refund that the input names, and then says that it is done."""

    name = "stand-in"

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """A call when a customer has spoken, words when the tool has answered."""
        last = request.messages[-1]
        if last.role == "tool":
            return ModelAnswer(f"Done: {last.text}.", usage=Usage(60, 12))
        order = re.search(r"order\s+(\w+)", last.text)
        if order is None:
            return ModelAnswer("Which order is it about?", usage=Usage(40, 6))
        asked = f'{{"order_id": "{order.group(1)}", "cents": 1250}}'
        return ModelAnswer("I look into it.", (ToolCall("c1", "refund", asked),), Usage(50, 10))

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelAnswer]:
        """The same, a word at a time."""
        answer = await self.complete(request)
        for word in re.findall(r"\S+\s*", answer.text):
            yield word
        yield answer

    async def aclose(self) -> None:
        """Nothing is open."""


support = Agent(
    name="support",
    model=os.environ.get("PAWL_MODEL") or StandIn(),
    instructions="Help customers with their orders. Amounts are in cents.",
    tools=[refund],
)

runtime_options = {"deps": Books(Path("payments.db"))}
"""What `pawl run`, `pawl worker` and the other commands give to the Runtime of these agents."""
