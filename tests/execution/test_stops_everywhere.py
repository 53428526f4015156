"""A stop of every kind in every state that takes one, and what it leads to: walks that are led to that state."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from execution.walk import Walk
from execution.walk_answers import STOPS, Waiting
from execution.walk_cast import BREAKABLE_TOOL
from pawl.runtime.agent.payloads import Stop, StopReason
from pawl.runtime.execution import heart
from pawl.runtime.execution.heart import Message
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.simulation.faults import BARRIERS

STATES = dict(
    zip(
        BARRIERS,
        (
            "admitting",
            "calling_llm",
            "suspending",
            "deciding",
            "dispatching_tools",
            "recording",
            "resolving",
            "settling",
        ),
        strict=True,
    )
)
OF_BARRIERS = [state for state in STATES.values() if state != "recording"]
PLAIN = ["calling_llm", "retrying_llm", "waiting_for_tools", "probing", "draining"]
FILTERS = ["filtering_input", "building_context", "output_filtering"]


@attrs.frozen
class Wish:
    """Where a walk is to be stopped. `landed`: whether a write whose reply is lost was written."""

    state: str
    event: str
    landed: bool = True

    @property
    def inside(self) -> str:
        """The state of the barrier."""
        return self.state.partition(".")[2]


class Led(Walk):
    """A walk to one state, where it is stopped; then nothing else goes wrong."""

    def __init__(self, wish: Wish, seed: int) -> None:
        self.wish, self.granted = wish, False
        super().__init__(seed)
        self.filters = wish.state in FILTERS
        self.quiet = 10**9

    def step(self) -> None:
        live, wish = self.live, self.wish
        if self.granted or live is None or self.resting is not None:
            return super().step()
        if live.state == wish.state:
            return self._grant()
        running = [one for one in self.waiting if one.physical and one.name in live.children]
        if live.state == "waiting_for_tools" and running and wish.state.partition(".")[0] in ("probing", "resolving"):
            return self.recover()
        if wish.state == "draining" and live.state == "calling_llm":
            return self.stop("deadline_exceeded")
        return self._lead()

    def _grant(self) -> None:
        self.granted, self.trouble = True, False
        if self.wish.event == "swallowed":
            self.broken = ["stop_noted"] if self.wish.state.partition(".")[0] != "settling" else ["ownership_is_lost"]
            self._one()
            self.broken = []
        else:
            self.stop(self.wish.event)

    def _lead(self) -> None:
        if not self.waiting:
            return super().step()
        waiting = self.waiting[0]
        label = self._label(waiting)
        chosen = dict(waiting.ways).get(label) or waiting.ways[0][1]
        message = chosen()
        assert message is not None
        self.waiting.remove(waiting)
        return self.deliver(message)

    def _label(self, waiting: Waiting) -> str:
        live, state = self.live, self.wish.state
        assert live is not None
        labels = dict(waiting.ways)
        at = live.state.partition(".")[0]
        if "text" in labels:
            if state == "retrying_llm":
                return "fails safely"
            return "text" if state.startswith(("output", "settling")) else "calls"
        if "commits" in labels and at == state.partition(".")[0]:
            lost = "lost, landed" if self.wish.landed else "lost, not landed"
            return {"retrying": "unavailable", "reconciling": lost, "rereading": lost}.get(self.wish.inside, "commits")
        if "reads" in labels and self.wish.inside == "rereading" and at == state.partition(".")[0]:
            return "cannot read"
        return "found" if "found" in labels else ""


def led(wish: Wish) -> Led:
    """A walk that came there. The model's calls are drawn, so some seeds have to be tried."""
    for seed in range(200):
        walk = Led(wish, seed)
        for _ in range(120):
            if walk.granted or walk.over:
                break
            walk.step()
        if walk.granted:
            return walk
    raise AssertionError(f"no walk comes to {wish.state}")


def ended(walk: Led) -> str:
    """How the run ends, on record."""
    try:
        walk.calm()
    except AssertionError as error:
        raise AssertionError(f"{walk.wish}: {error}\n" + "\n".join(walk.trace[-60:])) from error
    return walk.record.status if walk.record is not None else "nothing"


@pytest.fixture(autouse=True)
def breakable_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "ToolInvocation", BREAKABLE_TOOL)


INSIDE = ["committing", "retrying", "reconciling", "rereading"]
WISHES = [
    Wish(f"{state}.{inside}", event, landed)
    for state in OF_BARRIERS
    for inside in INSIDE
    for event in STOPS
    for landed in ((True, False) if inside in ("reconciling", "rereading") else (True,))
]
WISHES += [Wish(state, event) for state in (*PLAIN, *FILTERS) for event in STOPS]


def shown(wish: Wish) -> str:
    return f"{wish.state}-{wish.event}" + ("" if wish.landed else "-unwritten")


@pytest.mark.parametrize("wish", WISHES, ids=shown)
def test_a_stop_ends_the_run_wherever_it_comes(wish: Wish) -> None:
    walk = led(wish)
    status = ended(walk)
    expected: dict[str, set[str]] = {
        "cancel_requested": {"cancelled"},
        "deadline_exceeded": {"failed"},
        "application_callback_failed": {"failed"},
        "internal_error": {"failed"},
        # Whoever owns the agent now goes on with it; here, nothing more is written.
        "ownership_lost": {"preparing", "active", "suspended", "nothing"},
    }
    allowed = expected[wish.event]
    at = wish.state.partition(".")[0]
    if at == "admitting" and status == "nothing":
        allowed = allowed | {"nothing"}  # known unwritten: the start is refused
    if at == "settling":
        allowed = {*TERMINAL, "active", "suspended"} if wish.event == "ownership_lost" else {*TERMINAL}
    if at == "draining":
        allowed = allowed | {"failed"}  # the reason of the ending was frozen before
    if wish.event == "internal_error" and at in ("draining", "settling"):
        allowed = {*TERMINAL}  # closed, and read again
    assert status in allowed


SWALLOWED = [
    Wish(f"{state}.{inside}", "swallowed", landed)
    for state in OF_BARRIERS
    if state != "settling"
    for inside in ("committing", "reconciling")
    for landed in (True, False)
]


@pytest.mark.parametrize("wish", SWALLOWED, ids=shown)
def test_an_answer_that_an_error_swallowed_closes_the_run_until_it_is_read_again(wish: Wish) -> None:
    walk = led(wish)
    assert walk.closed
    assert walk.live is not None
    assert walk.live.state == "recovery_required"
    assert ended(walk) in {*TERMINAL, "nothing"}


ANSWERS = [
    (Wish(f"{state}.{inside}", "cancel_requested", landed), answer)
    for state in OF_BARRIERS
    for inside, answers in (
        ("committing", ("unavailable", "refused", "lost, landed", "lost, not landed", "taken over")),
        ("reconciling", ("cannot read", "taken over")),
    )
    for answer in answers
    for landed in ((True, False) if inside == "reconciling" else (True,))
]


@pytest.mark.parametrize(("wish", "answer"), ANSWERS, ids=lambda part: shown(part) if isinstance(part, Wish) else part)
def test_whatever_the_store_says_after_a_cancellation_the_run_ends(wish: Wish, answer: str) -> None:
    walk = led(wish)
    waiting = walk.waiting.pop(0)
    message = dict(waiting.ways)[answer]()
    assert message is not None
    walk.deliver(message)
    status = ended(walk)
    at = wish.state.partition(".")[0]
    if answer == "taken over" and wish.state == "admitting.committing":
        assert status == "cancelled"  # an admission claims the agent itself, and its owner was gone
    elif answer == "taken over":
        assert status in {"preparing", "active", "suspended", "nothing", *(TERMINAL if at == "settling" else ())}
    elif at == "settling":
        assert status in TERMINAL
    else:
        assert status in {"cancelled", *(("nothing",) if at == "admitting" else ())}


def test_a_loss_that_the_store_does_not_confirm_is_a_loss_all_the_same() -> None:
    walk = led(Wish("settling.reconciling", "cancel_requested", landed=False))
    assert walk.live is not None
    walk.deliver(Message(walk.live.session, "ownership_lost", Stop(StopReason.LOST), walk.now))
    message = dict(walk.waiting.pop(0).ways)["reads"]()
    assert message is not None
    walk.deliver(message)
    assert walk.over
    assert walk.live.state == "superseded"


def test_every_wish_is_about_a_state_that_exists() -> None:
    known = {str(state.name) for state in heart.AGENT.states}
    wishes: list[Any] = [*WISHES, *SWALLOWED]
    assert {wish.state for wish in wishes} <= known
