"""The commands of `pawl --help`, under the headings of their rooms."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperGroup

HEADINGS: Final = ("Machines", "Runs", "Store", "Development")
"""In the order of the help."""


class Grouped(TyperGroup):
    """A group of commands that lists each under the panel it was given."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a list of commands, with its heading, for each of the headings that has some."""
        listed: dict[str, list[tuple[str, Any]]] = {heading: [] for heading in HEADINGS}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                listed.setdefault(str(getattr(command, "rich_help_panel", "")), []).append((name, command))
        width = max((len(name) for rows in listed.values() for name, _ in rows), default=0)
        for heading, commands in listed.items():
            if commands:
                rows = [(name.ljust(width), one.get_short_help_str(formatter.width)) for name, one in commands]
                with formatter.section(heading):
                    formatter.write_dl(rows)


def under(heading: str, app: typer.Typer, commands: int, groups: int) -> None:
    """Put what `app` has been given since it had so many `commands` and `groups` under a heading."""
    for command in app.registered_commands[commands:]:
        command.rich_help_panel = heading
    for group in app.registered_groups[groups:]:
        group.rich_help_panel = heading
