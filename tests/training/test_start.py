"""What is loaded before the first step, and before a wrong word is told: only what that needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import sys
from training.cli import main
code = main(sys.argv[1:])
print(code, *(name for name in ("pydantic", "torch", "torch._dynamo", "sympy") if name in sys.modules))
"""


def loaded(*words: str) -> list[str]:
    """The exit code of a command line, and which of the slow libraries it has loaded by its end."""
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.slow
def test_a_run_loads_no_compiler_that_it_does_not_use(tmp_path: Path) -> None:
    words = ["run", "preset:spiral", "--set", "loop.epochs=1", "--set", "schedule.warmup=0"]
    assert loaded(*words, "--workspace", str(tmp_path)) == ["0", "pydantic", "torch"]


@pytest.mark.parametrize(
    "words",
    [["run", "missing.toml"], ["run", "broken.toml"], ["run", "preset:spiral", "--wrong"], ["rnu"], ["generate"]],
)
def test_wrong_words_are_told_before_anything_is_loaded(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text("[loop\n")
    assert loaded(*words) == ["2"]


def test_wrong_settings_and_runs_that_are_not_there_are_told_before_torch_is_loaded(tmp_path: Path) -> None:
    there = ["--workspace", str(tmp_path)]
    assert loaded("run", "preset:spiral", "--set", "loop.epochs=many", *there) == ["2", "pydantic"]
    assert loaded("export", "nosuch", "--to", "onnx", "--out", str(tmp_path / "x"), *there) == ["2", "pydantic"]
    assert loaded("resume", "nosuch", *there) == ["2", "pydantic"]
