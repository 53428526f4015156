"""A process of the conformance suite: FILE CLASS FOLDER COMMAND …, says `ready`, waits for a line, and does it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pawl.runtime.records.frozen import replace
from pawl.runtime.simulation.conformance_base import Conformance
from pawl.runtime.simulation.samples import an_agent, done
from pawl.runtime.store.port import Store, Transaction


def insert(store: Store, number: str) -> None:
    """Add an agent."""
    done(store, lambda tx: tx.agents.insert(an_agent(number)))
    _say("done")


def count(store: Store, times: str) -> None:
    """Count the agent's answers, and say each number when it is committed."""

    def one(tx: Transaction) -> int:
        root = tx.agents.get("a")
        assert root is not None
        tx.agents.save(replace(root, answers=root.answers + 1))
        return root.answers + 1

    for _ in range(int(times)):
        _say(str(done(store, one)))


def hold(store: Store) -> None:
    """Be in the middle of writing until the end."""

    def long(tx: Transaction) -> None:
        tx.agents.save(an_agent(answers=99))
        _say("holding")
        sys.stdin.readline()

    done(store, long)


COMMANDS: Final[dict[str, Callable[..., None]]] = {"insert": insert, "count": count, "hold": hold}


def main(file: str, name: str, folder: str, command: str, *arguments: str) -> None:
    """Make the store of the class, and do what was asked with it."""
    store = _suite(file, name).make_store(Path(folder))
    _say("ready")
    sys.stdin.readline()
    store.open()
    COMMANDS[command](store, *arguments)
    store.close()


def _suite(file: str, name: str) -> Conformance:
    spec = importlib.util.spec_from_file_location("pawl_conformance_of_adapter", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    suite: Any = getattr(module, name)
    made: Conformance = suite()
    return made


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
