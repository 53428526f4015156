"""The scripted model of a scenario: its answers belong to a logical agent and the number of the recorded answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import ModelError
from pawl.runtime.records.messages import ModelAnswer, ToolCall, Usage
from pawl.runtime.simulation.scenario import Answer

_WORD: Final = re.compile(r"\S+\s*|\s+")


class Script:
    """All answers of a scenario, and who has been given which. One for all processes.

    A logical agent that has a key of its own is given answers from there; the others share their definition's, in
    order of first dispatch.
    """

    def __init__(self, answers: Mapping[str, tuple[Answer, ...]]) -> None:
        self._left = {key: list(given) for key, given in answers.items()}
        self._given: dict[tuple[str, int], Answer] = {}
        self.missing: dict[str, int] = {}
        """The number of the first answer that was asked for and is not there, by logical agent."""

    def next(self, definition: str, request: ModelRequest) -> Answer:
        """The answer to this attempt: the same again for the same answer's number, unless it was a failure, which is
        an answer of its own attempt. Raises ModelError when none is left.
        """
        owed = (request.agent_id, request.sequence)
        given = self._given.get(owed)
        if given is not None and not given.fails:
            return given
        left = self._left.get(request.agent_id if request.agent_id in self._left else definition, [])
        if left:
            given = self._given[owed] = left.pop(0)
        elif given is None or not given.hang:
            self.missing.setdefault(request.agent_id, request.sequence)
            raise ModelError(f"the scenario has no answer number {request.sequence} for {request.agent_id}; add one")
        return given

    @property
    def left_over(self) -> dict[str, int]:
        """How many answers nobody was given, by key."""
        return {key: len(left) for key, left in self._left.items() if left}


class ScriptedModel:
    """The provider of one definition."""

    name = "scenario"
    model = "scenario"

    def __init__(self, definition: str, script: Script) -> None:
        self._definition, self._script = definition, script

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Give the answer, in its time. Raises ModelError as scripted, or when no answer is left."""
        answer = self._script.next(self._definition, request)
        if answer.takes:
            await asyncio.sleep(answer.takes)
        return await said(answer)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelAnswer]:
        """Give the same in its `chunks`, evenly in its time; word by word without them."""
        answer = self._script.next(self._definition, request)
        pieces = answer.chunks or tuple(_WORD.findall(answer.text or ""))
        if answer.fails or not pieces:
            await asyncio.sleep(answer.takes)
            pieces = ()
        for piece in pieces:
            await asyncio.sleep(answer.takes / len(pieces))
            yield piece
        yield await said(answer)

    async def aclose(self) -> None:
        """Do nothing."""


async def said(answer: Answer) -> ModelAnswer:
    """The answer as a provider gives it. Raises ModelError for a failure; never returns for one that hangs."""
    if answer.hang:
        await asyncio.get_running_loop().create_future()
    if answer.error is not None:
        raise ModelError(f"the model's provider says: {answer.error}", retry_safe=answer.error != "invalid_request")
    if answer.malformed:
        garbage: Any = {"malformed": True}
        return garbage  # type: ignore[no-any-return]  # on purpose: the runtime checks every provider's answer
    made = tuple(ToolCall(call.id, call.tool, spoken(call.args)) for call in answer.calls)
    return ModelAnswer(answer.text or "", made, Usage(answer.usage.input, answer.usage.output))


def spoken(arguments: Any) -> str:
    """Arguments as a model writes them: text is sent as it stands, which may be no JSON."""
    return arguments if isinstance(arguments, str) else canonical(arguments)
