"""`pawl.testing`: tests of your own agents, without a network, and without waiting. PYTEST_DONT_REWRITE

`World` runs agents on a virtual clock, with scripted models, and can be crashed. With
`pytest_plugins = ["pawl.testing"]` in your `conftest.py` there is a fixture `pawl_world` that makes worlds:

    from agents import support
    from pawl import Completed, Suspended, call

    def test_a_refund_waits_for_a_person(pawl_world):
        world = pawl_world(support, model=[call("refund", order_id="7", cents=500), "Order 7 is refunded."])
        rest = world.sync.run(support, "Refund order 7")
        assert isinstance(rest, Suspended) and world.tool_calls == ()
        world.advance(days=2)
        world.crash()
        rest = world.sync.decide(rest.request.id, approve=True)
        assert isinstance(rest, Completed) and rest.output == "Order 7 is refunded."
        assert [run.arguments for run in world.tool_calls] == [{"order_id": "7", "cents": 500}]

A test may be a coroutine: then it is `await world.runtime.run(…)`, on whatever event loop the test runs.
"""

from __future__ import annotations

from importlib.util import find_spec

from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.invariants import Violated
from pawl.runtime.simulation.process import CallLost
from pawl.runtime.simulation.world import Stuck
from pawl.runtime.testing.cast import Script
from pawl.runtime.testing.seen import ToolRun
from pawl.runtime.testing.world import MakeWorld, World

__all__ = ["CallLost", "Fault", "MakeWorld", "Script", "Stuck", "ToolRun", "Violated", "World"]

if find_spec("pytest") is not None:  # without it there is no fixture, and the rest is there all the same
    from pawl.runtime.testing.plugin import pawl_world, pytest_pyfunc_call, pytest_runtest_makereport

    __all__ += ["pawl_world", "pytest_pyfunc_call", "pytest_runtest_makereport"]
