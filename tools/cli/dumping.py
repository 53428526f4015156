"""`pawl dump` and `pawl load`: an execution to a file, and back."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pawl.runtime.records.errors import AgentExists, IdConflict, InvalidArguments
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.store.sqlite_look import SqliteLook
from pawl.runtime.upkeep.dump import dump as dumped
from pawl.runtime.upkeep.load import put, read_dump
from pawl.tools.cli.finding import execution_id
from pawl.tools.cli.output import STDOUT, Misuse, as_json, err, out, raw
from pawl.tools.cli.stores import looked_at, opened, option


def dump(given: str, db: str, to: Path | None, redact: bool, conversation: bool) -> None:
    """Write the execution that `given` begins."""
    look = SqliteLook(looked_at(db))
    look.open()
    try:
        name = execution_id(look, given)
        text = "".join(f"{line}\n" for line in dumped(look, name, redact=redact, conversation=conversation))
    finally:
        look.close()
    if to is None or to == STDOUT:
        raw(text)
        return
    try:
        # Nobody else may read it: what is in it may be private, redacted or not.
        with open(
            os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8", newline="\n"
        ) as file:
            file.write(text)
    except FileExistsError:
        raise Misuse(f"{to} exists already; name another file") from None
    except OSError as error:
        raise Misuse(f"{to} cannot be written: {error.strerror}") from None
    err(f"{name} is in {to}{'' if redact else ', with its texts'}")


def load(file: str, db: str, json: bool) -> None:
    """Read a dump into the store."""
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        lines = text.decode().removesuffix("\n").split("\n")  # not every line end of Unicode is one here
    except OSError as error:
        raise Misuse(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Misuse(f"{file} is not UTF-8 text ({error.reason} at byte {error.start})") from None
    try:
        read = read_dump(lines)  # before a store is made for it
        with opened(db, create=True) as store:
            record = put(store, read)
    except InvalidArguments as error:
        raise InvalidArguments(f"{file}: {error}") from error
    except (AgentExists, IdConflict) as error:
        raise Misuse(f"what is in {file} is in that store already, in part or whole; name another with --db") from error
    if json:
        as_json({"execution_id": record.execution_id, "agent_id": record.agent_id, "status": record.status})
        return
    out(f"loaded {record.execution_id} of agent {record.agent_id} ({record.status})")
    if read.earlier and record.status not in TERMINAL:
        err("what was said in earlier runs is not in it, and no model will see that; see `pawl dump --conversation`")
    err(f"pawl show {record.execution_id}{option(db)}")
