"""What a tool is told, and how it is asked to stop."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from typing import Any

import attrs
import pytest

from pawl.runtime.agent.context import Cancellation, ToolContext
from pawl.runtime.agent.freeze import FrozenDict, FrozenList, freeze


def test_a_context_for_a_unit_test_needs_nothing() -> None:
    ctx = ToolContext()
    assert (ctx.attempt, ctx.deadline, ctx.deps, ctx.cancelled) == (1, None, None, False)


def test_the_durable_context_cannot_be_changed_at_any_depth() -> None:
    given: dict[str, Any] = {"user": {"id": 7}, "tags": ["a", {"b": 1}]}
    context = ToolContext(durable_context=given).durable_context
    assert context == given
    for change in (
        lambda: context.update(a=1),  # type: ignore[attr-defined]
        lambda: context["user"].pop("id"),
        lambda: context["user"].__setitem__("id", 8),
        lambda: context["tags"].append(1),
        context["tags"][1].clear,
        context["tags"].sort,
    ):
        with pytest.raises(TypeError, match="frozen; change a copy"):
            change()
    given["user"]["id"] = 9
    assert context["user"]["id"] == 7


def test_the_fields_of_a_context_cannot_be_set() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ToolContext().attempt = 2  # type: ignore[misc]


def test_frozen_data_serialises_compares_and_copies_like_plain_data() -> None:
    plain = {"a": [1, {"b": None}], "c": "d"}
    frozen = freeze(plain)
    assert isinstance(frozen, FrozenDict)
    assert isinstance(frozen["a"], FrozenList)
    assert json.dumps(frozen) == json.dumps(plain)
    assert frozen == plain
    copied = copy.deepcopy(frozen)
    assert type(copied) is dict
    assert type(copied["a"]) is list
    copied["a"].append(2)
    assert frozen == plain
    assert type(frozen.copy()) is dict
    assert type(frozen["a"].copy()) is list
    again = pickle.loads(pickle.dumps(frozen))
    assert again == plain
    assert isinstance(again["a"], FrozenList)
    assert freeze(frozen) is frozen


def test_a_tuple_freezes_to_a_list() -> None:
    given: Any = {"a": (1, [2])}
    assert freeze(given) == {"a": [1, [2]]}


def test_cancelling_is_seen_by_the_tool() -> None:
    cancellation = Cancellation()
    ctx = ToolContext(cancellation=cancellation)
    assert not cancellation.wait(0)
    cancellation.set()
    assert ctx.cancelled
    assert cancellation.wait(0)


def test_a_waiting_tool_wakes_when_another_thread_cancels() -> None:
    ctx = ToolContext()

    async def run() -> None:
        waiting = [asyncio.create_task(ctx.wait_cancelled()) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        thread = threading.Thread(target=ctx.cancellation.set)
        thread.start()
        await asyncio.wait_for(asyncio.gather(*waiting), 10)
        thread.join()

    asyncio.run(run())


def test_waiting_for_what_has_happened_returns_at_once() -> None:
    ctx = ToolContext()
    ctx.cancellation.set()
    ctx.cancellation.set()
    asyncio.run(ctx.wait_cancelled())


def test_a_waiter_that_gave_up_is_forgotten() -> None:
    ctx = ToolContext()

    async def run() -> None:
        task = asyncio.create_task(ctx.wait_cancelled())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    ctx.cancellation.set()  # its loop is closed
    assert ctx.cancelled


def test_setting_survives_a_waiter_whose_loop_is_closed() -> None:
    cancellation = Cancellation()
    waiting = cancellation.wait_async()

    async def begin() -> None:
        waiting.send(None)

    asyncio.run(begin())
    cancellation.set()
    assert cancellation.is_set
    waiting.close()


def test_threads_that_wait_wake_when_somebody_cancels() -> None:
    cancellation, begun, seen = Cancellation(), threading.Semaphore(0), []

    def body() -> None:
        begun.release()
        seen.append(cancellation.wait(60))

    threads = [threading.Thread(target=body) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert begun.acquire(timeout=60)
    cancellation.set()
    for thread in threads:
        thread.join(60)
    assert seen == [True, True, True]
