"""How a `model=` is understood."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pawl.runtime.llm.port import ModelRequest, check_model, resolve_provider
from pawl.runtime.llm.scripted import scripted
from pawl.runtime.records.errors import InvalidArguments, ModelError
from pawl.runtime.records.messages import ModelAnswer


class Custom:
    name = "custom"

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        return ModelAnswer(request.model)

    async def aclose(self) -> None: ...


def test_text_names_provider_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    provider, model = resolve_provider("openai:ft:gpt-5:acme")
    assert (provider.name, model) == ("openai", "ft:gpt-5:acme")


def test_an_object_is_taken_as_it_is() -> None:
    custom = Custom()
    assert resolve_provider(custom) == (custom, "custom")


def test_an_object_may_name_its_model() -> None:
    provider = scripted(["hi"])
    assert resolve_provider(provider) == (provider, "scripted")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("opnai:gpt-5", "did you mean 'openai:gpt-5'?"),
        ("OpenAI:gpt-5", "did you mean 'openai:gpt-5'?"),
        ("gpt-5", "did you mean 'openai:gpt-5'?"),
        ("llama", "does not say its provider; write 'openai:NAME'"),
        ("bedrock:x", "known are 'openai:NAME', or give a provider object"),
        ("openai:", "no proper name after the colon"),
        ("openai: gpt-5", "no proper name after the colon"),
        ("", "does not say its provider"),
        (None, "model=a NoneType is not a model (it has no complete, aclose, name)"),
        (Custom, "model=the class Custom is not a model"),
    ],
)
def test_what_is_no_model_is_an_error_that_helps(spec: object, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        check_model(spec)
    assert says in str(caught.value)


def test_a_missing_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "pawl.runtime.llm.openai", raising=False)
    with pytest.raises(ModelError, match=r"pip install 'pawl-fsm\[openai\]'"):
        resolve_provider("openai:gpt-5")


def test_the_port_does_not_import_the_sdk() -> None:
    code = "import sys, pawl.runtime.llm.port, pawl.runtime.llm.scripted; sys.exit('openai' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ".src"}, cwd=ROOT)


ROOT = __file__.rpartition("/tests/")[0]
