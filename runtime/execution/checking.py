"""Checking an answer against the output type, off the loop: the type's own constructors are application code."""

from __future__ import annotations

from typing import Any

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.facts import error_info
from pawl.runtime.agent.payloads import FilteredText, InvalidOutput, WorkFailed
from pawl.runtime.execution.work import Post
from pawl.runtime.loop.environment import Environment
from pawl.runtime.records import errors


def check_output(environment: Environment, agent: Agent[Any], text: str, post: Post) -> None:
    """Read `text` as the agent's output type on the pool: `output_filtered`, or `output_invalid` and why."""

    def checked(_: object, error: BaseException | None) -> None:
        if error is None:
            post("output_filtered", FilteredText(text), None, None)
        elif isinstance(error, errors.InvalidOutput):
            post("output_invalid", InvalidOutput(str(error)), None, None)
        else:
            post("output_filter_failed", WorkFailed(error_info(error)), None, None)

    environment.offload(lambda: agent.output.read(text), checked)
