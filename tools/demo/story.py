"""The story: what is started, approved, killed and taken over, and what was on disk at each turn."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.open import store_at
from pawl.tools.cli.record import Holder, Snapshot, snapshot
from pawl.tools.demo import wire
from pawl.tools.demo.agent import HOLD
from pawl.tools.demo.host import QUESTION, STORE
from pawl.tools.demo.ledger import FOLDER
from pawl.tools.demo.process import PATIENCE, DemoFailed, Process, environment

APPROVER = "pawl approve"
_KEY = len("key-") + 8


@attrs.frozen
class Line:
    """One line of the timeline: seconds since the beginning, who did it (with its pid), what it is, what it was."""

    at: float
    who: str
    pid: int | None
    what: str
    text: str = ""


Tell = Callable[[Line], None]


@attrs.define
class Told:
    """What is left of the story, for those who check it."""

    folder: Path
    execution_id: str = ""
    pids: dict[str, int] = attrs.field(factory=dict)
    exits: dict[str, int] = attrs.field(factory=dict)
    alive_when_killed: dict[str, bool] = attrs.field(factory=dict)
    at_kill: dict[str, Snapshot] = attrs.field(factory=dict)
    end: Snapshot | None = None
    output: str = ""


class Story:
    """Plays it in `folder`, telling each line as it happens. Raises DemoFailed."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.told = Told(folder)
        self._folder, self._tell = folder, tell
        self._began = time.monotonic()
        self._processes: list[Process] = []

    def play(self) -> Told:
        """From the customer's question to the answer."""
        try:
            request = self._asked()
            self._approved(request)
            self._interrupted()
            self._finished()
        finally:
            for process in self._processes:
                if process.alive:
                    process.kill()
        return self.told

    # the turns ----------------------------------------------------------------------------------------------

    def _asked(self) -> str:
        one = self._start("process 1", "start")
        self.told.execution_id = one.expect("started")["execution"]
        self._say(one, "started", f"{self.told.execution_id}: {QUESTION}")
        request = str(one.expect("suspended")["request"])
        found = self._look()
        self._say(one, "ran", f"lookup_order: {_row(found, 'lookup_order').status}, it needed no approval")
        self._say(one, "suspended", "hold_parcel and refund come together, and a person has to approve the refund")
        self._kill(one, "while it waits for the decision")
        return request

    def _approved(self, request: str) -> None:
        words = ["pawl.tools.cli.main", "approve", request, "--db", str(self._folder / STORE)]
        with subprocess.Popen(
            [sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(),
            cwd=self._folder, encoding="utf-8",
        ) as approver:  # fmt: skip
            try:
                said, _ = approver.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                approver.kill()
                raise DemoFailed(f"{APPROVER} did not end in {PATIENCE:.0f} s") from None
        self.told.pids[APPROVER], self.told.exits[APPROVER] = approver.pid, approver.returncode
        if approver.returncode != 0:
            raise DemoFailed(f"{APPROVER} failed: {said.strip()}")
        self._line(APPROVER, approver.pid, "approved", "the refund; this process has none of the agent's code")
        self._on_disk(self._look())

    def _interrupted(self) -> None:
        two = self._start("process 2", "work", HOLD="1")
        two.expect("working")
        self._say(two, "adopted", "the run from its record, and let both tools go")
        refunded = two.expect("refunded")
        self._say(two, "refunded", f"the provider has moved the money, under {refunded['key'][:_KEY]}…")
        hold = _row(self._look(), "hold_parcel")
        two.expect("recorded", tool=hold.tool_invocation_id)
        self._say(two, "recorded", "hold_parcel's outcome; the refund's is not on record yet")
        self._kill(two, "after the refund, before its outcome was written")

    def _finished(self) -> None:
        three = self._start("process 3", "work")
        three.expect("working")
        self._say(three, "adopted", f"at once: pid {self.told.pids['process 2']} is dead, its fence is void")
        refunded = three.expect("refunded")
        moved = "moves money again" if refunded["moved"] else "knows the key and moves nothing"
        text = f"attempt {refunded['attempt']} under the same key; the provider {moved}"
        self._say(three, "refund again", text)
        self._say(
            three, "left alone", "hold_parcel: its outcome is on record, so nobody is asked and it is not repeated"
        )
        self.told.output = str(three.expect("completed")["output"])
        self._say(three, "completed", self.told.output)
        self.told.exits["process 3"] = three.wait()
        self.told.end = self._look()
        self._on_disk(self.told.end)

    # what they are made of ----------------------------------------------------------------------------------

    def _start(self, name: str, *words: str, **extra: str) -> Process:
        env = environment(**{FOLDER: str(self._folder), wire.PART: name}, **{HOLD: extra["HOLD"]} if extra else {})
        arguments = ["pawl.tools.demo.host", *words, *([self.told.execution_id] if words[0] == "work" else [])]
        process = Process(name, arguments, env, self._folder / f"{name.replace(' ', '-')}.log")
        self._processes.append(process)
        self.told.pids[name] = process.pid
        return process

    def _kill(self, process: Process, when: str) -> None:
        self.told.alive_when_killed[process.name] = process.alive
        self.told.exits[process.name] = process.kill()
        self._say(process, "KILLED", f"kill -9, {when}")
        found = self.told.at_kill[process.name] = self._look()
        self._on_disk(found)

    def _look(self) -> Snapshot:
        with _reading(self._folder / STORE) as read:
            return read(self.told.execution_id)

    def _on_disk(self, found: Snapshot) -> None:
        for text in on_disk(found):
            self._line("", None, "on disk", text)

    def _say(self, process: Process, what: str, text: str) -> None:
        self._line(process.name, process.pid, what, text)

    def _line(self, who: str, pid: int | None, what: str, text: str) -> None:
        self._tell(Line(time.monotonic() - self._began, who, pid, what, text))


@contextmanager
def _reading(path: Path) -> Iterator[Callable[[str], Snapshot]]:
    store = store_at(os.fspath(path))
    store.open()
    try:
        yield lambda execution_id: store.read(snapshot(execution_id))
    finally:
        store.close()


def on_disk(found: Snapshot) -> Iterator[str]:
    """What the power could fail on now, in a few lines."""
    record = found.record
    owner = (
        "nobody" if found.holder is Holder.NOBODY else f"pid {found.lease.pid if found.lease else '?'}, {found.holder}"
    )
    yield (
        f"{found.barrier} at revision {record.revision}: {record.status}, {record.phase}; awaiting "
        f"{found.awaiting or 'nothing'}; owner {owner}; fence {found.root.fence}"
    )
    decided = {decision.tool_call_id: f", {decision.verdict}" for decision in record.decisions}
    for stored in found.tools:
        row = stored.row
        if not found.ended and row.llm_call_id == record.batch_call_id:
            say = decided.get(row.tool_call_id, "")
            yield f"    {row.tool:<12} {row.status}{say}, attempt {row.attempt}, {row.idempotency_key[:_KEY]}…"


def _row(found: Snapshot, tool: str) -> ToolRow:
    for stored in found.tools:
        if stored.row.tool == tool:
            return stored.row
    raise DemoFailed(f"there is no row of {tool} on disk")
