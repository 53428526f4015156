"""`pawl new`: a machine to start from, which runs before it is changed."""

from __future__ import annotations

import shlex
from pathlib import Path

from pawl.tools.cli.output import Misuse, err, leave, out
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.literal import environment
from pawl.tools.compiler.names import is_name, reserved
from pawl.tools.compiler.schema import schema_text
from pawl.tools.compiler.verify import verify

SCHEMA = "pawl.schema.json"
"""The schema beside a new spec; the spec's first line names it."""


def start(name: str, folder: Path) -> None:
    """Write NAME.yaml, NAME_context.py, NAME.py and the schema for editors into `folder`.

    Raises Misuse; nothing is overwritten.
    """
    reason = "not a snake_case name" if not is_name(name) or not name.isascii() else reserved(name, module=True)
    if reason is not None:
        raise Misuse(f"'{name}' is {reason}; a machine has a name such as order or parcel_tracking")
    spec, context, module = (folder / f"{name}{tail}" for tail in (".yaml", "_context.py", ".py"))
    texts = {spec: _render("starter.yaml.jinja", name), context: _render("starter_context.py.jinja", name)}
    schema = folder / SCHEMA
    compiled = compile_text(texts[spec], str(spec))
    if compiled.findings or not compiled.machines:
        for found in compiled.findings:
            err(str(found))
        leave(1)
    texts[module] = emit_python(compiled.machines[0])
    verify(compiled.machines[0], texts[module])
    _write(texts)
    if not schema.exists():  # one for all the specs beside it
        _write({schema: schema_text()})
    run = shlex.quote(str(context))
    out(f"\nRun it:     python {run}")
    out(f"Change it:  edit {shlex.quote(str(spec))}, then `pawl generate {shlex.quote(str(spec))}`")
    out(f"Edit it:    its first line tells editors where {SCHEMA} is; `pawl schema --out` writes it anew")
    out(f"See it:     pawl diagram {shlex.quote(str(spec))} --format svg > {name}.svg")


def _render(template: str, name: str) -> str:
    words = name.split("_")
    return (
        environment()
        .get_template(template)
        .render(name=name, context=f"{''.join(w.capitalize() for w in words)}Context")
    )


def _write(texts: dict[Path, str]) -> None:
    there = [str(path) for path in texts if path.exists()]
    if there:
        raise Misuse(f"already there: {', '.join(there)}; choose another name, or another --out")
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            out(f"created   {path}", "green")
    except OSError as error:
        raise Misuse(f"cannot write {error.filename}: {error.strerror or error}; choose another --out") from None
