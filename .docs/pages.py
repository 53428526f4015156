"""The pages, as a folder of sources for Sphinx: what is written once in the repository is taken from there."""

from __future__ import annotations

import inspect
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import names
from docstrings import to_rst

import pawl
from pawl import EventKind

if TYPE_CHECKING:
    import typer

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {
    "README.md": "start.md",
    "fsm_specs/README.md": "language.md",
    "runtime/README.md": "house.md",
    "CHANGELOG.md": "changes.md",
    **{f".docs/guide/{path.name}": f"guide/{path.name}" for path in (Path(__file__).parent / "guide").glob("*.md")},
}
"""Files of the repository that are pages."""


def write(folder: Path) -> None:
    """Write all pages into an empty folder."""
    (folder / "machines").mkdir(parents=True)
    (folder / "guide").mkdir()
    for source, page in TEXTS.items():
        (folder / page).write_text(_linked((ROOT / source).read_text(encoding="utf-8"), source), encoding="utf-8")
    for source in sorted(Path(__file__).parent.glob("*.md")):
        shutil.copy(source, folder / source.name)
    _check_events(folder / "events.md")
    for page in (api, errors, cli, sync, testing, examples):
        (folder / f"{page.__name__}.rst").write_text(page(), encoding="utf-8")
    _machines(folder / "machines")


# texts of the repository ----------------------------------------------------------------------------------------------


def _linked(text: str, source: str) -> str:
    """Links between files of the repository become links between pages; those to files that are no page, plain code."""
    base = (ROOT / source).parent

    def link(match: re.Match[str]) -> str:
        image, label, target = match[1], match[2], match[3]
        if "://" in target or target.startswith("#"):
            return match[0]
        path, _, anchor = target.partition("#")
        found = (base / path).resolve().relative_to(ROOT)
        page = _page_of(str(found), image=bool(image))
        if page is None:
            return label if label.startswith("`") else f"{label} (`{found}`)"
        return f"{image}[{label}]({'/' if '/' in TEXTS[source] else ''}{page}{'#' + anchor if anchor else ''})"

    return re.sub(r"(!?)\[([^\]]*)\]\(<?([^)>]+)>?\)", link, text)


def _page_of(path: str, *, image: bool) -> str | None:
    if path in TEXTS:
        return TEXTS[path]
    if path == "diagrams":
        return "machines/index.md"
    if path.startswith("diagrams/"):
        name = Path(path)
        return f"machines/{name.name}" if image else f"machines/{name.stem}.md"
    return None


def _machines(folder: Path) -> None:
    """Each machine with its drawing and its tables."""
    found = sorted((ROOT / "diagrams").glob("*.md"))
    for path in found:
        shutil.copy(path.with_suffix(".svg"), folder)
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^Drawing: .*$", f"![{path.stem}]({path.stem}.svg)", text, count=1, flags=re.MULTILINE)
        text = re.sub(r"^```mermaid\n.*?^```\n+", "", text, flags=re.MULTILINE | re.DOTALL)  # the drawing says the same
        (folder / path.name).write_text(text, encoding="utf-8")
    entries = "\n".join(path.stem for path in found)
    intro = "Pawl's own machines, drawn and tabulated from `fsm_specs/` by `pawl diagram`."
    (folder / "index.md").write_text(f"# The machines\n\n{intro}\n\n```{{toctree}}\n{entries}\n```\n", encoding="utf-8")


def _check_events(page: Path) -> None:
    """Raises AssertionError, naming it, for a kind of event that the page says nothing of."""
    text = page.read_text(encoding="utf-8")
    missing = [kind for kind in EventKind if f"| `{kind}` |" not in text]
    assert not missing, f".docs/events.md says nothing of: {', '.join(missing)}"


# the reference --------------------------------------------------------------------------------------------------------


def api() -> str:
    """Every public name but the errors."""
    text = _title("The public API", "=") + "Everything here is a name of ``pawl``: ``from pawl import Agent``.\n\n"
    text += "Errors have a page of their own: :doc:`errors`.\n\n"
    for title, found in names.parts():
        if found:
            text += _title(title, "-") + "".join(_entry(name) for name in found)
    return text + _others()


def _others() -> str:
    text = _title("Types in signatures", "-") + "Not exported by ``pawl``; signatures mention them.\n\n"
    return text + "".join(_brief(full) for full in names.OTHERS)


def _brief(full: str) -> str:
    """A class by its docstring alone."""
    if not inspect.isclass(_object(full)):
        return _alias(full, _object(full))
    said = inspect.getdoc(_object(full)) or ""
    return f".. py:class:: {full}\n\n{_indented(chr(10).join(to_rst(said.splitlines())))}"


def _object(full: str) -> object:
    module, _, name = full.rpartition(".")
    return getattr(import_module(module), name)


def errors() -> str:
    """Every error, with what to do."""
    text = _title("Errors", "=") + "What went wrong, and what to do. All but those of machines are PawlErrors.\n\n"
    return text + "".join(_entry(name) for name in names.errors())


def sync() -> str:
    """The blocking library."""
    text = _title("pawl.sync", "=")
    text += "The same library for hosts without an event loop; every method blocks.\n\n"
    return text + "".join(_directive(f"pawl.sync.{name}") for name in pawl.sync.__all__)


def testing() -> str:
    """The kit for tests."""
    import pawl.testing as kit

    text = _title("pawl.testing", "=") + ".. automodule:: pawl.testing\n   :no-members:\n\n"
    text += _directive("pawl.testing.World")
    text += ".. py:function:: pawl_world(*agents, **options)\n\n"
    text += _indented(inspect.getdoc(_fixture(kit.pawl_world)) or "")
    rest = [name for name in kit.__all__ if name != "World" and name[0].isupper()]
    return text + "".join(_directive(f"pawl.testing.{name}") for name in rest)


def _fixture(value: object) -> object:
    return getattr(value, "__wrapped__", value)


def _entry(name: str) -> str:
    return _directive(f"pawl.{name}")


def _directive(full: str) -> str:
    """The directive that documents an object by its kind."""
    value = _object(full)
    if inspect.isclass(value):
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        options = "   :members:\n" + ("   :undoc-members:\n" if hasattr(value, "__members__") else "")
        if value.__base__ is not None and value.__base__.__module__.startswith("pawl.runtime.app."):
            options += "   :inherited-members:\n"  # a base that has no page of its own
        return f".. {kind}:: {full}\n{options}\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {full}\n\n"
    return _alias(full, value)


def _alias(full: str, value: object) -> str:
    said = "\n".join(to_rst(_said_below(full)))
    shown = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", str(value))
    return f".. py:data:: {full}\n   :value: {shown}\n\n{_indented(said)}\n"


def _said_below(full: str) -> list[str]:
    """The text under an assignment."""
    from sphinx.pycode import ModuleAnalyzer

    name = full.rpartition(".")[2]
    module = names.module_of(name) if full == f"pawl.{name}" else full.rpartition(".")[0]
    found = ModuleAnalyzer.for_module(module).find_attr_docs()
    return found.get(("", name), [])


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _indented(text: str) -> str:
    return "".join(f"   {line}\n" if line else "\n" for line in text.splitlines()) + "\n"


def examples() -> str:
    """The programs in `tools/examples`, whole."""
    text = _title("Examples", "=") + "Programs that are in the package, and that the tests run.\n\n"
    for path in sorted((ROOT / "tools" / "examples").glob("[!_]*.py")):
        code = path.read_text(encoding="utf-8")
        text += _title(f"pawl.tools.examples.{path.stem}", "-") + ".. code-block:: python\n\n" + _indented(code)
    return text


# the command ----------------------------------------------------------------------------------------------------------


def cli() -> str:
    """What every command says of itself, from its own help."""
    from typer.main import get_command

    from pawl.tools.cli.main import build

    app = build()
    text = _title("The command line", "=") + _help(app)
    for name in get_command(app).commands:  # type: ignore[attr-defined]
        text += _title(f"pawl {name}", "-") + _help(app, name)
    return text


def _help(app: typer.Typer, *path: str) -> str:
    from typer.testing import CliRunner

    runner = CliRunner(env={"COLUMNS": "100", "TERMINAL_WIDTH": "100", "PAWL_DB": None})
    said = runner.invoke(app, [*path, "--help"], prog_name="pawl")
    assert said.exit_code == 0, said.output
    return ".. code-block:: text\n\n" + _indented(said.output)
