"""What the journal says of one execution, added up record by record."""

from __future__ import annotations

from typing import Any, Final

import attrs

from pawl.runtime.barriers.resolve import MODEL
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.messages import Usage

_ENDS: Final = frozenset(kind for kind in JournalKind if kind.startswith("execution_"))


@attrs.frozen
class Asked:
    """A call that a recorded answer asks for, in its place there. `secret`: people are shown other arguments."""

    index: int
    tool: str
    arguments: str
    secret: bool


@attrs.frozen
class Decided:
    """A decision on record: which, when, and all of it as canonical JSON."""

    request_id: str
    tool_call_id: str
    verdict: str
    at: float
    words: str


@attrs.frozen
class Result:
    """A result on record, of the last answer before it."""

    place: int
    llm_call_id: str
    digest: str | None
    meta: dict[str, Any]


@attrs.define
class Stretch:
    """The records of an execution, from its first to its last. Not `whole`: some could not be read."""

    execution_id: str
    first: int
    last: int = 0
    again: bool = False
    """Some of its records were met before, elsewhere."""
    whole: bool = True
    begins_with: JournalKind | None = None
    input: str | None = None
    start_id: str | None = None
    begun_at: float | None = None
    usage: Usage = attrs.Factory(Usage)
    answers: int = 0
    let_go: int = 0
    """Model calls that count as let go."""
    lost: int = 0
    """Model calls that were lost since the last answer."""
    recorded: set[str] = attrs.Factory(set)
    """Model calls that are on record."""
    answered: str | None = None
    """The model call of the last answer."""
    calls: dict[tuple[str, str], Asked] = attrs.Factory(dict)
    """By model call and tool call: what answers asked for."""
    owed: list[str] = attrs.Factory(list)
    """Tool calls of the last answer whose messages have not come yet, in their order."""
    results: list[Result] = attrs.Factory(list)
    requests: dict[str, tuple[tuple[str, ...], float]] = attrs.Factory(dict)
    """By id: the calls that a request asks about, and when it was made."""
    decided: list[Decided] = attrs.Factory(list)
    output: str | None = None
    ends: list[tuple[int, JournalKind, dict[str, Any], float]] = attrs.Factory(list)
    last_kind: JournalKind | None = None
    odd: list[tuple[int, str]] = attrs.Factory(list)
    """Records that do not follow from those before them: where, and why."""

    def take(self, kind: JournalKind, digest: str | None, meta: dict[str, Any], at: float) -> None:
        """One more record at place `last`, with the meta of its kind."""
        if self.last_kind is None:
            self.begins_with = kind
        elif not self._may_follow(kind):
            self.odd.append((self.last, f"no {kind} comes behind {self.last_kind}"))
        self.last_kind = kind
        if kind is JournalKind.INPUT_RECEIVED:
            self.input, self.start_id, self.begun_at = digest, meta["start_id"], at
        elif kind is JournalKind.LLM_CALL_RECORDED:
            self._call(meta)
        elif kind is JournalKind.ASSISTANT_MESSAGE:
            self._answer(meta)
        elif kind is JournalKind.TOOL_RESULT:
            self.results.append(Result(self.last, self.answered or "", digest, meta))
        elif kind is JournalKind.TOOL_MESSAGE:
            self._told(meta["tool_call_id"], digest)
        elif kind is JournalKind.APPROVAL_REQUIRED:
            self._request(meta, at)
        elif kind is JournalKind.APPROVAL_DECIDED:
            self.decided += [self._decision(meta["request_id"], one, at) for one in meta["decisions"]]
        elif kind is JournalKind.RECOVERY_RESOLVED:
            self.let_go -= (meta["subject"], meta["outcome"]) == (MODEL, "not_performed")
        elif kind is JournalKind.FINAL_OUTPUT:
            self.output = digest
        elif kind in _ENDS:
            self.ends.append((self.last, kind, meta, at))

    def _may_follow(self, kind: JournalKind) -> bool:
        """Whether that may come next. The input is heard before anything else, a run has one output, at its end."""
        if self.last_kind is JournalKind.FINAL_OUTPUT:
            return kind is JournalKind.EXECUTION_COMPLETED
        if kind is JournalKind.CORRECTION:
            return self.last_kind is JournalKind.ASSISTANT_MESSAGE
        if self.last_kind is JournalKind.INPUT_RECEIVED:
            return kind is JournalKind.EXTERNAL_MESSAGE or kind in _ENDS
        return kind is not JournalKind.EXTERNAL_MESSAGE

    @property
    def asked(self) -> int:
        """How many calls answers have asked for."""
        return len(self.calls)

    def _call(self, meta: dict[str, Any]) -> None:
        name = meta["llm_call_id"]
        if name in self.recorded:
            self.odd.append((self.last, f"the model call {name} is on record before it"))
        self.recorded.add(name)
        self.let_go += 1
        if meta["status"] == "completed" and not meta.get("late", False):
            self.answers, self.lost, self.answered = self.answers + 1, 0, name
        self.lost += meta["status"] == "lost"
        if "usage" in meta:
            self.usage += Usage(**meta["usage"])

    def _answer(self, meta: dict[str, Any]) -> None:
        name = meta["llm_call_id"]
        if name != self.answered:
            self.odd.append((self.last, f"it is of {name}, the last completed model call is {self.answered}"))
        if self.owed:
            self.odd.append((self.last, f"the call {self.owed[0]} of the answer before it has no message"))
        self.owed = [call["id"] for call in meta["calls"]]
        if len(set(self.owed)) < len(self.owed):
            self.odd.append((self.last, "two of its calls have one id"))
        for index, call in enumerate(meta["calls"]):
            self.calls[name, call["id"]] = Asked(index, call["name"], call["arguments"], "shown" in call)

    def _told(self, call: str, digest: str | None) -> None:
        result = self.results[-1] if self.results else None
        mine = result is not None and (result.llm_call_id, result.meta["tool_call_id"]) == (self.answered, call)
        if mine and result is not None and result.digest != digest:
            self.odd.append((self.last, f"the model was told another result of {call}"))
        if not self.owed or self.owed[0] != call:
            due = f"the next is {self.owed[0]}" if self.owed else "none is due"
            self.odd.append((self.last, f"it is the message of {call}, and {due}"))
        if call in self.owed:
            self.owed.remove(call)

    def _request(self, meta: dict[str, Any], at: float) -> None:
        calls = tuple(meta["calls"])
        if len(set(calls)) < len(calls) or not {*calls} <= {*self.owed} or meta["request_id"] in self.requests:
            self.odd.append((self.last, "it does not ask about calls of the last answer, each once"))
        self.requests[meta["request_id"]] = (calls, at)

    @staticmethod
    def _decision(request_id: str, said: dict[str, Any], at: float) -> Decided:
        return Decided(request_id, said["tool_call_id"], said["verdict"], at, canonical(said))
