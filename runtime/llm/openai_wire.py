"""The chat-completions wire format: requests as JSON, answers from bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from pawl.runtime.llm.openai_schema import response_format
from pawl.runtime.llm.port import LARGEST_ANSWER, ModelRequest, ToolSpec
from pawl.runtime.records.errors import MalformedModelAnswer, ModelError
from pawl.runtime.records.messages import Message, ModelAnswer, ToolCall, Usage

LARGEST: Final = 2 * LARGEST_ANSWER
"""Bytes of what a server sends at once: a whole reply, or one event of a stream. JSON may take two for one."""


def to_wire(request: ModelRequest, model: str) -> dict[str, Any]:
    """`request` as the JSON body of a chat completion."""
    body: dict[str, Any] = {"model": model, "messages": list(_messages(request))}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if request.output is not None:
        body["response_format"] = response_format(request.output)
    return body


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.instructions:
        yield {"role": "system", "content": request.instructions}
    for message in request.messages:
        yield _message(message)


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    if message.role == "assistant" and message.calls:
        return {
            "role": "assistant",
            "content": message.text or None,
            "tool_calls": [_call(call) for call in message.calls],
        }
    return {"role": message.role, "content": message.text}


def _call(call: ToolCall) -> dict[str, Any]:
    # A model may invent a name that the provider would refuse to read back; the call was answered as unknown.
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", call.name)[:64] or "_"
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": call.arguments}}


def from_wire(body: bytes, provider: str = "openai") -> ModelAnswer:
    """The answer that a 200 response with `body` holds.

    Raises MalformedModelAnswer when it holds none; ModelError when the model refused, was filtered or was cut off.
    """
    data = read_json(body, provider)
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        error = data.get("error")
        said = error.get("message") if isinstance(error, dict) else error
        malformed(provider, "it has no choices" + (f"; it says: {shorten(str(said))}" if said else ""))
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        malformed(provider, "its first choice has no message")
    model = data.get("model")
    return read_message(
        message, choice.get("finish_reason"), data.get("usage"), model if isinstance(model, str) else None, provider
    )


def read_message(message: dict[str, Any], finish: object, usage: object, model: str | None, who: str) -> ModelAnswer:
    """The answer that one whole message of the assistant is. `finish` is why it ended; raises as `from_wire`."""
    calls = message.get("tool_calls")
    _check_finish(finish, message, calls, who)
    text = message.get("content")
    if text is not None and not isinstance(text, str):
        malformed(who, f"content is {kind(text)}, not text")
    if message.get("function_call") is not None:
        malformed(who, "it uses the retired `function_call`; tools were offered as `tools`")
    if calls is not None and not isinstance(calls, list):
        malformed(who, f"tool_calls is {kind(calls)}, not a list")
    return ModelAnswer(
        text=text or "",
        calls=tuple(_read_call(call, place, who) for place, call in enumerate(calls or ())),
        usage=_read_usage(usage, who),
        model=model,
    )


def read_json(body: bytes, provider: str) -> dict[str, Any]:
    """`body` as a JSON object. Raises MalformedModelAnswer, which quotes how it starts."""
    try:
        data = json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        malformed(provider, f"it is not UTF-8 (byte {error.start})")
    except RecursionError:
        malformed(provider, "it is nested too deep")
    except ValueError as error:
        start = body[:60].decode("utf-8", "replace").strip()
        what = "it is a web page, not JSON; check base_url" if start.startswith("<") else f"it is not JSON ({error})"
        malformed(provider, f"{what}; it starts with {start!r}" if start else "it is empty")
    if not isinstance(data, dict):
        malformed(provider, f"it is {kind(data)}, not a JSON object")
    return data


def _check_finish(reason: object, message: dict[str, Any], calls: object, provider: str) -> None:
    if reason == "length":
        # Also of a tool call: half its arguments may well be arguments, and must not be acted on.
        where = " in the middle of a tool call" if calls else ""
        raise ModelError(
            f"{provider}: the answer was cut off at the token limit{where} (finish_reason 'length'); "
            "allow more output tokens or ask for less"
        )
    if reason == "content_filter":
        raise ModelError(f"{provider}: the answer was withheld by the content filter (finish_reason 'content_filter')")
    refusal = message.get("refusal")
    if refusal:
        raise ModelError(f"{provider}: the model refused: {shorten(str(refusal))}")


def _read_call(call: Any, place: int, provider: str) -> ToolCall:
    where = f"tool_calls[{place}]"
    if not isinstance(call, dict):
        malformed(provider, f"{where} is {kind(call)}, not an object")
    function = call.get("function")
    if not isinstance(function, dict):
        malformed(provider, f"{where} has no function (type {call.get('type')!r})")
    for name, value in (("id", call.get("id")), ("name", function.get("name"))):
        if not isinstance(value, str):
            malformed(provider, f"{where} has no {name}")
    if not function["name"]:
        malformed(provider, f"{where} has an empty name")
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        malformed(provider, f"{where}: the arguments are {kind(arguments)}, not JSON text")
    return ToolCall(call["id"], function["name"], arguments)


def _read_usage(usage: Any, provider: str) -> Usage:
    if usage is None:
        return Usage()
    if not isinstance(usage, dict):
        malformed(provider, f"usage is {kind(usage)}, not an object")
    return Usage(*(_count(usage, key, provider) for key in ("prompt_tokens", "completion_tokens")))


def _count(usage: dict[str, Any], key: str, provider: str) -> int:
    value = usage.get(key)
    if value is None:
        return 0
    if type(value) is not int or value < 0:
        malformed(provider, f"usage.{key} is {shorten(repr(value))}, not a count")
    return value


def shorten(text: str, limit: int = 300) -> str:
    """`text` on one line, cut to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def kind(value: object) -> str:
    """What JSON calls such a value, with its article."""
    names = {type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), "an object")


def malformed(provider: str, what: str) -> NoReturn:
    """Raise MalformedModelAnswer."""
    raise MalformedModelAnswer(f"{provider}: the answer could not be read: {what}")
