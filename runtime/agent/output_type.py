"""The output type of an agent: the schema that its model is told, and the value that an answer becomes."""

from __future__ import annotations

import re
from typing import Any, Final

import attrs

from pawl.runtime.agent.arguments import parse_json
from pawl.runtime.agent.bounds import Bounds
from pawl.runtime.agent.mismatch import Mismatch, calling
from pawl.runtime.agent.reading import one_reading
from pawl.runtime.agent.schema import Scope, schema_of, shape_of
from pawl.runtime.agent.shapes import Shape
from pawl.runtime.llm.port import OutputSchema
from pawl.runtime.records.errors import InvalidArguments, InvalidOutput

_FENCED: Final = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_WRAPPER: Final = "value"
_MOST: Final = Bounds(bytes=8 << 20, values=100_000)
"""Of an answer. It is read off the loop, and is not read again by anything on it."""


@attrs.frozen
class OutputType:
    """How an answer's text becomes a value of the type `hint`; `shape` is None for plain text.

    Providers want an object at the root of a schema, so that a type whose JSON is none (a list, a number, a union) is
    asked for as the member `value` of one.
    """

    hint: Any
    shape: Shape | None = None
    schema: OutputSchema | None = None

    def read(self, text: str) -> Any:
        """The value that `text` means. Raises InvalidOutput, in words that tell a model what to correct."""
        if self.shape is None:
            return text
        try:
            with calling("the answer"), one_reading():
                return self._value(self.shape, parse_json(_unfenced(text), "the contents of the answer", _MOST))
        except Mismatch as mismatch:
            raise InvalidOutput(mismatch.said()) from None
        except (InvalidOutput, MemoryError):
            raise
        except Exception as error:  # the type's own constructor, which the schema knows nothing of
            raise InvalidOutput(f"{type(error).__name__}: {error}"[:1000]) from None

    def _value(self, shape: Shape, data: Any) -> Any:
        if self.schema is not None and _is_wrapped(shape):
            if not isinstance(data, dict) or data.keys() != {_WRAPPER}:
                raise Mismatch(f'the answer must be a JSON object with the one member "{_WRAPPER}"')
            return shape.read(data[_WRAPPER], _WRAPPER)[1]
        if not isinstance(data, dict):
            raise Mismatch("the answer must be a JSON object")
        return shape.read(data, "")[1]


def output_type_of(hint: Any, agent: str) -> OutputType:
    """The output type that `hint` means. Raises InvalidArguments for one that JSON cannot give."""
    if hint is str:
        return OutputType(str)
    if hint is None:
        raise InvalidArguments(f"{agent}: output_type=None; leave it out for plain text")
    shape = shape_of(hint, Scope(f"{agent}: output_type"))
    schema = schema_of(shape)
    if _is_wrapped(shape):
        definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        schema = {
            "type": "object",
            "properties": {_WRAPPER: schema},
            "required": [_WRAPPER],
            "additionalProperties": False,
            **definitions,
        }
    return OutputType(hint, shape, OutputSchema(_name(hint), schema))


def _is_wrapped(shape: Shape) -> bool:
    return shape.schema().get("type") != "object"


def _name(hint: Any) -> str:
    name = _NO_NAME.sub("_", getattr(hint, "__name__", "") or str(hint)).strip("_")[:64]
    return name or "output"


def _unfenced(text: str) -> str:
    """Models like to put JSON into a Markdown block, whatever they were told: its inside is the answer."""
    fenced = _FENCED.fullmatch(text.strip())
    return fenced.group(1) if fenced is not None else text
