"""Chance: whatever is random is drawn from a seed, the same on every Python.

Only `random` and `randrange` of the generator are used, and nothing whose order a hash decides.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Chance, the same for a seed wherever it is drawn."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self._random.random() < probability

    def between(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return least + self._random.randrange(most - least + 1)

    def one(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self._random.randrange(len(choices))]

    def maybe(self, probability: float, choices: Sequence[T]) -> T | None:
        """One of them that often, else None."""
        return self.one(choices) if self.chance(probability) else None

    def weighed(self, choices: Sequence[tuple[int, T]]) -> T:
        """One of them, by weight."""
        left = self._random.randrange(sum(weight for weight, _ in choices))
        for weight, choice in choices:
            left -= weight
            if left < 0:
                return choice
        raise AssertionError("weights are positive")
