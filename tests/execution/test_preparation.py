"""Steps of preparation that are called off."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from pawl.runtime.execution.preparation import Preparation


class CallsOff:
    """An environment in which nothing that is spawned gets its first turn."""

    def now(self) -> float:
        return 0.0

    def spawn(self, work: Coroutine[Any, Any, Any], done: Callable[[Any, BaseException | None], None]) -> None:
        work.close()
        done(None, asyncio.CancelledError())


@pytest.mark.parametrize("step", ["filter", "request"])
def test_a_step_that_is_called_off_before_its_first_turn_warns_of_nothing(step: str) -> None:
    environment: Any = CallsOff()
    effect = SimpleNamespace(work="work", stage="input", text="hello")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        getattr(Preparation(environment, environment, None), step)(effect, None, lambda *_: None)
        gc.collect()

    assert [str(one.message) for one in said] == []
