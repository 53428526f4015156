"""Events as they happen: a line each for people, or kept for the JSON object at the end."""

from __future__ import annotations

import sys
import time
from typing import Any

from pawl.runtime.execution.heart import Move
from pawl.runtime.records.events import Event, EventKind, told_result
from pawl.tools.cli.output import err, out
from pawl.tools.cli.words import clock, excerpt, printable, span

STYLES = {
    EventKind.APPROVAL_REQUIRED: "yellow",
    EventKind.RECOVERY_RESOLUTION_REQUIRED: "yellow",
    EventKind.STORE_UNAVAILABLE: "yellow",
    EventKind.DONE: "green",
    EventKind.ERROR: "red",
    EventKind.TIMEOUT: "red",
    EventKind.CANCELLED: "yellow",
}

_ENDS = frozenset({EventKind.DONE, EventKind.ERROR, EventKind.TIMEOUT, EventKind.CANCELLED})


class Teller:
    """A listener. With `quiet` nothing is printed, and `events` keeps what was heard. With `stream` the text of
    answers is printed as it comes; `said` is that of the last one. `others` is how runs ended that were not followed.
    """

    def __init__(self, quiet: bool = False, stream: bool = False) -> None:
        self.quiet = quiet
        self.events: list[dict[str, Any]] = []
        self.said = ""
        self.others: dict[str, str] = {}
        self._stream, self._saying, self._call = stream, False, None
        self._only: str | None = None
        self._early: list[Event] | None = []

    def follow(self, execution_id: str | None) -> None:
        """Now it is known whose events are wanted (None: everybody's); those that came before are told first."""
        self._only = execution_id
        early, self._early = self._early or [], None
        for event in early:
            self.hear(event)

    def hear(self, event: Event) -> None:
        """Tell one event."""
        if self._early is not None:
            self._early.append(event)
            return
        if self._only is not None and event.execution_id != self._only:
            if event.kind in _ENDS:
                self.others[event.execution_id] = f"{event.kind} {words(event)}".strip()
            return
        if event.kind is EventKind.TOKEN:
            self._token(event)
            return
        if self.quiet:
            self.events.append(event.to_dict())
            return
        whose = f"{event.execution_id[:9]}  " if self._only is None else ""
        said = words(event)
        self.say(f"{whose}{event.kind:<18} {said}".rstrip(), STYLES.get(event.kind, ""))

    def say(self, text: str, style: str = "") -> None:
        """A line with the time."""
        if not self.quiet:
            self.end_line()
            out(f"{clock(time.time())}  {text}", style)

    def end_line(self) -> None:
        """End the line that an answer's text has left open."""
        if self._saying:
            self._saying = False
            out()

    def _token(self, event: Event) -> None:
        """A piece of an answer, as it comes, if it is the followed run's."""
        if not self._stream or self._only is None:
            return
        text = event.data["text"]
        if event.data.get("llm_call_id") != self._call:
            self.end_line()
            self.said, self._call = "", event.data.get("llm_call_id")
        self.said += text
        sys.stdout.write("\n".join(map(printable, text.split("\n"))))
        sys.stdout.flush()
        self._saying = not text.endswith("\n")

    def trace(self, execution_id: str, move: Move) -> None:
        """A row that was taken, on stderr."""
        whose = f" {move.child[:13]}" if move.child is not None else ""
        what = f" on {move.event}" if move.event is not None else ""
        err(f"{clock(time.time())}  {execution_id[:9]}{whose}  {move.source} -> {move.target or 'stays'}{what}", "dim")


def words(event: Event) -> str:
    """What an event says, beside its kind, in one line."""
    data = event.data
    match event.kind:
        case EventKind.TOOL_CALL:
            return f"{printable(data['id'])} {printable(data['name'])} {excerpt(data['arguments'])}"
        case EventKind.TOOL_RESULT:
            return result_words(data, data.get("text"))
        case EventKind.APPROVAL_REQUIRED:
            return _asked_words(data)
        case EventKind.RECOVERY_RESOLUTION_REQUIRED:
            return ", ".join(printable(subject["subject"]) for subject in data["subjects"])
        case EventKind.DONE:
            return str(data["outcome"])
        case EventKind.ERROR | EventKind.TIMEOUT:
            return error_words(data.get("error"))
        case EventKind.STORE_UNAVAILABLE:
            return excerpt(f"at {data['barrier']}: {data['error']}")
        case _:
            return ""


def _asked_words(data: dict[str, Any]) -> str:
    """The request and its calls; while some of them are decided, those that are not."""
    if "request" not in data:
        name, calls = data["request_id"], data["calls"]
    else:
        name, calls = data["request"]["id"], [item["tool_call_id"] for item in data["request"]["items"]]
    return f"{name}: {', '.join(map(printable, data.get('undecided') or calls))}"


def result_words(meta: dict[str, Any], text: str | None) -> str:
    """The result of a tool call, as the journal and its event have it."""
    call = f"{printable(meta['tool_call_id'])} {printable(meta['tool'])} {told_result(meta)['status']}"
    seconds = f", {span(meta['seconds'])}" if meta["attempt"] else ""
    return f"{call} (attempt {meta['attempt']}{seconds}): {excerpt(text or '')}"


def error_words(error: dict[str, Any] | None) -> str:
    """`Type: message`."""
    return f"{error['type']}: {excerpt(error['message'])}" if error else ""
