"""What goes to the store, handed over when all that is to be handled now has been.

Operations that are handed over together commit together; and a store's thread that ran beside the loop would only
take turns with it, since one of two threads runs Python at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pawl.runtime.store.answers import Answer
from pawl.runtime.store.port import Operation, Store


class Outbox:
    """Operations for one store, in the order of submission.

    `batches` counts how often something was handed over, `operations` how much, `largest` the most at once.

    `soon` runs a callback in the next turn of the loop; it is asked for a `flush` where none `follows` anyway.
    """

    def __init__(
        self, store: Store, soon: Callable[[Callable[[], None]], None], follows: Callable[[], bool] = lambda: False
    ) -> None:
        self._store, self._soon, self._follows = store, soon, follows
        self.batches = self.operations = self.largest = 0
        self._waiting: list[tuple[Operation[Any], Callable[[Answer[Any]], None]]] = []

    def submit(self, operation: Operation[Any], answer: Callable[[Answer[Any]], None]) -> None:
        """Hand it over with the next `flush`."""
        if not self._waiting and not self._follows():
            self._soon(self.flush)
        self._waiting.append((operation, answer))

    def flush(self) -> None:
        """Hand over what is waiting."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        self.batches += 1
        self.operations += len(waiting)
        self.largest = max(self.largest, len(waiting))
        for operation, answer in waiting:
            self._store.submit(operation, answer)
