"""Decisions: whole or item by item, once, with receipts; and what a run makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from pawl import (
    Agent,
    AlreadyDecided,
    ApprovalQuery,
    Authorization,
    Completed,
    Decision,
    DefinitionChanged,
    InvalidArguments,
    NotSuspended,
    PolicyAnswer,
    Rejected,
    Rest,
    StaleRequest,
    Suspended,
    Verdict,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


@tool(approval=True)
def mail(to: str) -> str:
    """Mail."""
    return f"mailed {to}"


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def office(**options: Any) -> Agent:
    three = calls(call("pay", cents=5), call("mail", to="x"), call("add", a=1, b=2), text="I would like to")
    return Agent(name="office", model=scripted([three, "done"], record=False), tools=[pay, mail, add], **options)


def suspended(world: World, agent: Agent) -> tuple[Process, Suspended]:
    process = world.open()
    rest = process.do(process.runtime.run(agent, "go"))
    assert isinstance(rest, Suspended)
    return process, rest


def answers(world: World) -> list[str]:
    """What the model was told of its calls."""
    return [message.text for message in world.witness.requests[-1].messages if message.role == "tool"]


# what a request says ----------------------------------------------------------------------------------------------


def test_a_request_names_what_waits_and_binds_the_arguments() -> None:
    agent = office()
    with World(agent) as world:
        _, rest = suspended(world, agent)
        assert [item.tool_call_id for item in rest.request.items] == ["c1", "c2"] == list(rest.undecided)
        assert [item.arguments for item in rest.request.items] == [{"cents": 5}, {"to": "x"}]
        assert len({item.digest for item in rest.request.items}) == 2
        assert world.root("office").owner is None
        assert world.witness.effects == {}


def test_everything_is_approved_and_runs_once() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)
        assert world.witness.effects == {"pay": 1, "mail": 1, "add": 1}
        assert answers(world) == ["paid 5", "mailed x", "3"]


# one by one -----------------------------------------------------------------------------------------------------


def test_items_are_decided_one_by_one_and_nothing_runs_before_the_last() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        still = process.do(process.runtime.decide(rest.request.id, items={"c2": True}))
        assert isinstance(still, Suspended)
        assert still.request.id == rest.request.id
        assert still.undecided == ("c1",)
        assert still.revision == rest.revision + 1
        assert world.witness.effects == {}
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)
        assert world.kinds("office").count("approval_decided") == 2


def test_edited_arguments_are_what_runs() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        edited = Decision("c1", Verdict.APPROVED, edit={"cents": 3})
        end = process.do(process.runtime.decide(rest.request.id, items={"c1": edited, "c2": True}))
        assert isinstance(end, Completed)
        assert answers(world)[0] == "paid 3"


def test_edited_arguments_survive_the_loss_of_the_process() -> None:
    agent = office()
    with World(agent, faults=[Fault("approval#1", "crash_after_commit")]) as world:
        process, rest = suspended(world, agent)
        edited = Decision("c1", Verdict.APPROVED, edit={"cents": 3})
        process.begin(process.runtime.decide(rest.request.id, items={"c1": edited, "c2": True}))
        world.settle()
        process = world.open()
        assert isinstance(process.do(process.do(process.runtime.execution(rest.execution_id)).terminal()), Completed)
        assert answers(world)[0] == "paid 3"


@pytest.mark.parametrize(
    ("items", "what"),
    [
        ({"c1": Decision("c1", Verdict.APPROVED, edit={"cents": "three"})}, "cents"),
        ({"c1": Decision("c1", Verdict.APPROVED, edit={})}, "cents"),
        ({"c1": Decision("c1", Verdict.REJECTED, edit={"cents": 3})}, "nothing to edit"),
        ({"c9": True}, "no item 'c9'"),
        ({"c3": True}, "no item 'c3'"),
        ({"c1": "yes"}, "True, False or a Decision"),
        ({"c1": Decision("c1", "approved")}, "True, False or a Decision"),  # type: ignore[arg-type]
        ({"c1": Decision("c1", Verdict.APPROVED, 7)}, "must be text"),  # type: ignore[arg-type]
        ({"c1": Decision("c1", Verdict.APPROVED, "\ud800")}, "not Unicode"),
    ],
)
@pytest.mark.parametrize("record_only", [False, True])
def test_what_does_not_fit_is_refused_before_anything_is_written(items: Any, what: str, record_only: bool) -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        decide = process.runtime.record_decision if record_only else process.runtime.decide
        with pytest.raises(InvalidArguments, match=what):
            process.do(decide(rest.request.id, items=items))
        assert world.record(rest.execution_id).revision == rest.revision
        assert world.record(rest.execution_id).decisions == ()
        assert world.root("office").owner is None
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)


@pytest.mark.parametrize("words", [{}, {"approve": True, "items": {"c1": True}}])
def test_a_decision_is_about_the_whole_or_about_items(words: Any) -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        with pytest.raises(InvalidArguments, match="either"):
            process.do(process.runtime.decide(rest.request.id, **words))


# once -----------------------------------------------------------------------------------------------------------


def test_the_same_decision_again_is_no_error_and_gives_the_next_rest() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        end = process.do(process.runtime.decide(rest.request.id, approve=True))
        assert process.do(process.runtime.decide(rest.request.id, approve=True)) == end
        assert process.do(process.runtime.decide(rest.request.id, items={"c1": True})) == end
        receipts = process.do(process.runtime.receipts(rest.request.id))
        assert process.do(process.runtime.record_decision(rest.request.id, approve=True)) == receipts
        assert len({receipt.id for receipt in receipts}) == 2
        assert world.witness.effects == {"pay": 1, "mail": 1, "add": 1}


def test_an_approval_is_for_one_request_although_the_model_names_its_calls_alike() -> None:
    twice = [call("pay", call_id="c1", cents=5), call("pay", call_id="c1", cents=500), "done"]
    agent = Agent(name="office", model=scripted(twice, record=False), tools=[pay])
    with World(agent) as world:
        process, first = suspended(world, agent)
        second = process.do(process.runtime.decide(first.request.id, approve=True))
        assert isinstance(second, Suspended)
        assert second.request.id != first.request.id
        assert second.undecided == ("c1",)
        assert world.witness.effects == {"pay": 1}
        assert isinstance(process.do(process.runtime.decide(second.request.id, approve=True)), Completed)
        assert world.witness.effects == {"pay": 2}


def test_another_decision_is_refused_and_says_what_was_decided() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        process.do(process.runtime.decide(rest.request.id, items={"c1": True}))
        for again in (False, Decision("c1", Verdict.APPROVED, edit={"cents": 4})):
            with pytest.raises(AlreadyDecided) as error:
                process.do(process.runtime.decide(rest.request.id, items={"c1": again}))
            assert error.value.tool_call_id == "c1"
        process.do(process.runtime.decide(rest.request.id, approve=True))
        with pytest.raises(AlreadyDecided):
            process.do(process.runtime.decide(rest.request.id, approve=False))


def test_a_request_that_never_was_or_is_no_longer_pending_is_stale() -> None:
    script = scripted([call("pay", cents=1), call("pay", cents=2), "done"], record=False)
    agent = Agent(name="office", model=script, tools=[pay])
    with World(agent) as world:
        process, rest = suspended(world, agent)
        with pytest.raises(StaleRequest):
            process.do(process.runtime.decide("request-0", approve=True))
        second = process.do(process.runtime.decide(rest.request.id, approve=True))
        assert isinstance(second, Suspended)
        assert second.request.id != rest.request.id
        with pytest.raises(StaleRequest):
            process.do(process.runtime.decide(rest.request.id, items={"c2": True}))
        assert isinstance(process.do(process.runtime.decide(second.request.id, approve=True)), Completed)


def test_a_decision_that_comes_after_a_cancellation_is_refused() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        process.do(process.runtime.cancel(rest.execution_id))
        world.settle()
        with pytest.raises((NotSuspended, StaleRequest)):
            process.do(process.runtime.decide(rest.request.id, approve=True))
        assert world.witness.effects == {}


def test_an_approval_that_the_store_refuses_fails_its_caller_alone() -> None:
    agent = office()
    with World(agent, faults=[Fault("approval#1", "refuse", error=InvalidArguments("not like this"))]) as world:
        process, rest = suspended(world, agent)
        other = process.begin(process.do(process.runtime.execution(rest.execution_id)).terminal())
        with pytest.raises(InvalidArguments, match="not like this"):
            process.do(process.runtime.decide(rest.request.id, approve=True))
        assert world.root("office").owner is None
        assert world.record(rest.execution_id).status == "suspended"
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)
        assert isinstance(world.wait(other), Completed)


# no -------------------------------------------------------------------------------------------------------------


def test_a_rejection_ends_the_run_and_nothing_of_the_answer_runs() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        end = process.do(
            process.runtime.decide(rest.request.id, items={"c1": Decision("c1", Verdict.REJECTED, "too much")})
        )
        assert isinstance(end, Rejected)
        assert (end.output, end.reason) == ("I would like to", "pay was rejected: too much")
        assert world.witness.effects == {}
        assert [row.status for row in world.rows(rest.execution_id)] == ["rejected", "cancelled", "cancelled"]


def test_the_run_after_a_rejection_sees_an_answer_to_every_call() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        process.do(process.runtime.decide(rest.request.id, approve=False, message="no"))
        assert isinstance(process.do(process.runtime.run(agent, "then what?")), Completed)
        assert answers(world) == ["rejected: no", "rejected: no", "not run: a sibling was rejected"]


def test_where_the_run_goes_on_the_model_is_told_and_the_others_run() -> None:
    agent = office(on_rejection="continue")
    with World(agent) as world:
        process, rest = suspended(world, agent)
        still = process.do(process.runtime.decide(rest.request.id, items={"c1": False}))
        assert isinstance(still, Suspended)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, items={"c2": True})), Completed)
        assert answers(world) == ["rejected", "mailed x", "3"]
        assert world.witness.effects == {"mail": 1, "add": 1}


def test_where_the_run_goes_on_and_everything_is_rejected_the_model_is_told_at_once() -> None:
    agent = Agent(
        name="office",
        model=scripted([call("pay", cents=5), "fine"], record=False),
        tools=[pay],
        on_rejection="continue",
    )
    with World(agent) as world:
        process, rest = suspended(world, agent)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=False, message="no")), Completed)
        assert answers(world) == ["rejected: no"]
        assert "tool_dispatch" not in world.faults.counts
        (row,) = world.rows(rest.execution_id)
        assert (row.status, row.message) == ("rejected", "no")


@pytest.mark.parametrize("at", ["approval#1", "outcome#1"])
@pytest.mark.parametrize("do", ["crash_before_commit", "crash_after_commit"])
def test_a_rejection_is_a_rejection_whatever_happens_to_the_process(at: str, do: Any) -> None:
    agent = office()
    with World(agent, faults=[Fault(at, do)]) as world:
        process, rest = suspended(world, agent)
        process.begin(process.runtime.decide(rest.request.id, approve=False, message="no"))
        world.settle()
        process = world.open()
        end: Rest = process.do(process.runtime.decide(rest.request.id, approve=False, message="no"))
        assert isinstance(end, Rejected)
        assert world.witness.effects == {}


# policies -------------------------------------------------------------------------------------------------------


def with_policy(policy: Any) -> Agent:
    @tool(approval=policy)
    def send(text: str) -> str:
        """Send."""
        return f"sent {text}"

    both = calls(call("send", text="a"), call("add", a=1, b=2))
    return Agent(name="p", model=scripted([both, "done"], record=False), tools=[send, add])


def raises(query: ApprovalQuery) -> PolicyAnswer:
    raise RuntimeError("no rules today")


async def hangs(query: ApprovalQuery) -> PolicyAnswer:
    import asyncio

    await asyncio.sleep(10_000)
    return "allow"


def says_yes(query: ApprovalQuery) -> Any:
    return False


async def asks(query: ApprovalQuery) -> Authorization:
    return Authorization("ask", f"{query.tool} to {query.arguments['text']}")


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (asks, "send to a"),
        (raises, "the approval policy failed: RuntimeError: no rules today"),
        (hangs, "the approval policy did not answer in time"),
        (says_yes, "the approval policy failed: TypeError: the answer False permits nothing; return 'allow', 'ask'"),
        (lambda query: "perhaps", "the approval policy failed: TypeError"),
        (lambda query: ("ask", "because"), "because"),
    ],
)
def test_a_policy_that_asks_fails_or_hangs_leaves_it_to_a_person(policy: Any, reason: str) -> None:
    agent = with_policy(policy)
    with World(agent) as world:
        process, rest = suspended(world, agent)
        assert rest.request.items[0].reason.startswith(reason)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)
        assert world.witness.effects == {"send": 1, "add": 1}


def test_a_policy_that_allows_lets_it_run() -> None:
    agent = with_policy(lambda query: "allow")
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert world.witness.effects == {"send": 1, "add": 1}


def test_a_policy_that_rejects_ends_the_run_before_anything_runs() -> None:
    agent = with_policy(lambda query: ("reject", "never on Sundays"))
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Rejected)
        assert end.reason == "send was rejected: never on Sundays"
        assert world.witness.effects == {}
        assert isinstance(process.do(process.runtime.run(agent, "and now?")), Completed)


def test_a_full_pool_where_a_policy_is_asked_leaves_it_to_a_person() -> None:
    agent = with_policy(lambda query: "allow")
    with World(agent) as world:
        process = world.open()
        process.environment.full = True
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        assert "could not be asked" in rest.request.items[0].reason


# other versions -------------------------------------------------------------------------------------------------


def test_another_version_takes_no_decision_unless_it_says_so() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        process.close()
        newer = world.open(office(version=2))
        for decide in (newer.runtime.decide, newer.runtime.record_decision):
            with pytest.raises(DefinitionChanged, match=r"compatible_with=\[1\]"):
                newer.do(decide(rest.request.id, approve=True))
        assert [record.execution_id for record in newer.do(newer.runtime.unclaimed())] == [rest.execution_id]
        assert world.record(rest.execution_id).revision == rest.revision
        newer.close()
        newest = world.open(office(version=3, compatible_with=[1, 2]))
        assert isinstance(newest.do(newest.runtime.decide(rest.request.id, approve=True)), Completed)


def test_a_tool_that_is_gone_in_a_compatible_version_is_the_call_s_error() -> None:
    agent = office()
    with World(agent) as world:
        process, rest = suspended(world, agent)
        process.close()
        without = Agent(
            name="office", model=scripted([calls(call("pay", cents=5)), "done"]), tools=[mail, add], version=2,
            compatible_with=[1],
        )  # fmt: skip
        newer = world.open(without)
        assert isinstance(newer.do(newer.runtime.decide(rest.request.id, approve=True), within=60), Completed)
        assert answers(world)[0] == "error: there is no tool 'pay' any more; nothing was run"
        assert world.witness.effects == {"mail": 1, "add": 1}
