"""The rules of the house that import contracts cannot express."""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from training.catalog.onnx_packages import ONNX_PACKAGES

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for house in ("studio", "training") for path in (ROOT / house).rglob("*.py"))
TORCH_FREE = (
    "caches",
    "errors",
    "events",
    "control",
    "answers",
    "protocol",
    "config",
    "copies",
    "catalog",
    "engines",
    "schedules",
    "runs",
    "sidecars",
    "statistics",
    "sweeps",
    "tracking",
    "presets",
    "queue",
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


@cache
def parse(path: Path) -> ast.Module:
    """What most rules look at."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _not_kept() -> Iterator[None]:
    """Half a million nodes would be looked through by each collection of garbage, of these tests and of those to come."""
    gc.disable()
    yield
    parse.cache_clear()
    gc.enable()


def test_files_and_classes_stay_short() -> None:
    """Over 400 lines: which two rooms is it really? A class has 250 at most."""
    assert [module_name(path) for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) > 400] == []
    assert [
        f"{module_name(path)}: class {node.name}"
        for path in SOURCES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef) and (node.end_lineno or 0) - node.lineno >= 250
    ] == []


def test_the_loop_fits_on_one_screen() -> None:
    assert len((ROOT / "training/engine/fit.py").read_text(encoding="utf-8").splitlines()) <= 80


PARTICIPLE = re.compile(
    "begun|born|bought|bound|broken|brought|built|caught|chosen|done|drawn|driven|fallen|felt|fled|forgotten|found|frozen|"
    "given|gone|grown|held|hidden|hung|kept|known|laid|led|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|sold|"
    "spent|stolen|struck|stuck|taken|thought|thrown|told|understood|won|worn|written|(?!embed|exceed|feed|need|proceed|seed|speed).*ed"
)
ADVERB = re.compile(
    "about|again|ago|alike|alone|already|anew|anyway|apart|aside|away|but|due|elsewhere|here|late|lately|now|only|otherwise|"
    "soon|still|then|there|together|whole|yet"
)
PREPOSITION = re.compile(
    "after|as|at|before|beside|between|by|down|for|from|in|into|of|on|out|over|than|to|under|up|with"
)


def test_no_function_is_named_by_a_bare_participle() -> None:
    """A function is a verb, or the field's noun (``weighted_cross_entropy``): ``_told`` and ``_looked_at`` say neither."""
    bare = []
    for path in SOURCES:
        for node in ast.walk(parse(path)):
            if not isinstance(node, ast.FunctionDef) or any(
                re.search(r"property|\.setter$", ast.unparse(d)) for d in node.decorator_list
            ):
                continue
            first, *others = node.name.strip("_").split("_")
            if any(kind.fullmatch(first) for kind in (PARTICIPLE, ADVERB)) and all(
                any(kind.fullmatch(word) for kind in (PARTICIPLE, ADVERB, PREPOSITION)) for word in others
            ):
                bare.append(f"{module_name(path)}:{node.lineno} {node.name}")
    assert not bare


def test_no_modules_import_each_other_not_even_for_their_types() -> None:
    modules = {module_name(path): path for path in SOURCES}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for module, path in modules.items():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                graph[module] |= {name if name in modules else node.module for name in names}
    TopologicalSorter(graph).prepare()  # CycleError names the modules


def test_progress_is_written_by_its_own_methods_only() -> None:
    written = [
        f"{path.name}: {ast.unparse(target)}"
        for path in (ROOT / "training").rglob("*.py")
        for node in ast.walk(parse(path))
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
        for node in ast.walk(parse(path))
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
        f"heavy = {('torch', 'torchvision', 'safetensors', *ONNX_PACKAGES)!r}\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in heavy))"
    )
    assert output.strip() == "[]"


def test_the_first_engine_is_started_before_pydantic_is_loaded() -> None:
    assert run_python("import studio.engine.child, sys; print('pydantic' in sys.modules)").strip() == "False"


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
        "options = ['--set', 'loop.max_steps=3', '--set', 'schedule.warmup=0']\n"
        f"sys.exit(main(['run', 'preset:spiral', *options, '--workspace', {str(tmp_path)!r}]))"
    )
