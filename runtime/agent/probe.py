"""What a tool's probe says about a call whose outcome was lost."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import attrs


@attrs.frozen
class Found:
    """The call did happen; `result` is what the tool returned, or would have."""

    result: Any = None


ProbeAnswer: TypeAlias = Found | Literal["absent", "unknown"]
"""`absent`: it did not happen, and will not any more; the call is run. `unknown`: a person is asked."""


def read_probe(answer: object) -> ProbeAnswer:
    """What a probe answered; anything that is not a ProbeAnswer is `unknown`."""
    if isinstance(answer, Found):
        return answer
    return "absent" if isinstance(answer, str) and answer == "absent" else "unknown"
