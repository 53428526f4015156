"""Types are API: what a type checker knows of a decorated tool."""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]

SNIPPET = """
import asyncio
from typing import Annotated, Any, assert_type
import attrs
from pawl import ApprovalQuery, Block, FilterQuery, Policy, PolicyAnswer, Rate, Secret
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import Tool, tool
from pawl.runtime.llm.scripted import call, calls, hang, scripted

@tool
def bare(order_id: str, cents: int = 5) -> str:
    return order_id

def policy(query: ApprovalQuery) -> PolicyAnswer:
    return ("reject", "too much") if query.arguments["cents"] > 5 else "allow"

async def later(query: ApprovalQuery) -> PolicyAnswer:
    return "ask"

def in_words(query: ApprovalQuery) -> str:
    return "ask"

async def with_reason(query: ApprovalQuery) -> tuple[str, str]:
    return "ask", "it is Sunday"

rules: list[Policy] = [policy, later, in_words, with_reason]
tool(len, name="size", approval=in_words)

def yes_or_no(query: ApprovalQuery) -> bool:
    return False

@tool(approval=policy, recovery="replay", timeout=5)
async def optional(ctx: ToolContext) -> int:
    return ctx.attempt

@attrs.frozen
class Deps:
    url: str

@tool(max_concurrent=2, rate=Rate(10, per=60.0), redact=["card"], result_filter=lambda text: text.upper())
def typed(card: Annotated[str, Secret], ctx: ToolContext[Deps]) -> str:
    return assert_type(ctx.deps, Deps).url

def with_deps(query: ApprovalQuery, ctx: ToolContext[Deps]) -> PolicyAnswer:
    return "allow" if assert_type(ctx.deps.url, str) else "reject"

def screen(text: str, query: FilterQuery) -> str | Block:
    return Block("no") if query.tool == "bare" else text

def untyped(ctx: ToolContext) -> Any:
    return ctx.deps.whatever

assert_type(ToolContext(deps=Deps("x")), ToolContext[Deps])
assert_type(typed("4111", ToolContext(deps=Deps("x"))), str)
tool(len, name="size", approval=with_deps, result_filter=screen, rate="10/s")
assert_type(bare("7"), str)
assert_type(bare(order_id="7", cents=5), str)
assert_type(asyncio.run(optional(ToolContext())), int)
assert_type(tool(len, name="size", approval=later).name, str)

agent = Agent(
    name="a",
    model=scripted(["hi", call("bare", order_id="7"), calls(call("bare"), text="x"), ValueError("x"), hang()]),
    tools=[bare, optional, len],
    compatible_with=[1],
)
assert_type(agent.tools, tuple[Tool[..., Any], ...])
assert_type(agent.tool("bare"), Tool[..., Any] | None)

bare(7)  # WRONG
typed("4111", ToolContext(deps=5))  # WRONG
tool(rate=5)  # WRONG
tool(max_concurrent="2")  # WRONG
tool(result_filter=5)  # WRONG
bare("7", euros=5)  # WRONG
coroutine = optional()  # WRONG
tool(approval="maybe")  # WRONG
tool(approval=yes_or_no)  # WRONG
tool(recovery="retry")  # WRONG
Agent(name="a", model=5)  # WRONG
Agent(name="a", model="openai:x", tools=[5])  # WRONG
Agent(name="a", model="openai:x", on_rejection="stop")  # WRONG
"""


def test_a_type_checker_sees_the_signature_and_refuses_misuse(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--hide-error-context", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = SNIPPET.splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# WRONG")}
    found = {
        int(line.split(":")[1])
        for line in done.stdout.splitlines()
        if line.split(":")[0].endswith("snippet.py") and ": error: " in line
    }
    assert found == wrong, done.stdout + done.stderr
