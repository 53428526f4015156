"""How the conformance suite gets its stores, and how it says that an operation must be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar, TypeVarTuple, Unpack

import pytest

from pawl.runtime.simulation.samples import answer_of
from pawl.runtime.store.answers import Refused
from pawl.runtime.store.port import Operation, Store, Transaction

E = TypeVar("E", bound=Exception)
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Conformance:
    """A part of the suite; the adapter's test class says how its store is made."""

    refused: ClassVar[str | None]

    def make_store(self, folder: Path) -> Store:
        """A new store, not opened, that may keep files in `folder`."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _joined(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        """What cannot be tested at all is said once and plainly, and not by each test in its way."""
        kind = type(self)
        if "refused" not in vars(kind):
            kind.refused = self.why_not(tmp_path_factory.mktemp("joined"))
        if kind.refused is not None:
            pytest.fail(kind.refused, pytrace=False)

    def why_not(self, folder: Path) -> str | None:
        """Why what `make_store` makes is no store that the suite can test; None for one that is."""
        try:
            made = self.make_store(folder)
        except Exception as error:
            return f"make_store(folder) raised {type(error).__name__}: {error}"
        lacking = [name for name in ("open", "close", "read", "submit") if not hasattr(made, name)]
        return f"make_store(folder) made no Store: {made!r} has no {', '.join(lacking)}" if lacking else None

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
