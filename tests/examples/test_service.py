"""The web service over a real socket: started, followed, decided, and killed in the middle."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest

from pawl.tools.examples.agents import Books


@attrs.frozen
class Told:
    """One server-sent event."""

    kind: str
    data: Any
    cursor: str | None


@pytest.fixture
def address() -> tuple[str, int]:
    """A port that is free now, the same one after a restart."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        host, port = found.getsockname()
        return host, port


@contextmanager
def service(folder: Path, address: tuple[str, int]) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    """The service in a process of its own, killed at the end."""
    host, port = address
    command = [sys.executable, "-m", "uvicorn", "pawl.tools.examples.service:app", "--host", host, "--port", str(port)]
    env = {**os.environ, "PAWL_FOLDER": str(folder)}
    env.pop("PAWL_MODEL", None)
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if b"running on" in line:
                break
        with httpx.Client(base_url=f"http://{host}:{port}", timeout=30) as client:
            yield client, process
    finally:
        with process:
            process.kill()


def events(lines: Iterator[str]) -> Iterator[Told]:
    """Read server-sent events as they come."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Told(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


def test_a_run_is_started_followed_through_a_restart_and_decided(tmp_path: Path, address: tuple[str, int]) -> None:
    with service(tmp_path, address) as (client, process):
        asked = {"customer": "customer-42", "text": "Refund order 7", "id": "req-1"}
        run = client.post("/runs", json=asked).json()["id"]
        assert client.post("/runs", json=asked).json()["id"] == run
        with client.stream("GET", f"/runs/{run}/events") as stream:
            before: list[Told] = []
            for told in events(stream.iter_lines()):
                before.append(told)
                if told.kind == "approval_required":
                    break
        process.kill()

    seen = [told.cursor for told in before if told.cursor is not None][-1]
    with service(tmp_path, address) as (client, _):
        at = client.get(f"/runs/{run}").json()
        assert at["at"] == "suspended"
        asked = at["request"]["id"]
        with client.stream("GET", f"/runs/{run}/events", headers={"Last-Event-ID": seen}) as stream:
            lines = events(stream.iter_lines())
            for _ in range(2):  # the same again is the same decision
                assert client.post(f"/requests/{asked}/decision", json={"approve": True}).status_code == 200
            after = list(lines)
            assert client.post(f"/requests/{asked}/decision", json={"approve": True}).status_code == 200
            refused = client.post(f"/requests/{asked}/decision", json={"approve": False})
            assert (refused.status_code, refused.json()["error"]) == (409, "AlreadyDecided")
        kinds = [told.kind for told in before + after]
        assert [kind for kind in kinds if kind not in ("token", "approval_required")] == [
            "tool_call",
            "tool_result",
            "done",
        ]
        cursors = [int(told.cursor) for told in before + after if told.cursor is not None]
        assert cursors == sorted(set(cursors))
        assert client.get(f"/runs/{run}").json()["output"].startswith("Done: paid 1250 cents")
        last = {"Last-Event-ID": str(cursors[-1])}
        assert client.get(f"/runs/{run}/events", headers=last).status_code == 204  # or a browser comes back for ever
    assert Books(tmp_path / "payments.db").payments() == [("7", 1250)]


def test_what_is_wrong_is_said_in_http(tmp_path: Path, address: tuple[str, int]) -> None:
    with service(tmp_path, address) as (client, _):
        assert client.get("/runs/x1/events").status_code == 404
        assert client.get("/runs/x1").json()["error"] == "ExecutionNotFound"
        run = client.post("/runs", json={"customer": "a", "text": "Refund order 7"}).json()["id"]
        busy = client.post("/runs", json={"customer": "a", "text": "Refund order 8"})
        assert (busy.status_code, busy.json()["error"]) == (409, "AgentBusy")
        assert client.post(f"/runs/{run}/cancel").json() == {"cancelled": run}
        with client.stream("GET", f"/runs/{run}/events") as stream:
            assert [told.kind for told in events(stream.iter_lines())][-1] == "cancelled"
        assert client.get(f"/runs/{run}/events", headers={"Last-Event-ID": "99"}).json()["error"] == "InvalidArguments"
        stale = client.post("/requests/request-0/decision", json={"approve": True})
        assert (stale.status_code, stale.json()["error"]) == (409, "StaleRequest")
    assert Books(tmp_path / "payments.db").payments() == []
