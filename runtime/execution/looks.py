"""How often the store is looked at for what others do: soon, and less and less often while nothing happens."""

from __future__ import annotations

from typing import Final

SHORTEST: Final = 0.05
LONGEST: Final = 1.0
"""Seconds between two looks, at first and at last."""

_LONGER: Final = 1.5


class Looks:
    """The waits of one who looks; each is half as long again as the one before."""

    def __init__(self) -> None:
        self._wait = SHORTEST

    def next(self) -> float:
        """Seconds until the next look, after one that found nothing new."""
        wait, self._wait = self._wait, min(LONGEST, self._wait * _LONGER)
        return wait

    def found(self) -> None:
        """Something was new: look again soon."""
        self._wait = SHORTEST
