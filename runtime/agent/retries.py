"""Retries of a model call: how often, after which wait, and only where the provider says that nothing was done."""

from __future__ import annotations

from typing import Final

import attrs

from pawl.runtime.records.errors import InvalidArguments, ModelError

_LONGEST: Final = 1e9
_BOUNDS: Final = {"first": (0.0, _LONGEST), "factor": (1.0, 100.0), "longest": (0.0, _LONGEST), "jitter": (0.0, 1.0)}


@attrs.frozen(kw_only=True)
class Retries:
    """When a model call that failed is made again: at most `attempts` further times for one answer.

    Only failures whose provider says that nothing was done (`ModelError.retry_safe`) are followed by another attempt,
    under a model call id of its own; a timeout is not. The wait before the n-th further attempt is `first *
    factor ** (n - 1)` seconds, of which up to the share `jitter` (0 to 1) is taken off at random, so that many runs
    that failed together do not come back together. Where the provider names a time to wait (`retry_after`), it is at
    least that. No wait is longer than `longest` seconds. `Retries(attempts=0)` never tries again.

    Raises InvalidArguments, naming the setting.
    """

    attempts: int = 2
    first: float = 1.0
    factor: float = 2.0
    longest: float = 60.0
    jitter: float = 0.5

    def __attrs_post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 0:
            raise InvalidArguments(f"Retries: attempts={self.attempts!r:.40} must be a whole number from 0")
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not least <= value <= most:
                raise InvalidArguments(f"Retries: {name}={value!r:.40} must be a number from {least:g} to {most:g}")

    def delay(self, failures: int, chance: float, retry_after: float | None = None) -> float:
        """Seconds to wait after the `failures`-th failure of one answer; `chance`, in [0, 1), draws the jitter."""
        step: float = self.first
        for _ in range(failures - 1):
            step *= self.factor
            if step >= self.longest:
                break
        wait = min(step, self.longest) * (1.0 - self.jitter * chance)
        if retry_after is not None:
            # Never before the provider's time, and not all at that same moment.
            wait = max(wait, retry_after + self.first * self.jitter * chance)
        return min(wait, self.longest)


def asked_to_wait(error: ModelError) -> float | None:
    """The seconds that a provider asks for, None where it names none, or none that makes sense."""
    wait: object = error.retry_after
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not wait > 0:
        return None
    return float(min(wait, _LONGEST))
