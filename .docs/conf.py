"""Sphinx: the reference is made of docstrings, and a warning is an error (see build.py)."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / ".src")]

import typing_extensions
from docstrings import to_rst
from names import MADE_FOR_YOU, OTHERS, PUBLIC

from pawl import Agent

Agent.__init__.__globals__["TypeForm"] = typing_extensions.TypeForm  # there for type checkers only, and read here

project = "Pawl"
author = "the Pawl authors"
version = release = metadata.version("pawl-fsm")
extensions = ["sphinx.ext.autodoc", "myst_parser"]
root_doc = "index"
html_theme = "alabaster"
html_theme_options = {"description": "State machines for AI agents", "page_width": "68em", "sidebar_width": "15em"}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_static_path = [str(HERE / "static")]
html_css_files = ["pawl.css"]
html_show_sourcelink = html_copy_source = False
html_last_updated_fmt = None

myst_heading_anchors = 3
nitpicky = True
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
maximum_signature_line_length = 90


def setup(app: Any) -> dict[str, Any]:
    """Read docstrings as they are written here, and names as they are public."""
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    app.connect("missing-reference", _reference)
    return {"parallel_read_safe": True}


def _docstring(app: Any, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    lines[:] = to_rst(line.replace(" PYTEST_DONT_REWRITE", "") for line in lines)  # a word to pytest


def _signature(app: Any, what: str, name: str, value: Any, options: Any, arguments: str, returns: str) -> Any:
    if what == "class" and name.rpartition(".")[2] in MADE_FOR_YOU:
        return "", None
    made_each_time = re.compile(r"\bNOTHING\b")  # what attrs says for such a default
    return arguments and made_each_time.sub("...", arguments), returns


def _reference(app: Any, env: Any, node: Any, text: Any) -> Any:
    """A type by the name under which it is public; what is Python's own or a type variable needs no page."""
    target = str(node.get("reftarget", ""))
    module, _, name = target.rpartition(".")
    if node.get("refdomain") != "py":
        return None
    if module.partition(".")[0] in sys.stdlib_module_names or name in _PYTHON or _is_variable(module, name):
        return text
    if module.startswith("pawl.runtime.app.sync"):
        full: str | None = f"pawl.sync.{name}"
    else:
        full = f"pawl.{name}" if name in PUBLIC else _OTHERS.get(name)
    if full is None or full == target:
        return None
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, text)


def _is_variable(module: str, name: str) -> bool:
    """Whether it is a type variable of ours; those that stand without their module are one capital letter."""
    if not module and re.fullmatch(r"[A-Z](_co)?", name):
        return True
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, TypeVar | ParamSpec)


_OTHERS = {full.rpartition(".")[2]: full for full in OTHERS}
_PYTHON = {"Self", "Any", "Literal", "EllipsisType", "TracebackType", "TypeForm"}
