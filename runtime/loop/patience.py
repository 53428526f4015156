"""Waiting a moment for an answer that is nearly there: a loop that goes to sleep has to be woken, which is slower."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

MOMENT: Final = 0.0003
"""Seconds that a wait lasts at most: what a commit takes on a quick disk."""

RAREST: Final = 255
"""How many occasions are let go by at most after waits in vain."""


class Patience:
    """Lets the loop's thread wait for a word of another thread, while `idle` says that it has nothing else to do.

    Each wait in vain makes the next ones rarer, so that a slow disk is hardly ever waited for.
    """

    def __init__(self, idle: Callable[[], bool]) -> None:
        self.idle = idle
        self._words: SimpleQueue[None] = SimpleQueue()
        self._waiting = False
        self._rarity = self._let_go = 0

    def worthwhile(self) -> bool:
        """Whether this occasion to wait should be used, as far as earlier ones can tell."""
        if not self._let_go:
            return True
        self._let_go -= 1
        return False

    def wait(self, arrived: Callable[[], object]) -> bool:
        """Whether something has arrived, perhaps after a moment. On the loop's thread."""
        self._waiting = True
        try:
            if not arrived():
                self._words.get(timeout=MOMENT)
            self._rarity = 0
        except Empty:
            self._rarity = self._let_go = min(RAREST, 2 * self._rarity + 1)
        finally:
            self._waiting = False
        # A word that came too late to end the wait is about something that has arrived, and is seen here.
        return bool(arrived())

    def tell(self) -> bool:
        """Say, from any thread, that something has arrived. True when somebody waits for it and need not be woken."""
        if not self._waiting:
            return False
        self._words.put(None)
        return True
