"""`pawl tail`: the events of one execution as they come on record, read from the store alone."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

from pawl.runtime.execution.looks import Looks
from pawl.runtime.execution.pages import cursor_of, page
from pawl.runtime.records.events import Event
from pawl.runtime.store.port import Store
from pawl.tools.cli import finding
from pawl.tools.cli.output import leave, out
from pawl.tools.cli.stores import opened
from pawl.tools.cli.telling import STYLES, words

INTERRUPTED = 130


def tail(given: str, after: int, follow: bool, db: str, as_json: bool) -> None:
    """Print the events of the execution that `given` is the beginning of, behind the cursor `after`."""
    with opened(db) as store:
        name = finding.execution_id(store, given)
        try:
            for event in events(store, name, after, follow):
                if as_json:
                    out(json.dumps(event.to_dict()))
                else:
                    out(*line(event))
                sys.stdout.flush()
        except KeyboardInterrupt:
            leave(INTERRUPTED)


def events(store: Store, execution_id: str, after: int, follow: bool) -> Iterator[Event]:
    """What is on record, then what comes on record; ends with the run, or at once where it is not to `follow`.

    Raises ExecutionNotFound; InvalidArguments for what is no cursor, or one of elsewhere.
    """
    after = cursor_of(execution_id, after)
    asked: object = None
    looks = Looks()
    while True:
        found = store.read(page(execution_id, after))
        for group in found.groups:
            yield from group
        moved, after = found.place > after, found.place
        rest = found.rest
        if rest is not None and rest.data.get("subjects") is not None and rest.data["revision"] != asked:
            asked = rest.data["revision"]
            yield rest
        if found.full:
            continue
        if found.ended or not follow:
            return
        if moved:
            looks.found()
        time.sleep(looks.next())


def line(event: Event) -> tuple[str, str]:
    """One event as (line, style)."""
    cursor = "-" if event.cursor is None else str(event.cursor)
    return f"{cursor:>5}  {event.kind:<18} {words(event)}".rstrip(), STYLES.get(event.kind, "")
