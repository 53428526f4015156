"""How help looks: the commands of `pawl --help` under the headings of their rooms, arguments by the names they have."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

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


class Plain(TyperCommand):
    """A command whose help calls each argument what its metavar says, without Python's name for its type."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in self.params:
            argument: Any = each
            if argument.param_type_name == "argument":
                name = argument.metavar or argument.name
                pieces = [(name if argument.required else f"[{name}]") + "..." * (argument.nargs != 1)]
                argument.get_usage_pieces = lambda ctx, pieces=pieces: pieces  # noqa: ARG005
                if argument.metavar is not None:  # else it says what it can be
                    argument.display_type_rich = lambda ctx: ""  # noqa: ARG005


def under(heading: str, app: typer.Typer, commands: int, groups: int) -> None:
    """Put what `app` has been given since it had so many `commands` and `groups` under a heading."""
    added = list(app.registered_commands[commands:])
    for command in added:
        command.rich_help_panel = heading
    for group in app.registered_groups[groups:]:
        group.rich_help_panel = heading
        added += group.typer_instance.registered_commands if group.typer_instance is not None else ()
    for command in added:
        command.cls = Plain
