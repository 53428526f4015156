"""Telling a model in words what its answer must be, where its provider cannot make it keep to a schema."""

from __future__ import annotations

import json

import attrs

from pawl.runtime.llm.port import ModelRequest, Provider

_WORDS = """Give your final answer as JSON, with nothing before or after it. It must fit this JSON schema:
"""


def told(request: ModelRequest, provider: Provider) -> ModelRequest:
    """`request` as `provider` can take it: the schema of the output in the instructions, unless it goes beside them."""
    if request.output is None or getattr(provider, "supports_output_schema", False):
        return request
    words = _WORDS + json.dumps(request.output.schema, ensure_ascii=False, separators=(", ", ": "))
    instructions = f"{request.instructions}\n\n{words}" if request.instructions else words
    return attrs.evolve(request, instructions=instructions)
