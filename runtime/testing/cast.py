"""Agents made ready for a test: a script in the place of the model, stand-ins in the place of tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from pawl.runtime.agent.asynchronous import is_async
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import Tool
from pawl.runtime.llm.port import Provider
from pawl.runtime.llm.scripted import Answer, scripted
from pawl.runtime.records.errors import InvalidArguments

Script: TypeAlias = Iterable[Answer] | Provider
"""What a model says in a test: a list of answers as `pawl.scripted` takes it, or a provider object."""

Models: TypeAlias = Script | Mapping[str, Script] | None
Tools: TypeAlias = Mapping[str, Callable[..., Any]]


class Cast:
    """Takes the agents of a program, gives the same for a test. The same script serves every process of a world."""

    def __init__(self, model: Models, tools: Tools) -> None:
        self._tools = dict(tools)
        by_name = dict(model) if isinstance(model, Mapping) else {}
        self._by_name = {name: _provider(script) for name, script in by_name.items()}
        self._shared = _provider(model) if model is not None and not isinstance(model, Mapping) else None

    def ready(self, agents: Iterable[Agent[Any]]) -> tuple[Agent[Any], ...]:
        """Raises InvalidArguments for a model that would be asked over the network, and for names that nobody has."""
        cast = tuple(agents)
        names = [agent.name for agent in cast]
        _known("model", self._by_name, names)
        _known("tools", self._tools, [tool.name for agent in cast for tool in agent.tools])
        return tuple(self._agent(agent) for agent in cast)

    def _agent(self, agent: Agent[Any]) -> Agent[Any]:
        model = self._by_name.get(agent.name, self._shared or agent.model)
        if isinstance(model, str):
            raise InvalidArguments(
                f"agent {agent.name} asks {model!r}, and a test asks nobody: say what it answers, with model=[…]"
            )
        return attrs.evolve(agent, model=model, tools=tuple(self._stand_in(tool) for tool in agent.tools))

    def _stand_in(self, tool: Tool[..., Any]) -> Tool[..., Any]:
        function = self._tools.get(tool.name)
        if function is None:
            return tool
        return attrs.evolve(tool, function=function, is_async=is_async(function))


def _provider(script: Script) -> Provider:
    if isinstance(script, Iterable):
        return scripted(script)
    return script


def _known(what: str, given: Iterable[str], names: Iterable[str]) -> None:
    known = list(names)
    for name in given:
        if name not in known:
            raise InvalidArguments(f"{what}= names {name!r}, and there are only: {', '.join(known) or 'none'}")
