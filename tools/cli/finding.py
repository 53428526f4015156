"""Executions and approval requests by the beginning of their ids."""

from __future__ import annotations

from pawl.runtime.barriers.claim import existing
from pawl.runtime.records.errors import NotSuspended
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.store.port import Store, Transaction
from pawl.tools.cli.output import Misuse
from pawl.tools.cli.words import printable

_SHOWN = 10
_PAGE = 500


def execution_id(store: Store, given: str) -> str:
    """The one execution whose id starts with `given`. Raises Misuse when there is none, or more than one."""
    found = store.read(lambda tx: list(tx.executions.find(given, _SHOWN + 1))) if given else []
    if given in found:
        return given
    return _one(given, found, "execution", "`pawl ls` lists them")


def request_id(store: Store, given: str) -> str:
    """An approval request by (the beginning of) its id, or the last one of an execution.

    Raises Misuse for an id of nothing, or of more than one; NotSuspended for an execution that asked for no decision.
    """
    if not given.startswith("request-"):
        return _last_request(store, execution_id(store, given))
    if store.read(lambda tx: tx.executions.of_request(given) is not None or bool(tx.decisions.of_request(given))):
        return given
    pending = (one.request.id for one in store.read(_open) if one.request is not None)
    found = [name for name in pending if name.startswith(given)]
    return _one(given, found, "pending request", "`pawl ls --open` lists what waits")


def record_of(tx: Transaction, request: str) -> ExecutionRecord:
    """The execution that a request (which exists) is of."""
    record = tx.executions.of_request(request)
    if record is None:
        record = existing(tx, tx.decisions.of_request(request)[0].execution_id)
    return record


def _one(given: str, found: list[str], thing: str, where: str) -> str:
    if len(found) == 1:
        return found[0]
    if not found:
        raise Misuse(f"no {thing} has an id that starts with '{printable(given)}'; {where}")
    shown = ", ".join(found[:_SHOWN])
    more = ", …" if len(found) > _SHOWN else ""
    raise Misuse(f"'{printable(given)}' is the beginning of several ids, give more of it: {shown}{more}")


def _open(tx: Transaction) -> list[ExecutionRecord]:
    found: list[ExecutionRecord] = []
    after = ""
    while page := tx.executions.survey(open_only=True, after=after, limit=_PAGE):
        found += [one for one, _ in page if isinstance(one, ExecutionRecord)]
        after = page[-1][0].execution_id
    return found


def _last_request(store: Store, name: str) -> str:
    """The pending request, else the last one that was asked: deciding that again gives its receipt again."""

    def read(tx: Transaction) -> str | None:
        record = tx.executions.get(name)
        assert record is not None
        if record.request is not None:
            return record.request.id
        last: str | None = None
        place = 0
        while page := tx.journal.read(record.agent_id, place):
            place = page[-1].position
            for entry in page:
                if entry.execution_id == name and entry.kind is JournalKind.APPROVAL_REQUIRED:
                    last = entry.meta["request_id"]
        return last

    request = store.read(read)
    if request is None:
        raise NotSuspended(f"execution {name} has asked for no decision; `pawl show {name}` says where it stands")
    return request
