"""The user's code: agents found in a module that is named on the command line."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs

from pawl.runtime.agent.definition import Agent
from pawl.runtime.records.executions import ExecutionRecord
from pawl.tools.cli.output import Misuse

OPTIONS: Final = "runtime_options"
"""What a module calls the keyword arguments of the Runtime that its agents want."""


@attrs.frozen
class Code:
    """What was named, and the agents found there, by the name of the attribute.

    `options` is what the module has under the name `runtime_options`, None where it has nothing.
    """

    given: str
    agents: dict[str, Agent[Any]]
    options: object = None

    @property
    def module(self) -> str:
        """The name of the module."""
        return self.given.partition(":")[0]

    def all(self) -> list[Agent[Any]]:
        """The agents, each once."""
        return list(dict.fromkeys(self.agents.values()))

    def has(self, record: ExecutionRecord) -> None:
        """Raises Misuse when the definition of an execution is not among them: nothing could go on with it here."""
        if record.definition not in {agent.name for agent in self.all()}:
            names = ", ".join(agent.name for agent in self.all())
            raise Misuse(
                f"execution {record.execution_id} is of the agent '{record.definition}', which {self.given} has not "
                f"(it has {names}); name its module, or leave --app away to record the answer only"
            )

    def one(self) -> Agent[Any]:
        """The agent, where it is clear which. Raises Misuse when there are several."""
        found = self.all()
        if len(found) == 1:
            return found[0]
        names = ", ".join(f"{self.module}:{name}" for name in self.agents)
        raise Misuse(f"{self.given} has {len(found)} agents; say which: {names}")


def load(given: str) -> Code:
    """Import `MODULE[:ATTR]`, with the current folder first, and find its agents: `ATTR` is one, or a list of some.

    Raises Misuse, naming what is missing or wrong.
    """
    name, colon, attribute = given.partition(":")
    if name.endswith(".py"):
        raise Misuse(f"'{given}' is a file; a module is named without .py and with dots: {_as_module(name)}")
    if not name or (colon and not attribute) or not all(part.isidentifier() for part in name.split(".")):
        raise Misuse(f"'{given}' names no module; write MODULE or MODULE:ATTR, such as my_app:support")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    module = _import(name)
    options = getattr(module, OPTIONS, None)
    if attribute:
        return Code(given, _named(module, given, attribute), options)
    found = {key: value for key, value in vars(module).items() if isinstance(value, Agent) and not key.startswith("_")}
    if not found:
        raise Misuse(f"module {name} has no Agent; define one there, or name what has: MODULE:ATTR")
    return Code(given, found, options)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise Misuse(f"there is no module '{error.name}' in {Path.cwd()} or on the Python path") from None
        raise broken(f"importing {name}", error) from error
    except (Exception, SystemExit) as error:
        raise broken(f"importing {name}", error) from error


def broken(what: str, error: BaseException) -> Misuse:
    """What went wrong in the user's own code, and where in it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    theirs = [frame for frame in frames if frame.filename.startswith(str(Path.cwd()))]
    place = "".join(f" at {frame.filename}:{frame.lineno}" for frame in (theirs or frames)[-1:])
    if isinstance(error, SyntaxError) and error.filename is not None:
        place = f" at {error.filename}:{error.lineno}"
        error = SyntaxError(error.msg)
    said = " ".join(str(error).split())
    return Misuse(
        f"{what} failed{place}: {type(error).__name__}{f': {said}' if said else ''} "
        "(`pawl --debug …` shows the traceback)"
    )


def _named(module: ModuleType, given: str, attribute: str) -> dict[str, Agent[Any]]:
    value: object = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise Misuse(f"module {module.__name__} has no '{attribute}'{_instead(module)}")
        value = getattr(value, part)
    if isinstance(value, Agent):
        return {attribute: value}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        several = list(value)
        if several and all(isinstance(one, Agent) for one in several):
            return {one.name: one for one in several}
    raise Misuse(f"{given} is a {type(value).__name__}, and no Agent or list of them{_instead(module)}")


def _instead(module: ModuleType) -> str:
    found = [key for key, value in vars(module).items() if isinstance(value, Agent)]
    return f"; its agents: {', '.join(found)}" if found else "; it has no Agent"


def _as_module(name: str) -> str:
    path = Path(name).with_suffix("")
    return ".".join(part for part in path.parts if part not in ("/", "..", "."))
