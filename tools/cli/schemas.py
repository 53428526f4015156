"""`pawl schema`: the JSON Schema of the spec language, shown, written or compared."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from pawl.tools.cli.output import STDOUT, Misuse, err, leave, out, raw
from pawl.tools.compiler.schema import MARK, schema_text


def schema(file: Path | None, check: bool) -> None:
    """Print the schema, write it to `file`, or `check` that `file` (or the one that pawl ships) is this one.

    Raises Misuse for a file that cannot be written or read, or that pawl did not write.
    """
    file = None if file == STDOUT else file
    if check:
        _compare(file)
    elif file is None:
        raw(schema_text())
    else:
        _write(file)


def _compare(file: Path | None) -> None:
    shipped = resources.files("pawl") / "fsm_specs" / "pawl.schema.json"
    try:
        text = file.read_text(encoding="utf-8") if file is not None else shipped.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"{file} cannot be read: {error}") from None
    if text != schema_text():
        name = str(file) if file is not None else "fsm_specs/pawl.schema.json"
        err(f"{name} is not the schema of this pawl; run `pawl schema --out {name}` and commit the result", "red")
        leave(1)


def _write(file: Path) -> None:
    try:
        before = file.read_text(encoding="utf-8", errors="replace") if file.exists() else None
        if before is not None and before.strip() and MARK not in before:
            raise Misuse(f"{file} was not written by pawl, so it stays as it is; choose another --out")
        if before == schema_text():
            out(f"unchanged {file}", "dim")
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(schema_text(), encoding="utf-8", newline="\n")
    except OSError as error:
        raise Misuse(f"cannot write {file}: {error.strerror or error}; choose another --out") from None
    out(f"{'created' if before is None else 'updated':<9} {file}", "green" if before is None else "yellow")
