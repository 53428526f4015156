"""The port that every model provider implements."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final, Protocol

import attrs

from pawl.runtime.records.errors import InvalidArguments, ModelError
from pawl.runtime.records.messages import Message, ModelAnswer

MOST_CALLS: Final = 256
"""Calls of one answer, twice what providers give. Judging a batch takes time with the square of it, on the loop: a
fraction of a second for so many.
"""

LARGEST_ANSWER: Final = 8 << 20
"""UTF-8 bytes of one answer, its text and its calls together."""


@attrs.frozen
class ToolSpec:
    """What a model is told about one tool; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


@attrs.frozen
class OutputSchema:
    """What the final text must be: JSON that fits `schema`. `name` is for the provider, such as the type's name."""

    name: str
    schema: dict[str, Any]


@attrs.frozen(slots=False)
class ModelRequest:
    """One model call.

    `call_id` names this attempt. `sequence` is the 1-based number of the answer that this call is to become, counted
    over the life of the logical agent `agent_id`: a call that is dispatched again, after a failure or in another
    process, has the same one. `messages` may be a lazy sequence; it is never mutated, neither here nor there.
    `output`, where given, is for providers that `supports_output_schema`; others are told in the instructions.
    """

    call_id: str
    agent_id: str
    execution_id: str
    sequence: int
    model: str
    instructions: str
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    output: OutputSchema | None = None


class Provider(Protocol):
    """A model provider. One object serves many calls at once, all on one event loop.

    Two more things are looked for, and may be missing: `stream(request)`, as in StreamingProvider, and an attribute
    `supports_output_schema`: true when the provider makes the model keep to `request.output`. Where it is not, the
    runtime puts the schema into the instructions.
    """

    @property
    def name(self) -> str:
        """A short name for traces and errors, such as `openai`."""
        ...

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Answer `request`. Cancelling the task abandons the call, and its connection with it.

        Raises ModelError, whose `retry_safe` is true only if nothing was done; MalformedModelAnswer.
        """
        ...

    async def aclose(self) -> None:
        """Close connections; calling it again does nothing."""
        ...


class StreamingProvider(Provider, Protocol):
    """A provider that can give an answer in pieces."""

    def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelAnswer]:
        """Answer `request` piece by piece: text as it is written, at last the whole ModelAnswer, nothing after it.

        The pieces together are the answer's text; calls and usage come with the answer alone. Closing the iterator
        (`aclose`), or cancelling the task that reads it, abandons the call, and its connection with it. Raises as
        `complete` does, also in the middle; `retry_safe` then says that no piece was given either.
        """
        ...


def supports_output_schema(provider: Provider) -> bool:
    """Whether `request.output` may be left to `provider`."""
    return getattr(provider, "supports_output_schema", False) is True


def _openai(model: str) -> Provider:
    try:
        from pawl.runtime.llm.openai import OpenAIProvider  # noqa: PLC0415 - the SDK is optional, and slow to import
    except ModuleNotFoundError as error:
        if error.name != "openai":
            raise
        raise ModelError(
            f"the model 'openai:{model}' needs the OpenAI SDK, which is not installed; "
            "run: pip install 'pawl-fsm[openai]'"
        ) from None
    return OpenAIProvider(model)


_PREFIXES: Final[dict[str, Callable[[str], Provider]]] = {"openai": _openai}


def check_model(spec: object) -> None:
    """Check a `model=` without making or importing anything. Raises InvalidArguments."""
    if isinstance(spec, str):
        _split(spec)
        return
    missing = [part for part in ("complete", "aclose") if not callable(getattr(spec, part, None))]
    if not isinstance(getattr(spec, "name", None), str):
        missing.append("name")
    if missing or isinstance(spec, type):
        what = f"the class {spec.__name__}" if isinstance(spec, type) else f"a {type(spec).__name__}"
        lacks = f" (it has no {', '.join(missing)})" if missing and not isinstance(spec, type) else ""
        raise InvalidArguments(
            f"model={what} is not a model{lacks}; give 'openai:NAME', scripted([...]) or an object with "
            "`name`, `async complete(request)` and `async aclose()`"
        )


def resolve_provider(spec: str | Provider) -> tuple[Provider, str]:
    """The provider that `spec` means, with the name of the model to ask it for.

    `spec` is `"openai:NAME"` or a provider object. Text makes a new provider, which the caller closes; an object is
    returned as it is, and the model is its attribute `model` if it has one, else its `name`.

    Raises InvalidArguments for what is no model; ModelError when the SDK is missing or lacks its key.
    """
    check_model(spec)
    if isinstance(spec, str):
        prefix, model = _split(spec)
        return _PREFIXES[prefix](model), model
    own = getattr(spec, "model", None)
    return spec, own if isinstance(own, str) and own else spec.name


def _split(spec: str) -> tuple[str, str]:
    """Take `"openai:gpt-5"` apart."""
    prefix, colon, model = spec.partition(":")
    known = ", ".join(f"'{name}:NAME'" for name in _PREFIXES)
    if not colon:
        hint = f"; did you mean 'openai:{spec}'?" if spec.startswith(("gpt-", "o1", "o3", "o4")) else ""
        raise InvalidArguments(f"the model {spec!r} does not say its provider{hint or f'; write {known}'}")
    if prefix not in _PREFIXES:
        close = difflib.get_close_matches(prefix.lower(), _PREFIXES, n=1)
        hint = f"did you mean '{close[0]}:{model}'?" if close else f"known are {known}, or give a provider object"
        raise InvalidArguments(f"no model provider {prefix!r} in {spec!r}; {hint}")
    if not model.strip() or model != model.strip():
        raise InvalidArguments(f"the model {spec!r} has no proper name after the colon; write {known}")
    return prefix, model
