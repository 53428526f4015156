"""A process that the demo starts, listens to and, where the story wants it, kills."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pawl

PATIENCE = 45.0
"""Seconds to wait for anything: longer than a lease, for systems that cannot say whether a process is dead."""


class DemoFailed(Exception):
    """The story did not go as it should; the message says where, and what the process said."""


def environment(**extra: str) -> dict[str, str]:
    """The environment of a child: this very Pawl, and no settings of the user's."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith("PAWL_")}
    home = str(Path(str(pawl.__file__)).parents[1])
    if home not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):  # it is not found without
        ours["PYTHONPATH"] = os.pathsep.join([home, *filter(None, [ours.get("PYTHONPATH")])])
    return {**ours, "PYTHONUNBUFFERED": "1", **extra}


class Process:
    """`python -m MODULE …`, whose stdout is a JSON object a line, and whose stderr is kept in `log`."""

    def __init__(self, name: str, words: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self.name, self._log = name, log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(env),
                cwd=log.parent,
                encoding="utf-8",
            )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._heard: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def expect(self, what: str, **facts: Any) -> dict[str, Any]:
        """Wait until it has told `what`, with these facts; what it told else is kept. Raises DemoFailed."""
        while True:
            for place, heard in enumerate(self._heard):
                if heard["what"] == what and all(heard.get(key) == value for key, value in facts.items()):
                    return self._heard.pop(place)
            try:
                line = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise DemoFailed(f"{self.name} did not come to '{what}' in {PATIENCE:.0f} s; see {self._log}") from None
            if line is None:
                raise DemoFailed(f"{self.name} ended before '{what}': {self._last_words()}")
            self._heard.append(self._understood(line))

    def kill(self) -> int:
        """SIGKILL: it can do nothing about it, and nothing after it. The exit code, -9 on POSIX."""
        self._process.kill()
        return self.wait()

    def wait(self) -> int:
        """Wait for its end; the exit code. Raises DemoFailed."""
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise DemoFailed(f"{self.name} does not end; see {self._log}") from None
        self._reader.join(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _understood(self, line: str) -> dict[str, Any]:
        try:
            heard = json.loads(line)
        except ValueError:
            heard = None
        if not isinstance(heard, dict) or "what" not in heard:
            raise DemoFailed(f"{self.name} said {line.strip()!r:.100}, which is nothing of the demo")
        return heard

    def _last_words(self) -> str:
        said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return said[-1] if said else f"no word in {self._log}"
