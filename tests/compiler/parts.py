"""Specs of several files, compiled as they lie on disk."""

from __future__ import annotations

from pathlib import Path

from pawl.tools.compiler.compile import Compiled, compile_files
from pawl.tools.compiler.model import MachineModel

RETRY = """\
pawl: 1
fragment: retry
exits: {done: It worked., failed: It did not.}
parameters: {attempt: The action that tries.}
states:
  trying: {initial: true, enter: [attempt], after: {delay: patience, on: late}}
  pausing: {after: {delay: pause, on: pause_over}}
events: {worked: {}, late: {}, pause_over: {}}
groups: {AWAY: [pausing]}
transitions:
  - {from: trying, on: worked, to: done}
  - {from: trying, on: late, to: pausing, when: may_try_again}
  - {from: trying, on: late, to: failed}
  - {from: AWAY, on: pause_over, to: trying}
unhandled: {stale: "*"}
"""

COURIER = """\
pawl: 1
machine: courier
version: 1
include: retry.yaml
use:
  - {fragment: retry, as: fetch, with: {done: send, failed: lost, attempt: ask_source}}
  - {fragment: retry, as: send, with: {done: sent, failed: lost, attempt: ask_target}}
states:
  begin: {initial: true, auto: true}
  sent: {final: true}
  lost: {final: true}
events: {cancel: {}}
transitions:
  - {from: begin, to: fetch}
  - {from: [fetch, send.pausing], on: cancel, to: lost}
  - {from: send.trying, on: cancel, to: send}
"""


QUIET = """\
pawl: 1
fragment: quiet
states:
  resting: {initial: true}
events: {wake: {}}
transitions: [{from: resting, on: wake}]
"""

NIGHT = """\
pawl: 1
fragment: night
include: ../retry.yaml
use: [{fragment: retry, as: inner, with: {done: rest, failed: gone, attempt: knock}}]
exits: {gone: }
parameters: {knock: , may_try_again: }
states:
  rest: {initial: true, enter: [knock]}
events: {morning: {}}
transitions:
  - {from: rest, on: morning, to: inner, when: may_try_again}
  - {from: rest, on: morning, to: inner.pausing}
  - {from: inner, on: morning, to: gone}
unhandled: {ignore: morning}
"""

TWICE = """\
pawl: 1
machine: twice
version: 1
include: parts/night.yaml
use:
  - {fragment: night, as: one, with: {gone: two, knock: softly, may_try_again: brave}}
  - {fragment: night, as: two, with: {gone: end, knock: loudly, may_try_again: shy}}
states:
  begin: {initial: true, auto: true}
  end: {final: true}
transitions:
  - {from: begin, to: one}
  - {from: one.inner.trying, on: morning, to: end}
checks: {W19: off}
"""

WHOLE = """\
pawl: 1
machine: door
version: 1
states:
  closed: {initial: true}
  open: {}
  gone: {final: true}
events: {push: {}, pull: {}, demolish: {}}
groups: {ALL: [closed, open]}
transitions:
  - {from: closed, on: push, to: open}
  - {from: open, on: pull, to: closed}
  - {from: ALL, on: demolish, to: gone, do: [ring]}
unhandled: {ignore: [push, pull]}
"""


def written(folder: Path, **files: str) -> list[Path]:
    """The files, `__` in their names being folders; the paths of those that lie in `folder` itself."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return [folder / f"{name}.yaml" for name in files if "__" not in name]


def compiled(folder: Path, **files: str) -> Compiled:
    """All that is said about the files in `folder`."""
    return compile_files(written(folder, **files))


def model(folder: Path, **files: str) -> MachineModel:
    """The one machine, without a finding."""
    result = compiled(folder, **files)
    assert result.findings == (), "\n".join(map(str, result.findings))
    (machine,) = result.machines
    return machine


def said(folder: Path, **files: str) -> list[str]:
    """`file:line RULE` of each finding."""
    found = compiled(folder, **files).findings
    return [f"{Path(f.position.file).name}:{f.position.line} {f.rule}" for f in found]


def table(machine: MachineModel) -> list[str]:
    """The rows, each as one word after the other."""
    return [
        " ".join(
            [row.source, row.event or "-", *row.when, *(f"!{g}" for g in row.unless), "->", row.target or "-", *row.do]
        )
        for row in machine.rows
    ]
