"""What pytest makes of a user's own test file, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pawl.testing

ROOT = Path(__file__).parents[2]

CONFTEST = 'pytest_plugins = ["pawl.testing"]\n'

AGENTS = '''
from pawl import Agent, tool

@tool(approval=True)
def refund(order_id: str, cents: int) -> str:
    """Refund an order."""
    return f"refunded {cents} of {order_id}"

support = Agent(name="support", model="openai:gpt-5", instructions="Help.", tools=[refund])
'''

EXAMPLE = "\n".join(line[4:] for line in (pawl.testing.__doc__ or "").splitlines() if line.startswith("    "))

TESTS = f"""
{EXAMPLE}

SCRIPT = [call("refund", order_id="7", cents=500), "Order 7 is refunded."]


async def test_the_same_as_a_coroutine(pawl_world):
    world = pawl_world(support, model=SCRIPT, store="sqlite")
    rest = await world.runtime.run(support, "Refund order 7")
    await world.advance(days=2)
    world.crash()
    rest = await world.runtime.decide(rest.request.id, approve=True)
    assert isinstance(rest, Completed)
"""


def run(folder: Path, tests: str, conftest: str = CONFTEST, *options: str) -> tuple[int, str]:
    files = {"conftest.py": conftest, "agents.py": AGENTS, "test_agents.py": tests}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".src")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_a_user_s_tests_pass_as_functions_and_as_coroutines(tmp_path: Path) -> None:
    code, said = run(tmp_path, TESTS)
    assert code == 0, said
    assert "2 passed" in said


def test_a_test_of_an_approval_is_short() -> None:
    assert "def test_a_refund_waits_for_a_person" in EXAMPLE
    assert len(EXAMPLE.splitlines()) <= 15


def test_what_is_left_over_is_an_error_of_a_test_that_passed(tmp_path: Path) -> None:
    tests = """
from agents import support
from pawl import hang

def test_start(pawl_world):
    pawl_world(support, model=[hang()]).sync.start(support, "Hi")
"""
    code, said = run(tmp_path, tests)
    assert code == 1
    assert "something is still going on at the end: execution" in said
    assert "1 passed, 1 error" in said


def test_a_test_that_failed_gets_no_second_error(tmp_path: Path) -> None:
    tests = """
from agents import support
from pawl import hang

def test_start(pawl_world):
    pawl_world(support, model=[hang()]).sync.start(support, "Hi")
    assert 1 + 1 == 3
"""
    code, said = run(tmp_path, tests)
    assert code == 1
    assert "assert (1 + 1) == 3" in said
    assert "1 failed" in said
    assert "error" not in said.splitlines()[-1]


def test_a_coroutine_is_left_to_a_plugin_that_runs_coroutines(tmp_path: Path) -> None:
    conftest = (
        CONFTEST
        + """
import asyncio
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not pyfuncitem.obj.__name__.startswith("test_the_same"):
        return None
    with asyncio.Runner() as runner:
        runner.run(pyfuncitem.obj(pawl_world=pyfuncitem.funcargs["pawl_world"]))
    print("ran by the other plugin")
    return True
"""
    )
    code, said = run(tmp_path, TESTS, conftest, "-s")
    assert code == 0, said
    assert said.count("ran by the other plugin") == 1


def test_it_can_be_imported_before_pytest_loads_it_and_named_for_type_checkers(tmp_path: Path) -> None:
    conftest = "from pawl.testing import MakeWorld, World, pawl_world\n" + CONFTEST
    code, said = run(tmp_path, TESTS, conftest)
    assert code == 0, said


def test_it_is_there_without_pytest_too() -> None:
    code = """
import sys
sys.modules["pytest"] = None
import importlib.util
importlib.util.find_spec = lambda name, package=None: None
from pawl.testing import World
print(World.__name__)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout == "World\n", done.stderr
