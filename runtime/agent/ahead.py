"""Arguments that are read before the loop comes to them: large ones take a thread's time instead of everybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from pawl.runtime.records.errors import InvalidArguments

if TYPE_CHECKING:
    from pawl.runtime.agent.arguments import Parameters
    from pawl.runtime.agent.definition import Agent
    from pawl.runtime.records.messages import ModelAnswer

_SMALL: Final = 8_192
"""Characters of arguments that are read on the loop: in some milliseconds."""

_FEW: Final = 500
"""Values that are made, or written, on the loop."""


class ReadText(str):
    """What a model wrote, with what some tool's parameters make of it; the same text in every other respect."""

    __slots__ = ("_made", "_parameters")
    _made: dict[str, Any] | str
    _parameters: Parameters

    def __new__(cls, text: str, parameters: Parameters) -> ReadText:
        """Read it."""
        self = str.__new__(cls, text)
        self._parameters = parameters
        try:
            self._made = parameters.validate(text)
        except InvalidArguments as error:
            self._made = str(error)
        return self

    def made(self, parameters: Parameters) -> dict[str, Any] | None:
        """The arguments, if these are the parameters that they were read for. Raises InvalidArguments."""
        if self._parameters is not parameters:
            return None
        if isinstance(self._made, str):
            raise InvalidArguments(self._made)
        return self._made

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def is_much(answer: ModelAnswer) -> bool:
    """Whether the calls of an answer are better read elsewhere."""
    return sum(len(call.arguments) for call in answer.calls) > _SMALL


def read_ahead(agent: Agent[Any], answer: ModelAnswer) -> ModelAnswer:
    """The same answer, the arguments of its calls read. On any thread."""
    calls = []
    for call in answer.calls:
        tool = agent.tool(call.name)
        read = call if tool is None else attrs.evolve(call, arguments=ReadText(call.arguments, tool.parameters))
        calls.append(read)
    return attrs.evolve(answer, calls=tuple(calls))


def is_large(value: object) -> bool:
    """Whether JSON data, or what becomes JSON data, has more values than are dealt with on the loop."""
    left, seen = [value], 0
    while left:
        seen += 1
        if seen > _FEW:
            return True
        one = left.pop()
        if isinstance(one, dict):
            inside: Any = one.values()
        elif isinstance(one, list | tuple | set | frozenset):
            inside = one
        else:
            inside = [getattr(one, name, None) for name in _fields(type(one))]
        if len(inside) > _FEW:
            return True
        left.extend(inside)
    return False


def _fields(kind: type) -> list[str]:
    if attrs.has(kind):
        return [field.name for field in attrs.fields(kind)]
    return list(getattr(kind, "__dataclass_fields__", ()))
