"""The definition of an agent: what it is told, which model it asks, what it may do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, get_args

import attrs
from typing_extensions import TypeVar

from pawl.runtime.agent.callbacks import Callbacks, callbacks
from pawl.runtime.agent.context_policy import SelectsContext
from pawl.runtime.agent.filters import Filter
from pawl.runtime.agent.hooks import Hook
from pawl.runtime.agent.knowledge import Knowledge, Told
from pawl.runtime.agent.output_type import OutputType, output_type_of
from pawl.runtime.agent.retries import Retries
from pawl.runtime.agent.settings import check_settings
from pawl.runtime.agent.tool import NAME, Tool, as_tool, limited
from pawl.runtime.agent.usage import UsageLimits
from pawl.runtime.llm.port import Provider, ToolSpec, check_model
from pawl.runtime.records.errors import InvalidArguments

if TYPE_CHECKING:
    from typing_extensions import TypeForm  # only later versions than the required one have it when it runs

T_co = TypeVar("T_co", covariant=True, default=str)
OnRejection = Literal["end", "continue"]
ModelRecovery = Literal["replay", "ask"]


def _tools(tools: Iterable[Tool[..., Any] | Callable[..., Any]]) -> tuple[Tool[..., Any], ...]:
    if not isinstance(tools, Iterable) or isinstance(tools, str):
        raise InvalidArguments(f"tools={tools!r:.60} must be a list of tools or functions")
    return tuple(as_tool(one) for one in tools)


def _listed(values: Iterable[Any]) -> tuple[Any, ...]:
    listed: Any = values  # what is no list is refused later, with its place
    return tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else listed


def _versions(versions: Iterable[int]) -> tuple[int, ...]:
    if not isinstance(versions, Iterable) or isinstance(versions, str):
        raise InvalidArguments(f"compatible_with={versions!r:.60} must be a list of versions, such as [1, 2]")
    return tuple(versions)


@attrs.frozen(slots=False, eq=False, kw_only=True)
class Agent(Generic[T_co]):
    """What an agent is: code, not state. Logical agents are opened from it by a Runtime.

    `name` and `version` are stored with every run: change the version when the tools or the instructions change, and
    list the versions whose open runs this one may finish in `compatible_with`. `model` is `"openai:NAME"`, a provider
    object or `scripted([…])`. Functions in `tools` become tools with the default options. `max_iterations` bounds the
    recorded model answers of a run. `on_rejection`: a rejected call ends the run, or tells the model and goes on.
    `model_recovery`: a model call whose answer was lost is made again ("replay"), or asked about ("ask").
    `drain_timeout` is in seconds: how long a stopping run waits for its tools to end. `output_type` is what the last
    answer must be: text, or a type that JSON can give (an attrs class, a dataclass, a TypedDict, a list of these, an
    int, …): the model is told its schema, an answer that does not fit goes back to it, and `Completed.value` is the
    value.

    All times are in seconds. `model_timeout` bounds one model call; `retries` says when a failed one is made again.
    `run_timeout` is how long a run may take, not counting what it waits for people; `start(…, run_timeout=…)`
    overrides it. `approval_timeout` is how long a request for approval may wait. A run over one of these fails.
    `limits` bounds what one run may use. `max_result_bytes` bounds the text of each tool result (None: 1 MiB), where
    the tool itself does not.

    Application code that takes part in a run, each of it `async` or not, runs off the loop, and is given
    `preparation_timeout` seconds a step. `instructions` is text, or a function that makes it for each request;
    `knowledge` are more such segments behind it. `input_filters`, `output_filters` and `tool_result_filters` change or
    block a text; streamed text is withheld until the output filters have passed it, unless `stream_unfiltered`.
    `before_llm` are hooks that may patch one request. `context` is a ContextPolicy, or any object with
    `select(query)`; None sends the whole conversation. All of it may run again after a crash.

    Raises InvalidArguments, naming the place.
    """

    name: str
    model: str | Provider
    version: int = 1
    instructions: Told = ""
    tools: tuple[Tool[..., Any], ...] = attrs.field(default=(), converter=_tools)
    max_iterations: int = 10
    on_rejection: OnRejection = "end"
    model_recovery: ModelRecovery = "replay"
    compatible_with: tuple[int, ...] = attrs.field(default=(), converter=_versions)
    drain_timeout: float = 600.0
    output_type: TypeForm[T_co] = attrs.field(default=str)  # type: ignore[assignment]  # T_co is str where it is left out
    knowledge: tuple[Told | Knowledge, ...] = attrs.field(default=(), converter=_listed)
    context: SelectsContext | None = None
    before_llm: tuple[Hook, ...] = attrs.field(default=(), converter=_listed)
    input_filters: tuple[Filter, ...] = attrs.field(default=(), converter=_listed)
    output_filters: tuple[Filter, ...] = attrs.field(default=(), converter=_listed)
    tool_result_filters: tuple[Filter, ...] = attrs.field(default=(), converter=_listed)
    stream_unfiltered: bool = False
    preparation_timeout: float = 60.0
    model_timeout: float | None = 600.0
    run_timeout: float | None = None
    approval_timeout: float | None = None
    retries: Retries = Retries()  # noqa: RUF009 - frozen
    limits: UsageLimits | None = None
    max_result_bytes: int | None = None
    specs: tuple[ToolSpec, ...] = attrs.field(init=False, repr=False)
    output: OutputType = attrs.field(init=False, repr=False)
    callbacks: Callbacks = attrs.field(init=False, repr=False)
    _by_name: dict[str, Tool[..., Any]] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "output", output_type_of(self.output_type, f"agent {self.name}"))
        object.__setattr__(self, "callbacks", callbacks(self))
        object.__setattr__(self, "tools", limited(self.tools, f"agent {self.name}", self.max_result_bytes))
        object.__setattr__(self, "specs", tuple(one.spec for one in self.tools))
        object.__setattr__(self, "_by_name", {one.name: one for one in self.tools})

    def tool(self, name: str) -> Tool[..., Any] | None:
        """The tool of that name, None if there is none."""
        return self._by_name.get(name)

    def __repr__(self) -> str:
        return f"<agent {self.name} version {self.version}>"


def _check(agent: Agent[Any]) -> None:
    if not isinstance(agent.name, str) or not NAME.fullmatch(agent.name):
        raise InvalidArguments(
            f"{agent.name!r:.60} cannot be the name of an agent, which is 1 to 64 of the characters a-z A-Z 0-9 _ -"
        )
    where = f"agent {agent.name}"
    try:
        check_model(agent.model)
    except InvalidArguments as error:
        raise InvalidArguments(f"{where}: {error}") from None
    _whole(f"{where}: version", agent.version)
    _whole(f"{where}: max_iterations", agent.max_iterations)
    for version in agent.compatible_with:
        _whole(f"{where}: compatible_with", version)
    for option, known in (("on_rejection", OnRejection), ("model_recovery", ModelRecovery)):
        value, choices = getattr(agent, option), get_args(known)
        if value not in choices:
            raise InvalidArguments(f"{where}: {option}={value!r} is unknown; it is {' or '.join(map(repr, choices))}")
    check_settings(where, agent)
    _check_names(where, agent.tools)


def _whole(where: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise InvalidArguments(f"{where}={value!r} must be a whole number from 1")


def _check_names(where: str, tools: Iterable[Tool[..., Any]]) -> None:
    seen: set[str] = set()
    for one in tools:
        if one.name in seen:
            raise InvalidArguments(f"{where} has two tools named {one.name!r}; rename one with @tool(name=…)")
        seen.add(one.name)
