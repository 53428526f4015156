"""No run of a broken runtime holds: each thing that must always be true is broken, and a scenario that expects nothing
says which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.barriers.admission import Admission
from pawl.runtime.barriers.commit import Commit, Written
from pawl.runtime.execution import heart, work
from pawl.runtime.execution.insisting import Insistence
from pawl.runtime.execution.watch import Watch
from pawl.runtime.execution.work import Workshop
from pawl.runtime.loop.outbox import Outbox
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import JournalEntry
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.simulation.playing import play
from pawl.runtime.simulation.running import scenarios_of
from pawl.runtime.store.memory_tables import _Journal

Break = Callable[[pytest.MonkeyPatch], None]

RUNS = """
scenario: 1
name: two runs, one of which asks
agents:
  clerk:
    tools:
      add: {returns: "3"}
      pay: {approval: ask, returns: paid}
      mail: {recovery: replay, returns: sent}
model:
  clerk:
    - calls: [{id: c1, tool: add}, {id: c2, tool: pay, args: {cents: 5}}, {id: c3, tool: mail}]
      usage: {input: 10, output: 5}
    - {text: all done, usage: {input: 3, output: 1}}
    - {text: again}
faults: [FAULTS]
steps:
  - start: {agent: clerk, input: go, as: r1}
  - decide: {run: r1, approve: true}
  - advance: 1s
  - start: {agent: clerk, input: go, as: r2}
"""


def failure(faults: str = "", runs: str = RUNS) -> str | None:
    (scenario,) = scenarios_of(runs.replace("FAULTS", faults))
    return play(scenario).failure


# breaking things ------------------------------------------------------------------------------------------------------


def put_in(patch: pytest.MonkeyPatch, instead: Any) -> Any:
    """In the place of the transaction of a commit, under its name; that itself."""
    written, instead.__name__ = Commit.run, "run"
    patch.setattr(Commit, "run", instead)
    return written


def nothing_is_written_at(barrier: str) -> Break:
    def brk(patch: pytest.MonkeyPatch) -> None:
        def skipped(self: Commit, tx: Any) -> Written:
            if self.barrier != barrier:
                return written(self, tx)
            return Written(self.position, self.after(tx.agents.get(self.record.agent_id)))

        written = put_in(patch, skipped)

    return brk


def written_is(change: Callable[[Commit], Commit], barrier: str | None = None) -> Break:
    """Every commit, or those of one barrier, writes something else than it says."""

    def brk(patch: pytest.MonkeyPatch) -> None:
        def changed(self: Commit, tx: Any) -> Written:
            return written(change(self) if barrier in (None, self.barrier) else self, tx)

        written = put_in(patch, changed)

    return brk


def another_revision(commit: Commit) -> Commit:
    return replace(commit, record=replace(commit.record, revision=commit.record.revision + 1))


def a_revision_is_skipped(patch: pytest.MonkeyPatch) -> None:
    written_is(another_revision, "outcome")(patch)


def other_usage(commit: Commit) -> Commit:
    def lie(entry: JournalEntry) -> JournalEntry:
        counted = entry.kind == "llm_call_recorded"
        return attrs.evolve(entry, meta={**entry.meta, "usage": {"input": 1, "output": 1}}) if counted else entry

    return replace(commit, journal=tuple(map(lie, commit.journal)))


def another_token(commit: Commit) -> Commit:
    return replace(commit, record=replace(commit.record, token="another"))


def two_endings(commit: Commit) -> Commit:
    return replace(commit, journal=(*commit.journal, *(one for one in commit.journal if one.kind.startswith("exec"))))


def an_open_status(commit: Commit) -> Commit:
    return replace(commit, record=replace(commit.record, status="active"), awaiting=None)


def no_results(commit: Commit) -> Commit:
    return replace(commit, journal=tuple(one for one in commit.journal if one.kind != "tool_message"))


def everything_may_be_repeated(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolRow, "repeatable", property(lambda row: True))


def no_body_is_entered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("pawl.runtime.simulation.bodies._body", lambda *_: lambda **arguments: "ok")


def every_body_is_entered_twice(patch: pytest.MonkeyPatch) -> None:
    run = Workshop.run_tool

    def twice(self: Workshop, *arguments: Any) -> None:
        run(self, *arguments)
        run(self, *arguments)

    patch.setattr(Workshop, "run_tool", twice)


def no_commit_asserts_the_fence(patch: pytest.MonkeyPatch) -> None:
    def unfenced(self: Commit, tx: Any) -> Written:
        root = tx.agents.get(self.record.agent_id)
        tx.agents.save(attrs.evolve(root, owner=self.authority.owner, fence=self.authority.fence))
        said: Written = written(self, tx)
        tx.agents.save(attrs.evolve(tx.agents.get(self.record.agent_id), fence=root.fence))
        return said

    written = put_in(patch, unfenced)


def no_outcome_asserts_the_fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("pawl.runtime.barriers.tool_outcome.assert_fence", lambda *_: None)


def attempts_have(**other: Any) -> Break:
    def brk(patch: pytest.MonkeyPatch) -> None:
        made = work.ToolContext
        patch.setattr(work, "ToolContext", lambda **more: made(**{**more, **other}))

    return brk


def a_record_is_gone(patch: pytest.MonkeyPatch) -> None:
    read = _Journal.read

    def without(self: Any, *where: Any) -> Any:
        return [record for record in read(self, *where) if record.position != 3]

    patch.setattr(_Journal, "read", without)


def another_run_is_admitted(patch: pytest.MonkeyPatch) -> None:
    """Each run brings another with it, that is open as well."""
    run = Admission.run

    def twice(self: Admission, tx: Any) -> Any:
        admitted = run(self, tx)
        other = replace(self.record, execution_id="other", start_id="other", token="other")
        open_of = tx.executions._tables.open_of
        open_of.pop(self.record.agent_id)
        tx.executions.insert(replace(other, first_position=admitted.position))
        open_of[self.record.agent_id] = self.record.execution_id
        return admitted

    twice.__name__ = "run"
    patch.setattr(Admission, "run", twice)


def nobody_goes_on_with_what_was_left(patch: pytest.MonkeyPatch) -> None:
    async def adopt(*_: Any) -> None:
        return None

    patch.setattr(Watch, "_adopt", adopt)


def going_on_raises(patch: pytest.MonkeyPatch) -> None:
    async def adopt(*_: Any) -> None:
        raise ZeroDivisionError

    patch.setattr("pawl.runtime.execution.host.Host.adopt", adopt)


def an_action_raises(patch: pytest.MonkeyPatch) -> None:
    def record_results(*_: Any) -> Any:
        raise ZeroDivisionError

    patch.setattr(AgentInvocation, "record_results", record_results)


def nothing_is_late(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(heart, "_current_for_agent", lambda *_: True)
    patch.setattr(heart, "_current_for_child", lambda *_: True)


def no_body_is_started(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Workshop, "run_tool", lambda *_: None)


def no_commit_is_submitted(patch: pytest.MonkeyPatch) -> None:
    submit = Outbox.submit

    def lost(self: Outbox, operation: Any, answer: Any) -> None:
        if getattr(getattr(operation, "__self__", None), "barrier", "") != "tool_dispatch":
            submit(self, operation, answer)

    patch.setattr(Outbox, "submit", lost)


def a_request_is_made_anew(patch: pytest.MonkeyPatch) -> None:
    call = Workshop.call_model
    times = iter(range(1000))

    def other(self: Workshop, effect: Any, *more: Any, **named: Any) -> Any:
        request = replace(effect.request, instructions=f"asked {next(times)}")
        return call(self, attrs.evolve(effect, request=request), *more, **named)

    patch.setattr(Workshop, "call_model", other)


def nothing_is_waited_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Insistence, "__call__", lambda _, operation, done: done(None))


MODEL, TOOL = '{at: "model#1", do: crash_after_effect}', '{at: "tool:add#1", do: crash_during_effect}'
TAKEN_LATE = '{at: "tool_outcome#1", do: superseded}'
LOST, TAKEN = '{at: "provider_dispatch#1", do: crash_after_commit}', '{at: "provider_dispatch#1", do: superseded}'

BREAKS: list[tuple[str, str, Break, str]] = [
    ("1: a model call starts before its barrier", "I5", nothing_is_written_at("provider_dispatch"), ""),
    ("1: bodies start before their barrier", "I5", nothing_is_written_at("tool_dispatch"), ""),
    ("1: an attempt starts that is on no record", "I1", attempts_have(attempt=9), ""),
    ("2: a body is entered again", "I14", everything_may_be_repeated, TOOL),
    ("2: a body that was not entered has succeeded", "I14", no_body_is_entered, ""),
    ("2: a body is entered twice in one attempt", "I14", every_body_is_entered_twice, ""),
    ("3: a revision is skipped", "I2", a_revision_is_skipped, ""),
    ("3: a record is gone", "I15", a_record_is_gone, ""),
    ("3: another token is left", "I5", written_is(another_token), ""),
    ("4: a run ends twice", "I19", written_is(two_endings, "outcome"), ""),
    ("4: a run that has ended is open", "progress", written_is(an_open_status, "outcome"), ""),
    ("5: two runs are open", "I12", another_run_is_admitted, " "),
    ("7: nobody goes on with what was left", "progress", nobody_goes_on_with_what_was_left, LOST),
    ("7: going on with what was left raises", "internal", going_on_raises, LOST),
    ("7: a body is never started", "progress", no_body_is_started, ""),
    ("7: a commit is never submitted", "progress", no_commit_is_submitted, ""),
    ("8: a result is missing", "I17", written_is(no_results), '{at: "provider_dispatch#2", do: crash_after_commit}'),
    ("9: usage is made up", "I20", written_is(other_usage), ""),
    ("10: a handle settles before the agent is released", "I10", nothing_is_waited_for, TOOL),
    ("11: a commit is written under an old fence", "I4", no_commit_asserts_the_fence, TAKEN),
    (
        "11: an outcome is written under an old fence",
        "I4",
        no_outcome_asserts_the_fence,
        '{at: "tool_outcome#1", do: superseded}',
    ),
    ("12: a key is on no record", "I1", attempts_have(idempotency_key="other"), ""),
    ("a request is made anew", "I24", a_request_is_made_anew, MODEL),
    ("an error inside is healed", "internal", an_action_raises, ""),
]


def test_no_invariant_is_hurt_where_nothing_is_broken() -> None:
    failures = [failure(faults) or "" for faults in {faults for *_, faults in BREAKS}]

    assert not [one for one in failures if one.startswith("invariant")]
    assert failure() is None


@pytest.mark.parametrize(("code", "brk", "faults"), [one[1:] for one in BREAKS], ids=[one[0] for one in BREAKS])
def test_a_run_of_a_broken_runtime_fails(code: str, brk: Break, faults: str, monkeypatch: pytest.MonkeyPatch) -> None:
    brk(monkeypatch)
    runs = RUNS if faults not in (LOST, TAKEN, " ") else RUNS[: RUNS.index("  - decide")]

    assert (failure(faults, runs) or "it holds").startswith(f"invariant {code}:")


LATE = """
scenario: 1
name: an answer of a model is delivered again while the next call is made
agents: {clerk: {tools: {add: {returns: "3"}}}}
model: {clerk: [{calls: [{id: c1, tool: add}]}, {text: done}]}
steps:
  - hold: add
  - start: {agent: clerk, input: go, as: r1}
  - hold: model
  - release: add
  - redeliver: {event: llm_completed, of: r1}
  - release: model
"""


def test_a_run_fails_that_is_moved_by_what_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure(runs=LATE) is None

    nothing_is_late(monkeypatch)

    assert (failure(runs=LATE) or "it holds").startswith("invariant I6:")
