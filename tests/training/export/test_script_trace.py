"""A run and its resume pass through nearly every line of its script: nothing is taken along that another run would need."""

from __future__ import annotations

import ast
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import torch

from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import export, train_by_script
from tests.training.export.test_script_tasks import FEATURES, rows_config, table  # noqa: F401  # a fixture
from tests.training.tiny import tiny, tiny_images
from training.config import RunConfig


def stop_at_first_save(save: Any) -> Any:
    def stopping(path: Path, write: Any) -> None:
        save(path, write)
        if path.name == "last.pt":
            raise KeyboardInterrupt

    return stopping


def lines_of(code: CodeType) -> set[int]:
    """The lines that can be executed."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {line for _, _, line in code.co_lines() if line}.union(*map(lines_of, inner))


def lines_of_errors(text: str) -> set[int]:
    """What tells of an error, and what catches one."""
    kinds = (ast.Raise, ast.ExceptHandler)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def trace_lines(file: Path, folder: Path) -> set[int]:
    """The lines of the script that a run, stopped at its first save, and its resume execute."""
    seen: set[int] = set()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != str(file):
            return None
        seen.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    threading.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            train_by_script(file, folder, save=stop_at_first_save)
        train_by_script(file, folder, "--resume")
    finally:
        sys.settrace(before)
        threading.settrace(before)
    assert torch.load(folder / "last.pt", weights_only=True)["progress"]["step"] > 4
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spiral", "pictures", "table"])
def test_nearly_every_line_is_executed(
    kind: str,
    idx_folder: Path,
    table: Path,  # noqa: F811
    train: Train,
    tmp_path: Path,
) -> None:
    runs: dict[str, RunConfig] = {
        "spiral": tiny(CPU),
        "pictures": tiny_images(idx_folder, CPU),
        "table": rows_config(table, FEATURES),
    }
    file = export(train(runs[kind]), tmp_path / "train.py")
    text = file.read_text(encoding="utf-8")
    last = len(text.splitlines())  # calls main, as the test does
    lines = lines_of(compile(text, str(file), "exec")) - lines_of_errors(text) - {last}
    idle = sorted(lines - trace_lines(file, tmp_path / "run"))
    shown = "\n".join(f"{line}: {text.splitlines()[line - 1]}" for line in idle)
    assert len(idle) <= 0.05 * len(lines), f"{len(idle)} of {len(lines)} lines are never executed:\n{shown}"
