"""`import pawl` is quick and says what it has: the lazy names, `__all__` and what type checkers see agree."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import pawl

ROOT = Path(__file__).parents[2]
TREE = ast.parse((ROOT / ".src/pawl/__init__.py").read_text(encoding="utf-8"))
FOLDERS = ("runtime", "generated", "tools", "fsm_specs")
HEAVY = {
    "typer",
    "jinja2",
    "transitions",
    "rich",
    "yaml",
    "graphviz",
    "graphviz_pure",
    "openai",
    "anthropic",
    "pydantic",
}


def _literal(name: str) -> object:
    for node in TREE.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return ast.literal_eval(node.value)  # type: ignore[attr-defined]
    raise AssertionError(f"the package root has no {name}")


def _seen_by_type_checkers() -> dict[str, str]:
    blocks = [node for node in TREE.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {(alias.asname or alias.name): str(node.module) for node in imports for alias in node.names}


def test_all_names_what_type_checkers_see_and_nothing_else() -> None:
    names = _literal("__all__")
    assert isinstance(names, list)
    assert sorted(names) == sorted(_seen_by_type_checkers())
    assert names == sorted(set(names))


def test_every_lazy_name_comes_from_the_module_that_type_checkers_are_told() -> None:
    submodules = {name: module for name, module in _seen_by_type_checkers().items() if module == "pawl"}
    assert _literal("_EXPORTS") == {n: m for n, m in _seen_by_type_checkers().items() if n not in submodules}
    for name in submodules:
        assert isinstance(getattr(pawl, name), ModuleType)


@pytest.mark.parametrize(("name", "module"), _seen_by_type_checkers().items())
def test_every_public_name_is_the_one_of_its_module(name: str, module: str) -> None:
    expected = import_module(f"pawl.{name}") if module == "pawl" else getattr(import_module(module), name)
    assert getattr(pawl, name) is expected
    assert name in dir(pawl)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pawl' has no attribute 'agent'"):
        pawl.agent  # noqa: B018


def _loaded(statement: str) -> set[str]:
    code = f"""
import json, sys
before = set(sys.modules)
{statement}
print(json.dumps([*set(sys.modules) - before]))
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "tests")
    return set(json.loads(child.stdout))


def test_importing_the_root_imports_nothing_else_of_pawl_or_of_others() -> None:
    loaded = _loaded("import pawl")
    assert {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names} == {"pawl"}


@pytest.mark.parametrize("statement", ["from pawl import Agent, Runtime, tool", "from pawl import *"])
def test_running_agents_needs_neither_the_compiler_nor_the_command_line_nor_a_provider(statement: str) -> None:
    loaded = _loaded(statement)
    assert "pawl.runtime.app.runtime" in loaded
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()
    assert {name for name in loaded if name.startswith("pawl.tools")} == set()


def test_every_module_can_be_imported_and_none_under_a_second_name() -> None:
    code = f"""
import importlib, pkgutil, sys, pawl
for module in pkgutil.walk_packages(pawl.__path__, "pawl."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(sum(name.startswith("pawl.") for name in sys.modules))
print(*[name for name in sys.modules if name.partition(".")[0] in {FOLDERS}])
"""
    child = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert child.returncode == 0, child.stderr
    count, bare = child.stdout.splitlines()
    assert int(count) > 50
    assert bare == ""


def test_no_test_has_loaded_a_second_copy_under_a_bare_folder_name() -> None:
    copies = [name for name, module in sys.modules.items()
              if name.partition(".")[0] in FOLDERS and str(ROOT) in str(getattr(module, "__file__", ""))]  # fmt: skip
    assert copies == []
