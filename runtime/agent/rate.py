"""How often, and how many at a time, a tool may run: its options, checked."""

from __future__ import annotations

import math
import re
from typing import Final, TypeAlias

import attrs

from pawl.runtime.records.errors import InvalidArguments

_UNITS: Final = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}
_TEXT: Final = re.compile(r"(\d+) */ *(\d*\.?\d*) *([a-z]+)")


@attrs.frozen
class Rate:
    """At most `count` starts in any `per` seconds."""

    count: int
    per: float = 1.0

    def __attrs_post_init__(self) -> None:
        if type(self.count) is not int or self.count < 1:
            raise InvalidArguments(f"Rate: count={self.count!r:.40} must be a whole number from 1")
        if isinstance(self.per, bool) or not isinstance(self.per, int | float) or not 0 < self.per < math.inf:
            raise InvalidArguments(f"Rate: per={self.per!r:.40} must be a number of seconds above 0")


RateRule: TypeAlias = Rate | str


@attrs.frozen(eq=False)
class Limit:
    """The limits of one tool. Tools that share one (copies of a definition) share its slots."""

    max_concurrent: int | None
    rate: Rate | None


def limit_of(max_concurrent: object, rate: object, where: str) -> Limit | None:
    """The `max_concurrent=` and `rate=` of a tool, None without any. Raises InvalidArguments."""
    if max_concurrent is None and rate is None:
        return None
    if max_concurrent is not None and (type(max_concurrent) is not int or max_concurrent < 1):
        raise InvalidArguments(f"{where}: max_concurrent={max_concurrent!r:.40} must be a whole number from 1")
    return Limit(max_concurrent, None if rate is None else _rate_of(rate, where))


def _rate_of(rate: object, where: str) -> Rate:
    if isinstance(rate, Rate):
        return rate
    found = _TEXT.fullmatch(rate.strip().lower()) if isinstance(rate, str) else None
    unit = _UNITS.get(found[3]) if found else None
    if found is None or unit is None or found[2] == ".":
        raise InvalidArguments(
            f"{where}: rate={rate!r:.40} is no rate; write '10/s', '100/min', '1000/h', '5/10s' or Rate(10, per=60.0)"
        )
    try:
        return Rate(int(found[1]), float(found[2] or 1) * unit)
    except InvalidArguments as error:
        raise InvalidArguments(f"{where}: rate={rate!r:.40}: {error}") from None
