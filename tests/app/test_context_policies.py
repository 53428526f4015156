"""Context policies in runs: what the model is shown when the conversation outgrows its budget, and what fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from pawl import (
    Agent,
    Cancelled,
    Completed,
    ContextPolicy,
    ContextQuery,
    ContextUnit,
    Failed,
    Message,
    ModelRequest,
    RequestPatch,
    Rest,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.records.journal import MESSAGE_KINDS
from pawl.runtime.records.messages import why_invalid
from pawl.runtime.simulation.world import World


@tool
def read(page: str) -> str:
    """Forty characters of a page."""
    return page * 40


def count(text: str) -> int:
    return len(text)


def reader(*script: Any, policy: Any, **options: Any) -> Agent:
    return Agent(name="a", model=scripted(script), tools=[read], context=policy, **options)


def fixed(agent: Agent) -> int:
    """What of a request never leaves besides the conversation, in characters."""
    return len(agent.callbacks.tools(agent.specs)) + len(agent.callbacks.told or "")


def budget(room: int, **options: Any) -> ContextPolicy:
    """A policy that leaves so many characters for the conversation of a reader."""
    return ContextPolicy(room + fixed(reader("x", policy=None, **options)), count)


def runs(agent: Agent, *texts: str, **options: Any) -> tuple[list[Rest], list[ModelRequest]]:
    with World(agent, **options) as world:
        process = world.open()
        rests = [process.do(process.runtime.run(agent, text, agent_id="x")) for text in texts]
        for request in world.witness.requests:
            assert why_invalid(request.messages) is None
        return rests, world.witness.requests


def shown(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages]


ANSWERS = [f"answer {number}" for number in range(9)]


def test_the_oldest_exchanges_leave_first_and_whole() -> None:
    agent = reader(*ANSWERS, policy=budget(60))
    rests, requests = runs(agent, *(f"question {number}" for number in range(6)))
    assert all(isinstance(rest, Completed) for rest in rests)
    assert shown(requests[2]) == ["question 0", "answer 0", "question 1", "answer 1", "question 2"]
    assert shown(requests[5]) == ["question 3", "answer 3", "question 4", "answer 4", "question 5"]


def test_in_the_current_run_a_call_leaves_with_all_its_results_and_the_input_and_the_newest_stay() -> None:
    two = calls(call("read", page="b"), call("read", page="c"))
    script = ["fine", call("read", page="a"), two, call("read", page="d"), "done"]
    agent = reader(*script, policy=budget(150))
    _, (_, second, third, fourth, fifth) = runs(agent, "earlier", "question")
    assert shown(second) == ["earlier", "fine", "question"]
    assert shown(third) == ["earlier", "fine", "question", "", "a" * 40]
    assert shown(fourth) == ["question", "", "b" * 40, "c" * 40]  # the exchange before, and then the oldest answer
    assert shown(fifth) == ["question", "", "d" * 40]


def test_the_manifest_names_what_was_left_out_by_position() -> None:
    agent = reader(*ANSWERS, policy=budget(60))
    with World(agent) as world:
        process = world.open()
        for number in range(6):
            rest = process.do(process.runtime.run(agent, f"question {number}", agent_id="x"))
        manifest = world.record(rest.execution_id).manifest
        assert manifest is not None
        ((first, last),) = manifest.excluded
        left = [
            entry.body
            for entry in world.journal("x")
            if first <= entry.position <= last and entry.kind in MESSAGE_KINDS
        ]
        assert left == ["question 0", "answer 0", "question 1", "answer 1", "question 2", "answer 2"]
        assert manifest.extra == ()


def test_what_never_leaves_and_is_too_large_fails_the_run_with_the_numbers() -> None:
    agent = reader(*ANSWERS, policy=budget(20))
    rests, requests = runs(agent, "hello", "a question that is longer than that")
    assert isinstance(rests[0], Completed)
    assert isinstance(rests[1], Failed)
    assert rests[1].error.type == "ContextTooLarge"
    assert f"may have {20 + fixed(agent)} (max_tokens): {fixed(agent)} for" in rests[1].error.message
    assert "35 for the current input" in rests[1].error.message
    assert len(requests) == 1


def test_a_result_that_does_not_fit_is_not_left_out_silently() -> None:
    agent = reader(call("read", page="a"), "done", policy=budget(45))
    (rest,), requests = runs(agent, "question")
    assert isinstance(rest, Failed)
    assert rest.error.type == "ContextTooLarge"
    assert len(requests) == 1


def test_instructions_knowledge_and_what_hooks_add_are_counted_and_never_leave() -> None:
    extra = RequestPatch(add_instructions="x" * 18, before=[Message("system", "y" * 20)], tools=["read"])
    agent = reader(
        *ANSWERS,
        policy=budget(100, instructions="Be kind.", knowledge=["One."]),
        instructions="Be kind.",
        knowledge=["One."],
        before_llm=[lambda query: extra],
    )
    _, requests = runs(agent, *(f"question {number}" for number in range(6)))
    last = requests[-1]
    assert last.instructions == "Be kind.\n\nOne.\n\n" + "x" * 18
    assert shown(last) == ["y" * 20, "question 3", "answer 3", "question 4", "answer 4", "question 5"]


def test_a_counter_is_asked_once_for_each_text_over_runs_and_processes_with_the_policy() -> None:
    asked: list[str] = []

    def counted(text: str) -> int:
        asked.append(text)
        return 1

    agent = reader(*ANSWERS, policy=ContextPolicy(1000, counted))
    with World(agent) as world:
        for number in range(4):
            process = world.open()
            assert isinstance(process.do(process.runtime.run(agent, f"question {number}", agent_id="x")), Completed)
            world.lose(process)
    questions = [text for text in asked if text.startswith(("question", "answer"))]
    assert sorted(questions) == sorted(set(questions))
    assert len(questions) == 7


def test_a_step_counts_what_it_adds_and_not_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = ContextPolicy(10**9, lambda text: 1)
    rounds = 30
    script = [*("hello" for _ in range(50)), *(call("read", page=f"{number}") for number in range(rounds)), "done"]
    agent = reader(*script, policy=policy, max_iterations=rounds + 1)
    with World(agent) as world:
        process = world.open()
        for number in range(50):
            process.do(process.runtime.run(agent, f"question {number}", agent_id="x"))
        looked: list[str] = []
        real = type(policy.counts).of
        monkeypatch.setattr(
            type(policy.counts), "of", lambda self, message: looked.append(message.text) or real(self, message)
        )
        assert isinstance(process.do(process.runtime.run(agent, "read it", agent_id="x")), Completed)
    assert len(looked) == 101 + 2 * rounds  # the conversation once, then an answer and a result a step


# policies of one's own ------------------------------------------------------------------------------------------


class Last:
    """The newest `kept` units, and what is needed."""

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self.queries: list[ContextQuery] = []

    def select(self, query: ContextQuery) -> Iterable[ContextUnit]:
        self.queries.append(query)
        return [unit for unit in query.units if unit.needed or unit.number >= len(query.units) - self.kept]


class Later(Last):
    """The same, after a while."""

    async def select(self, query: ContextQuery) -> Sequence[ContextUnit]:  # type: ignore[override]
        await asyncio.sleep(1)
        return list(super().select(query))


@pytest.mark.parametrize("kind", [Last, Later])
def test_any_object_that_selects_units_is_a_policy(kind: type[Last]) -> None:
    policy = kind(2)
    agent = reader("one", "two", call("read", page="a"), call("read", page="b"), "three", policy=policy)
    _, requests = runs(agent, "first", "second", "third", deps="db")
    assert shown(requests[2]) == ["second", "two", "third"]
    assert shown(requests[3]) == ["third", "", "a" * 40]
    assert shown(requests[4]) == ["third", "", "a" * 40, "", "b" * 40]
    query = policy.queries[-1]
    assert (query.agent_id, query.definition, query.sequence, query.deps) == ("x", "a", 3, "db")
    assert [(unit.current, unit.needed) for unit in query.units] == [
        (False, False),
        (False, False),
        (True, True),
        (True, False),
        (True, True),
    ]
    assert [message.text for message in query.units[-1].messages] == ["", "b" * 40]
    assert query.fixed > 0


class Broken:
    """Answers with whatever it was given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def select(self, query: ContextQuery) -> Any:
        return self.answer(query)


BROKEN = [
    (lambda query: None, "TypeError", "it returned None; return those of query.units that stay"),
    (lambda query: [], "ValueError", "it left out unit 1, the current input; a unit that is `needed` must stay"),
    (lambda query: list(query.units[0].messages), "TypeError", "it returned Message("),
    (lambda query: 1 // 0, "ZeroDivisionError", "integer division"),
]


@pytest.mark.parametrize(("answer", "type_", "said"), BROKEN)
def test_a_policy_that_breaks_a_request_fails_the_run_instead(answer: Any, type_: str, said: str) -> None:
    agent = reader(*ANSWERS, policy=Broken(lambda query: answer(query) if len(query.units) > 1 else query.units))
    rests, requests = runs(agent, "first", "second")
    assert isinstance(rests[0], Completed)
    assert isinstance(rests[1], Failed)
    assert rests[1].error.type == type_
    assert rests[1].error.message.startswith(f"context policy 'Broken': {said}")
    assert len(requests) == 1


def test_a_counter_that_raises_fails_the_run() -> None:
    def broken(text: str) -> int:
        raise LookupError("no such encoding")

    (rest,), requests = runs(reader(*ANSWERS, policy=ContextPolicy(100, broken)), "hello")
    assert isinstance(rest, Failed)
    assert (rest.error.type, rest.error.message) == ("LookupError", "context policy 'ContextPolicy': no such encoding")
    assert requests == []


def test_a_policy_that_hangs_fails_the_run_and_a_cancellation_does_not_wait_for_it() -> None:
    class Hangs:
        async def select(self, query: ContextQuery) -> Any:
            await asyncio.get_running_loop().create_future()

    agent = reader(*ANSWERS, policy=Hangs(), preparation_timeout=3)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "hello"))
        world.settle()
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution.terminal(), within=1), Cancelled)
        rest = process.do(process.runtime.run(agent, "hello"))
        assert isinstance(rest, Failed)
        assert rest.error.type == "PreparationTimeout"


def test_a_policy_may_ask_the_one_that_comes_with_pawl() -> None:
    class Pinned:
        """The very first exchange never leaves."""

        count = staticmethod(count)

        def select(self, query: ContextQuery) -> Iterable[ContextUnit]:
            return {unit.number: unit for unit in (*inner.select(query), query.units[0])}.values()

    inner = budget(60)
    _, requests = runs(reader(*ANSWERS, policy=Pinned()), *(f"question {number}" for number in range(6)))
    assert shown(requests[-1]) == [
        "question 0",
        "answer 0",
        "question 3",
        "answer 3",
        "question 4",
        "answer 4",
        "question 5",
    ]
