"""The agent loop as a workflow of DBOS, over its SQLite system database."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

from pawl.tools.bench.peers.loops import Pauses, spend
from pawl.tools.bench.rounds import texts


def _newer_sqlite() -> None:
    """DBOS needs SQLite 3.42; where Python's own is older, the one of pysqlite3 takes its place in this process."""
    if sqlite3.sqlite_version_info < (3, 42):
        import pysqlite3

        sys.modules["sqlite3"] = pysqlite3
        sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2


class _Dbos:
    def __init__(self, folder: Path) -> None:
        _newer_sqlite()
        from dbos import DBOS

        url = f"sqlite:///{folder / 'dbos.sqlite'}"
        DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
        self._dbos: Any = DBOS

    def _under(self, name: str) -> Any:
        from dbos import SetWorkflowID

        return SetWorkflowID(name)


class Dbos(_Dbos):
    """Functions as steps of a workflow."""

    is_async = False

    def __init__(self, folder: Path, _: Pauses) -> None:
        super().__init__(folder)
        step, workflow = self._dbos.step, self._dbos.workflow

        def answer() -> str:
            return texts().next()

        def result() -> str:
            return texts().next()

        model, tool = step()(answer), step()(result)

        def loop(rounds: int) -> str:
            for _ in range(rounds):
                model()
                tool()
            return str(model())

        self._loop: Any = workflow()(loop)
        self._dbos.launch()

    def run(self, name: str, rounds: int) -> None:
        with self._under(name):
            assert self._loop(rounds)

    def close(self) -> None:
        self._dbos.destroy()


class AsyncDbos(_Dbos):
    """Coroutines as steps of a workflow."""

    is_async = True

    def __init__(self, folder: Path, pauses: Pauses) -> None:
        super().__init__(folder)
        step, workflow = self._dbos.step, self._dbos.workflow

        async def answer() -> str:
            await spend(pauses[0])
            return texts().next()

        async def result() -> str:
            await spend(pauses[1])
            return texts().next()

        model, tool = step()(answer), step()(result)

        async def loop(rounds: int) -> str:
            for _ in range(rounds):
                await model()
                await tool()
            return str(await model())

        self._loop: Any = workflow()(loop)
        self._launched = False

    async def run(self, name: str, rounds: int) -> None:
        if not self._launched:
            self._launched = True
            self._dbos.launch()
        with self._under(name):
            assert await self._loop(rounds)

    async def close(self) -> None:
        self._dbos.destroy()
