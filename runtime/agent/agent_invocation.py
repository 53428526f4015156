"""The context of the `agent_invocation` machine: every guard and action of its spec, over one frozen value."""

from __future__ import annotations

from pawl.runtime.agent.expiry import Expiry
from pawl.runtime.agent.limits import Limited
from pawl.runtime.agent.output_steps import OutputSteps
from pawl.runtime.agent.recovery import Recovery
from pawl.runtime.agent.retrying import Retrying
from pawl.runtime.agent.stops import Stops


class AgentInvocation(Recovery, Stops, Expiry, Retrying, Limited, OutputSteps):
    """One run as its machine sees it: `Facts`, and what each of its parts may do with them."""
