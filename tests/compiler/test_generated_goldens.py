"""What is generated is what was reviewed: one folder a case, every format, on every interpreter run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from compiler.golden import CASES, GOLDEN, agrees, model_of
from pawl.tools.compiler.compile import compile_files
from pawl.tools.compiler.crosscheck import cross_check
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.emit_markdown import emit_markdown
from pawl.tools.compiler.emit_mermaid import emit_mermaid
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.verify import verify

EMITTERS: dict[str, Callable[[MachineModel], str]] = {
    "expected.py": emit_python,
    "expected.dot": emit_dot,
    "expanded.dot": lambda model: emit_dot(model, expand=True),
    "expected.mmd": emit_mermaid,
    "expected.md": emit_markdown,
}
SOURCES = Path(__file__).parents[2] / ".src"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("file", EMITTERS)
def test_what_is_generated_is_what_was_reviewed(case: str, file: str, rewrite: bool) -> None:
    model = model_of(case)
    if file.startswith("expanded") and not any(state.inside for state in model.states):
        pytest.skip("no barrier to expand")

    agrees(GOLDEN / case / file, EMITTERS[file](model), rewrite)


@pytest.mark.parametrize("case", CASES)
def test_a_golden_module_means_what_its_spec_says_to_both_engines(case: str) -> None:
    model = model_of(case)

    machine = verify(model, (GOLDEN / case / "expected.py").read_text(encoding="utf-8"))

    assert cross_check(model, machine).differences == ()


def test_output_does_not_depend_on_the_hash_seed() -> None:
    found = {seed: _digest_in_a_new_process(seed) for seed in ("0", "1", "4242")}

    assert set(found.values()) == {_digest()}


def test_output_does_not_depend_on_the_order_or_the_place_of_files(tmp_path: Path) -> None:
    for case in CASES:
        shutil.copy(GOLDEN / case / "spec.yaml", tmp_path / f"{case}.yaml")
        if (GOLDEN / case / "parts").is_dir():
            shutil.copytree(GOLDEN / case / "parts", tmp_path / "parts")
    here = sorted(tmp_path.glob("*.yaml"))
    shutil.copytree(tmp_path, tmp_path / "deeper")
    there = sorted((tmp_path / "deeper").glob("*.yaml"))

    texts = [
        [emit(model) for model in compile_files(paths).machines for emit in EMITTERS.values()]
        for paths in (here, here[::-1], there)
    ]

    assert texts[0] == texts[1] == texts[2]


def test_one_changed_row_of_a_spec_is_one_changed_row_of_the_table() -> None:
    text = emit_python(model_of("order")).splitlines()
    row = next(line for line in text if "Event.PACKING_LATE" in line and "Row(" in line)
    model = model_of("order")
    index = next(i for i, each in enumerate(model.rows) if each.event == "packing_late")
    changed = list(model.rows)
    changed[index] = type(model.rows[0])(**{**_fields(changed[index]), "target": "paying"})

    other = emit_python(type(model)(**{**_fields(model), "rows": tuple(changed)})).splitlines()

    gone = [line for line in text if line not in other and "Row(" in line]
    assert gone == [row]


def test_golden_modules_pass_strict_mypy(tmp_path: Path) -> None:
    """All of them in one run, beside stubs of the packages that they name."""
    for case in CASES:
        shutil.copy(GOLDEN / case / "expected.py", tmp_path / f"{model_of(case).name}.py")
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "__init__.py").touch()
    (shop / "money.py").write_text("class Payment: ...\n")
    (shop / "first.py").write_text("class State: ...\nclass Row: ...\nclass Outer:\n    class Inner: ...\n")
    (shop / "second.py").write_text("class State: ...\n")
    (shop / "order_context.py").write_text(_CONTEXT)

    done = _mypy(tmp_path)

    assert done.returncode == 0, done.stdout


def test_a_context_that_lacks_or_mistypes_a_method_is_a_type_error_that_names_it(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "order" / "expected.py", tmp_path / "order.py")
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "__init__.py").touch()
    (shop / "money.py").write_text("class Payment: ...\n")
    wrong = _CONTEXT.replace("def alarm", "def alarmed").replace(
        "def put(self, payload: str)", "def put(self, payload: int)"
    )
    (shop / "order_context.py").write_text(wrong)

    done = _mypy(tmp_path)

    assert done.returncode == 1
    assert "alarm" in done.stdout
    assert "def put(self, str, /)" in done.stdout


_CONTEXT = """
from __future__ import annotations
from shop.money import Payment

Did = tuple["OrderContext", tuple[object, ...]]

class OrderContext:
    def empty(self, payload: None) -> bool: return True
    def in_stock(self, payload: Payment | None) -> bool: return True
    def address_known(self, payload: object) -> bool: return True
    def put(self, payload: str) -> Did: return self, ()
    def complain(self, payload: None) -> None: ...
    def ask_payment(self, payload: None) -> None: ...
    def book(self, payload: Payment) -> Did: return self, ()
    def reserve(self, payload: Payment | None) -> None: ...
    def print_label(self, payload: Payment | None) -> None: ...
    def call_customer(self, payload: Payment | None) -> None: ...
    def refund(self, payload: None) -> None: ...
    def note_error(self, payload: Exception) -> None: ...
    def alarm(self, payload: Exception | None) -> None: ...
    def payment_timeout(self) -> float | None: return 1
    def packing_timeout(self) -> int: return 1
"""


def _mypy(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MYPYPATH": f"{SOURCES}{os.pathsep}{folder}"}
    cache = Path(__file__).parents[2] / ".mypy_cache" / "golden"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}"]
    files = sorted(path.name for path in folder.glob("*.py"))
    return subprocess.run([*command, *files], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _digest() -> str:
    texts = [emit(model_of(case)) for case in CASES for emit in EMITTERS.values()]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def _digest_in_a_new_process(seed: str) -> str:
    program = "from compiler import test_generated_goldens as goldens; print(goldens._digest())"
    paths = os.pathsep.join((str(SOURCES), str(Path(__file__).parents[1])))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _fields(value: object) -> dict[str, object]:
    return {field.name: getattr(value, field.name) for field in type(value).__attrs_attrs__}  # type: ignore[attr-defined]
