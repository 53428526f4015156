"""How the conformance suite gets its stores, and how it says that an operation must be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple, Unpack

from pawl.runtime.simulation.samples import answer_of
from pawl.runtime.store.answers import Refused
from pawl.runtime.store.port import Operation, Store, Transaction

E = TypeVar("E", bound=Exception)
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Conformance:
    """A part of the suite; the adapter's test class says how its store is made."""

    def make_store(self, folder: Path) -> Store:
        """A new store, not opened, that may keep files in `folder`."""
        raise NotImplementedError

    @contextmanager
    def opened(self, folder: Path) -> Iterator[Store]:
        """An open store, closed at the end."""
        store = self.make_store(folder)
        store.open()
        try:
            yield store
        finally:
            store.close()


def refusal(store: Store, operation: Callable[[Transaction], Any], kind: type[E]) -> E:
    """The error that an operation is refused with. Raises AssertionError when it is not, or with another kind."""
    answer = answer_of(store, operation)
    assert isinstance(answer, Refused), answer
    assert isinstance(answer.error, kind), repr(answer.error)
    return answer.error


def using(operation: Callable[[Transaction, Unpack[Arguments]], T], *arguments: *Arguments) -> Operation[T]:
    """An operation with its arguments bound now, for operations that are made in a loop."""
    return lambda tx: operation(tx, *arguments)
