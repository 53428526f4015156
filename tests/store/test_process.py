"""What is known about processes: dead is only what surely is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from pawl.runtime.store.process import UNKNOWN_START, is_dead, lease, this_process

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_this_process_is_not_dead() -> None:
    assert not is_dead(lease("me", 0.0))
    assert this_process() == this_process()
    assert lease("me", 5.0).pid == os.getpid()
    assert lease("me", 5.0).expires_at == 5.0


def test_a_process_that_has_ended_is_dead(child: subprocess.Popen[bytes]) -> None:
    owner = attrs.evolve(lease("child", 0.0), pid=child.pid, started=UNKNOWN_START)
    assert not is_dead(owner)
    child.kill()
    child.wait()
    assert is_dead(owner)


@needs_proc
def test_a_process_that_has_ended_is_dead_before_its_parent_asks(child: subprocess.Popen[bytes]) -> None:
    owner = attrs.evolve(lease("child", 0.0), pid=child.pid, started=UNKNOWN_START)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and still a zombie
    assert is_dead(owner)


@needs_proc
def test_a_younger_process_with_the_same_pid_is_another() -> None:
    me = lease("me", 0.0)
    assert me.started != UNKNOWN_START
    assert is_dead(attrs.evolve(me, started=me.started - 1))
    assert not is_dead(attrs.evolve(me, started=UNKNOWN_START))


def test_a_process_of_another_host_or_boot_is_never_known_to_be_dead() -> None:
    me = lease("me", 0.0)
    assert not is_dead(attrs.evolve(me, host="elsewhere", started=1.0))
    assert not is_dead(attrs.evolve(me, host=me.host + "x", pid=2**22 + 7))


def test_a_pid_that_is_none_is_not_asked_about() -> None:
    assert not is_dead(attrs.evolve(lease("me", 0.0), pid=0))
    assert not is_dead(attrs.evolve(lease("me", 0.0), pid=-1))
