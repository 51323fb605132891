"""The rules of the house that import contracts cannot express."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for house in ("studio", "training") for path in (ROOT / house).rglob("*.py"))
TORCH_FREE = (
    "errors",
    "events",
    "control",
    "answers",
    "protocol",
    "config",
    "catalog",
    "schedules",
    "runs",
    "presets",
    "console",
    "cli",
    "system",
    "streams",
)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_files_and_classes_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400, "over 400 lines: which two rooms is it really?"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            assert (node.end_lineno or 0) - node.lineno < 250, f"class {node.name} is over 250 lines"


def test_the_loop_fits_on_one_screen() -> None:
    assert len((ROOT / "training/engine/fit.py").read_text(encoding="utf-8").splitlines()) <= 80


def test_progress_is_written_by_its_own_methods_only() -> None:
    written = [
        f"{path.name}: {ast.unparse(target)}"
        for path in (ROOT / "training").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for each in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(each)
        if isinstance(target, ast.Attribute) and ast.unparse(target.value).split(".")[-1] == "progress"
    ]
    assert written == []


def test_no_drawer_folders() -> None:
    drawers = {"utils", "util", "helpers", "misc", "common"}
    assert not [path for path in SOURCES if drawers & set(path.relative_to(ROOT).with_suffix("").parts)]


def test_the_tests_of_training_ask_for_nothing_of_the_window() -> None:
    """They pass where Qt is not installed; what needs both lies in ``tests/end_to_end``."""
    houses = ("studio", "PySide6", "pyqtgraph", "pytestqt", "tests.studio", "tests.end_to_end")
    asked = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / "tests/training").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported(node)
    }
    assert len(asked) > 100
    assert not [(path, name) for path, name in asked if name.startswith(tuple(f"{house}." for house in houses))]


def imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports, each with a full stop behind it."""
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}." for alias in node.names]
    return [f"{alias.name}." for alias in node.names] if isinstance(node, ast.Import) else []


def test_importing_the_whole_studio_loads_no_torch() -> None:
    modules = [
        module_name(path) for path in SOURCES if path.is_relative_to(ROOT / "studio") and path.name != "__main__.py"
    ]
    output = run_python(
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('torch', 'torchvision', 'safetensors')))"
    )
    assert output.strip() == "[]"


def test_the_shelf_above_the_line_loads_no_torch_and_no_qt() -> None:
    modules = [
        module_name(path)
        for path in SOURCES
        if path.is_relative_to(ROOT / "training")
        and path.relative_to(ROOT / "training").with_suffix("").parts[0] in TORCH_FREE
    ]
    assert len(modules) > 20
    output = run_python(
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('torch', 'torchvision', 'PySide6')))"
    )
    assert output.strip() == "[]"


@pytest.mark.slow
def test_the_engine_trains_where_qt_is_not_installed(tmp_path: Path) -> None:
    run_python(
        "import sys\n"
        "for name in ('PySide6', 'shiboken6', 'pyqtgraph'): sys.modules[name] = None\n"
        "from training.cli import main\n"
        "options = ['--set', 'loop.max_steps=3', '--set', 'schedule.warmup_steps=0']\n"
        f"sys.exit(main(['run', 'preset:spiral', *options, '--workspace', {str(tmp_path)!r}]))"
    )
