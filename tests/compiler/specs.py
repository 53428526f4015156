"""Small specs in text, and what the compiler says about them."""

from __future__ import annotations

from pawl.tools.compiler.compile import Compiled, compile_text
from pawl.tools.compiler.model import MachineModel

DOOR = """\
pawl: 1
machine: door
version: 1
states:
  closed: {initial: true}
  open: {}
  gone: {final: true}
events: {push: {}, pull: {}, demolish: {}}
transitions:
  - {from: closed, on: push, to: open}
  - {from: open, on: pull, to: closed}
  - {from: [closed, open], on: demolish, to: gone}
unhandled: {ignore: [push, pull]}
"""

WRITER = """\
pawl: 1
machine: writer
version: 1
states:
  idle: {initial: true, auto: true}
  writing: {barrier: write, refused: failed, stop: stopped, unwritten: withdrawn}
  done: {final: true}
  failed: {final: true}
  stopped: {final: true}
  withdrawn: {final: true}
  unclear: {halt: true}
  lost: {final: true}
events: {finished: {}, cancel: {}, deadline: {}, evicted: {}}
groups: {STOP: [cancel, evicted, deadline]}
barriers: {stop: STOP, lost: evicted, conflict: unclear, superseded: lost}
transitions:
  - {from: idle, to: writing}
  - {from: writing, on: finished, to: done}
  - {from: writing, on: STOP, to: failed}
unhandled: {stale: [finished, STOP]}
"""


def edited(text: str, *changes: tuple[str, str]) -> str:
    """`text` with each (old, new) replaced; the old must be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def compiled(text: str, *changes: tuple[str, str]) -> Compiled:
    return compile_text(edited(text, *changes))


def said(text: str, *changes: tuple[str, str]) -> list[str]:
    """`line RULE` of each finding."""
    return [f"{f.position.line} {f.rule}" for f in compiled(text, *changes).findings]


def model(text: str, *changes: tuple[str, str]) -> MachineModel:
    """The one machine of a spec that compiles without a finding."""
    result = compiled(text, *changes)
    assert [str(finding) for finding in result.findings] == []
    return result.machines[0]
