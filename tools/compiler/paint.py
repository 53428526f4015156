"""What an overlay says about every row and state of a picture, and in which colours: coverage, or a difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from pawl.tools.compiler.model import RowModel
from pawl.tools.compiler.picture import Line, Tone


@attrs.frozen
class Brush:
    """How one tone is drawn: `ink` for lines and words, `paper` for states, `sign` before each line of a label.

    The sign is there for people and printers that see no colours; `label` is what the legend says.
    """

    ink: str
    paper: str
    label: str
    sign: str = ""


def _nothing(_: Sequence[RowModel]) -> str:
    return ""


@attrs.frozen
class Paint:
    """An overlay of a whole machine, all in terms of tones, each with its brush.

    `tone` of a row, `states` by name as the picture shows them (others keep `plain`), `mixed` for an arrow whose rows
    differ. `count` is put behind a line, `inside` into a state for the rows hidden in its barrier, as are the lines
    that `said` has for it; `width` is an arrow's in points.
    """

    title: str
    brushes: Mapping[str, Brush]
    tone: Tone
    states: Mapping[str, str]
    plain: str
    mixed: str
    count: Callable[[Sequence[RowModel]], str] = _nothing
    inside: Callable[[Sequence[RowModel]], str] = _nothing
    width: Callable[[Sequence[RowModel]], float] = lambda _: 1.4
    said: Mapping[str, Sequence[str]] = attrs.field(factory=dict)

    def of_state(self, name: str) -> Brush:
        """How a state is drawn."""
        return self.brushes[self.states.get(name, self.plain)]

    def of_lines(self, lines: Sequence[Line]) -> Brush:
        """How an arrow is drawn."""
        tones = {line.tone for line in lines}
        return self.brushes[tones.pop() if len(tones) == 1 else self.mixed]

    def text(self, line: Line) -> str:
        """A line of a label, with its sign and count."""
        return " ".join(filter(None, (self.brushes[line.tone].sign, line.text, self.count(line.rows))))

    def hidden(self, rows: Sequence[RowModel]) -> tuple[str, Brush] | None:
        """What is said of the rows inside a barrier, and how; None for nothing."""
        text = self.inside(rows) if rows else ""
        tones = {self.tone(row) for row in rows}
        return (text, self.brushes[tones.pop() if len(tones) == 1 else self.mixed]) if text else None
