"""The definitions that a runtime has code for, and the providers that their models are asked through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pawl.runtime.agent.definition import Agent
from pawl.runtime.llm.port import Provider, resolve_provider
from pawl.runtime.records.errors import InvalidArguments, ModelError
from pawl.runtime.records.rests import T


def by_name(agents: Iterable[Agent[Any]]) -> dict[str, Agent[Any]]:
    """The `agents` of a Runtime. Raises InvalidArguments for what is none, and for two of one name."""
    if not isinstance(agents, Iterable) or isinstance(agents, str):
        raise InvalidArguments(f"agents={agents!r:.60} must be a list of Agent")
    named: dict[str, Agent[Any]] = {}
    for agent in agents:
        if not isinstance(agent, Agent):
            raise InvalidArguments(f"agents={agent!r:.60} must be a list of Agent")
        if agent.name in named:
            raise InvalidArguments(f"two agents are named {agent.name!r}; a runtime knows one definition a name")
        named[agent.name] = agent
    return named


def known(definitions: Mapping[str, Agent[Any]], agent: Agent[T]) -> Agent[T]:
    """The definition of that name that a runtime has. Raises InvalidArguments where there is none."""
    if not isinstance(agent, Agent):
        raise InvalidArguments(f"{agent!r:.60} is no Agent; give the definition itself")
    found = definitions.get(agent.name)
    if found is None:
        raise InvalidArguments(f"{agent!r} is not one of this runtime's agents; add it to Runtime(agents=[…])")
    return found


class Providers:
    """Makes a provider for each definition that names its model, once; those it made are its to close."""

    def __init__(self) -> None:
        self._made: dict[str, Provider] = {}

    def make(self, agents: Iterable[Agent[Any]]) -> None:
        """Make them all now, before anything is recorded that would need one. Slow: it may import an SDK.

        Raises ModelError, InvalidArguments where one cannot be made, and names its definition.
        """
        for agent in agents:
            try:
                self.of(agent)
            except ModelError as error:
                raise ModelError(f"agent {agent.name}: {error}") from error

    def of(self, agent: Agent[Any]) -> Provider:
        """The provider of a definition. Raises ModelError, InvalidArguments where none can be made."""
        if not isinstance(agent.model, str):
            return agent.model
        if agent.name not in self._made:
            self._made[agent.name] = resolve_provider(agent.model)[0]
        return self._made[agent.name]

    async def aclose(self) -> None:
        """Close those that were made here."""
        for provider in self._made.values():
            await provider.aclose()
