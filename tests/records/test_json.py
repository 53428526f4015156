"""JSON text: canonical on the way out, strict on the way in."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from pawl.runtime.records import canonical as module
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.strict_json import decode_json, encode_json

VALUES: list[Any] = [
    None, True, 3, 1e100, -0.5, "", 'ä "quoted"\n\u2028', [], {}, [[]], {"b": 1, "a": {"z": [1, None], "y": "x"}},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_the_encoder_that_is_made_once_writes_what_one_made_anew_writes(value: Any) -> None:
    anew = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    assert canonical(value) == anew.encode(value)
    assert decode_json(canonical(value)) == value


def test_an_interpreter_without_the_encoder_in_c_writes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    encode = module._encoder()
    for value in VALUES:
        assert encode(value) == canonical(value)


@pytest.mark.parametrize(
    ("value", "error"),
    [(float("nan"), ValueError), (float("inf"), ValueError), ({1, 2}, TypeError), ([{"a": object()}], TypeError)],
)
def test_what_is_no_json_has_no_canonical_text(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        canonical(value)
    assert canonical([1]) == "[1]"  # the encoder has kept nothing of it


def test_a_value_that_holds_itself_is_nested_too_deep() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(RecursionError):
        canonical(value)
    with pytest.raises(CodecError, match="nested deeper than"):
        encode_json(value)


def test_threads_share_the_encoder() -> None:
    value = {"same": ["object", {"in": "two threads"}] * 50}
    written: set[str] = set()

    def encode() -> None:
        written.update(canonical(value) for _ in range(200))

    expected = canonical(value)
    threads = [threading.Thread(target=encode) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written == {expected}


@pytest.mark.parametrize("text", [' {"a": 1}', '{"a": 1} \n', "\t[]", " 1 "])
def test_white_space_around_a_value_is_read_over(text: str) -> None:
    assert decode_json(text) == json.loads(text)


@pytest.mark.parametrize(
    "text", ["", " ", "{", '{"a": 1} {}', "[1] x", "1 2", "nul", '{"a": 1, "a": 2}', "NaN", "1e999"]
)
def test_what_is_more_or_less_than_one_value_is_refused(text: str) -> None:
    with pytest.raises(CodecError, match="json: not JSON: "):
        decode_json(text)
