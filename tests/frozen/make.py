"""Makes the frozen file of this version: `make frozen`. The same again is the same file, byte for byte.

One execution in every state that it can rest in or be left in, made by the runtime itself, on a virtual clock.
"""

from __future__ import annotations

import gzip
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from frozen.agents import Making, agents
from pawl import Agent, Decision, Verdict
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.store.sqlite_connect import SCHEMA

HERE = Path(__file__).parent


class Elsewhere(list[Process]):
    """The processes of a world, numbered as if there had been 900 before: later ones have other names."""

    def __len__(self) -> int:
        return super().__len__() + 900


class Maker:
    """Leaves one execution after the other behind, each in a process of its own that then dies."""

    def __init__(self, store: SqliteStore) -> None:
        self.known = agents()
        self.world = World(store=store)
        self.world.processes = Elsewhere()

    def process(self, name: str, act: Callable[[Process, Agent[Any]], None]) -> None:
        """A process that knows one agent."""
        process = self.world.open(self.known[name])
        act(process, self.known[name])
        self.world.settle()
        self.world.lose(process)

    def run(self, *texts: str, **options: Any) -> Callable[[Process, Agent[Any]], None]:
        """Runs to their rest."""

        def act(process: Process, agent: Agent[Any]) -> None:
            for text in texts:
                process.do(process.runtime.run(agent, text, **options))

        return act

    def begin(self, text: str) -> Callable[[Process, Agent[Any]], None]:
        """A run that stands still somewhere."""

        def act(process: Process, agent: Agent[Any]) -> None:
            process.begin(process.runtime.run(agent, text))
            self.world.settle()

        return act

    def last(self, name: str) -> str:
        """The id of the last execution of an agent."""
        return [record.execution_id for record in self.world.records() if record.agent_id == name][-1]


def make(path: Path) -> None:
    """Write the file."""
    Making.now = True
    try:
        maker = Maker(SqliteStore(path, inline=True))
        _ended(maker)
        _resting(maker)
        _open(maker)
        maker.world.close()
    finally:
        Making.now = False
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("UPDATE _sqlite_migrations SET applied_at = '2026-01-01 00:00:00+00:00'")
    connection.execute("VACUUM")
    connection.close()


def _ended(maker: Maker) -> None:
    maker.process("completed", maker.run("weather?", id="r1", durable_context={"tenant": "acme"}))
    maker.process("typed", maker.run("how warm?"))
    maker.process("conversation", maker.run("1", "2", "3"))
    maker.process("failed", maker.run("fail"))
    maker.process("blocked", maker.run("tell me"))
    maker.process("rejected", lambda process, agent: _decide(process, agent, Verdict.REJECTED))
    maker.process("cancelled", lambda process, agent: _cancel(maker, process, agent))
    maker.process("reset", _reset)
    maker.process("closed", _close)


def _resting(maker: Maker) -> None:
    for name in ("suspended", "expiring", "undecided"):
        maker.process(name, maker.run("please"))
    maker.process("undecided", lambda process, agent: _decide_first(maker, process))
    maker.process("decided", maker.run("open A"))
    request = maker.world.record(maker.last("decided")).request
    assert request is not None
    item = request.items[0].tool_call_id
    edit = Decision(item, Verdict.APPROVED, "with another code", {"door": "A", "code": "9876"})
    stranger = maker.world.open(maker.known["failed"])
    stranger.do(stranger.runtime.record_decision(request.id, items={item: edit}))
    maker.world.lose(stranger)
    for name in ("asked", "model-asked"):
        maker.process(name, maker.begin("do it"))
        maker.process(name, lambda process, agent: None)  # finds it, and asks


def _open(maker: Maker) -> None:
    for name in ("preparing", "calling", "dispatched", "stopping"):
        maker.process(name, maker.begin(f"{name}…"))
    stranger = maker.world.open(maker.known["failed"])
    stranger.do(stranger.runtime.cancel(maker.last("stopping")))
    maker.world.lose(stranger)


def _decide(process: Process, agent: Agent[Any], verdict: Verdict) -> None:
    rest = process.do(process.runtime.run(agent, "pay Eve"))
    item = rest.request.items[0].tool_call_id
    process.do(process.runtime.decide(rest.request.id, items={item: Decision(item, verdict, "no")}))


def _decide_first(maker: Maker, process: Process) -> None:
    request = maker.world.record(maker.last("undecided")).request
    assert request is not None
    process.do(process.runtime.decide(request.id, items={request.items[0].tool_call_id: True}))


def _cancel(maker: Maker, process: Process, agent: Agent[Any]) -> None:
    maker.begin("stop me")(process, agent)
    process.do(process.runtime.cancel(maker.last("cancelled")))


def _reset(process: Process, agent: Agent[Any]) -> None:
    process.do(process.runtime.run(agent, "1"))
    process.do(process.do(process.runtime.open(agent, "reset")).reset())
    process.do(process.runtime.run(agent, "2"))


def _close(process: Process, agent: Agent[Any]) -> None:
    process.do(process.runtime.run(agent, "1"))
    process.do(process.do(process.runtime.open(agent, "closed")).close())


def packed(path: Path) -> bytes:
    """The file, compressed, without the time of day."""
    return gzip.compress(path.read_bytes(), mtime=0)


if __name__ == "__main__":
    target = HERE / f"{sys.argv[1] if len(sys.argv) > 1 else '0.1.0'}-schema{SCHEMA}.db.gz"
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "frozen.db"
        make(made)
        target.write_bytes(packed(made))
    sys.stdout.write(f"{target.name}: {target.stat().st_size} bytes\n")
