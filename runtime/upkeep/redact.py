"""What of an execution leaves in a dump: placeholders instead of texts, or everything but what is declared secret.

A placeholder has the length of its text and a tag, the same for the same text within one dump. Tags are keyed with
random bytes that are in no file: a short secret cannot be found by trying. Structure stays: roles, kinds, statuses,
names of tools, models and errors, ids of calls, counts and times.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

import attrs

from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.redaction import REDACTED, hidden, parts_of, pointer
from pawl.runtime.records.strict_json import decode_json
from pawl.runtime.records.tools import ToolRow

_TAG: Final = 12


class Redaction(Protocol):
    """How the parts of an execution are shown."""

    def text(self, text: str) -> str:
        """Free text: messages, results, reasons."""

    def number(self, value: float) -> Any:
        """A number that is not known to be a count or a time."""

    def name(self, kind: str, name: str) -> str:
        """An id that a caller chose."""

    def context(self, body: str) -> str:
        """A durable context, a JSON object."""

    def arguments(self, value: dict[str, Any]) -> dict[str, Any]:
        """Arguments of a call as people see them."""

    def raw(self, arguments: str) -> str:
        """Arguments of a call as the model wrote them."""

    def row(self, row: ToolRow) -> ToolRow:
        """A tool row, its error and message left to `text`."""


class Placeholders:
    """Every text is replaced."""

    def __init__(self, key: bytes, parameters: Collection[str] = ()) -> None:
        self._key, self._parameters = key, frozenset(parameters)

    def _tag(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:_TAG]

    def text(self, text: str) -> str:
        """`[12 characters, 8d5e957f2971]`; nothing stays nothing, and what was left out before stays left out."""
        return f"[{len(text)} characters, {self._tag(text)}]" if text not in ("", REDACTED) else text

    def number(self, value: float) -> Any:
        """`[number, 8d5e957f2971]`."""
        return f"[number, {self._tag(canonical(value))}]"

    def name(self, kind: str, name: str) -> str:
        """`agent-8d5e957f2971`."""
        return f"{kind}-{self._tag(name)}"

    def context(self, body: str) -> str:
        """An object with a placeholder in it."""
        return canonical({"redacted": self.text(body)})

    def arguments(self, value: dict[str, Any]) -> dict[str, Any]:
        """Names of parameters stay; names that a model made up, or that are below them, are replaced, and values."""
        return {self._parameter(name): self._value(item) for name, item in value.items()}

    def _parameter(self, name: str) -> str:
        return name if name in self._parameters else self.name("key", name)

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.name("key", name): self._value(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        return self.text(value) if isinstance(value, str) else self.number(value)

    def raw(self, arguments: str) -> str:
        """The same for JSON text; whatever else a model wrote is a text."""
        try:
            value = decode_json(arguments)
        except CodecError:
            return self.text(arguments)
        return canonical(self.arguments(value)) if isinstance(value, dict) else self.text(arguments)

    def row(self, row: ToolRow) -> ToolRow:
        """The same for a row."""
        real = row.arguments
        arguments = None if real is None else self.arguments(real)
        places = tuple(self._place(real or {}, place) for place in row.redacted)
        return replace(row, arguments=arguments, raw_arguments=self.raw(row.raw_arguments), redacted=places)

    def _place(self, value: Any, place: str) -> str:
        """The same place in what stands for `value`."""
        parts: list[str] = []
        for part in parts_of(place):
            named = isinstance(value, dict)
            parts.append((self.name("key", part) if parts else self._parameter(part)) if named else part)
            value = value.get(part) if named else _item(value, part)
        return pointer(parts)


def _item(value: Any, part: str) -> Any:
    """An item of a list; None where there is none."""
    return value[int(part)] if isinstance(value, list) and part.isdecimal() and int(part) < len(value) else None


class Declared:
    """Nothing is replaced but what tools declare secret. `shown`: arguments as written, as they may be shown."""

    def __init__(self, shown: Mapping[str, str]) -> None:
        self._shown = shown

    def text(self, text: str) -> str:
        """As it is."""
        return text

    def number(self, value: float) -> Any:
        """As it is."""
        return value

    def name(self, kind: str, name: str) -> str:  # noqa: ARG002
        """As it is."""
        return name

    def context(self, body: str) -> str:
        """As it is."""
        return body

    def arguments(self, value: dict[str, Any]) -> dict[str, Any]:
        """As they are: what people see was made without secrets."""
        return value

    def raw(self, arguments: str) -> str:
        """Without what is declared secret."""
        return self._shown.get(arguments, arguments)

    def row(self, row: ToolRow) -> ToolRow:
        """Without what is declared secret."""
        arguments = None if row.arguments is None else hidden(row.arguments, row.redacted)
        return replace(row, arguments=arguments, raw_arguments=self.raw(row.raw_arguments))


WORDS: Final = frozenset(
    {"llm_call_id", "status", "model", "calls", "id", "name", "tool_call_id", "tool", "request_id", "subject"}
    | {"outcome", "verdict", "type"}
)
"""Names in the meta of a journal record whose words stay: ids of calls, names of tools, models and errors, kinds."""

NUMBERS: Final = frozenset({"input", "output", "attempt", "seconds"})
"""Names whose numbers stay."""


def redacted_meta(redaction: Redaction, meta: dict[str, Any]) -> dict[str, Any]:
    """The meta of a journal record: what is not known to be structure is text."""
    return {name: _meta(redaction, name, value) for name, value in meta.items()}


def _meta(redaction: Redaction, name: str, value: Any) -> Any:
    if name == "edit" and isinstance(value, dict):
        return redaction.arguments(value)
    if isinstance(value, dict):
        return redacted_meta(redaction, value)
    if isinstance(value, list):
        return [_meta(redaction, name, item) for item in value]
    if isinstance(value, str) and name in ("arguments", "shown"):
        return redaction.raw(value)
    if isinstance(value, str) and name == "start_id":
        return redaction.name("start", value)
    if value is None or isinstance(value, bool) or name in (WORDS if isinstance(value, str) else NUMBERS):
        return value
    return redaction.text(value) if isinstance(value, str) else redaction.number(value)


def redacted_error(redaction: Redaction, error: Any) -> Any:
    """An error as data, its message as text."""
    return None if error is None else attrs.evolve(error, message=redaction.text(error.message))
