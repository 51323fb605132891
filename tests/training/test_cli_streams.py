"""The command line where its streams are closed, full or read by nobody, and where there is no memory for torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main

if sys.platform != "linux":
    pytest.skip("asks /dev/full and /proc", allow_module_level=True)

BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""As a person's terminal has it: what cannot be written stays in the stream."""


def shell(line: str, *words: str, unbuffered: bool = False) -> tuple[int, str, str]:
    """How ``line`` ends, in which ``"$@"`` are ``words``, and what it says on its two streams."""
    environment = BUFFERED | ({"PYTHONUNBUFFERED": "1"} if unbuffered else {})
    command = ["bash", "-c", f"set -o pipefail; {line}", sys.executable, "-m", "training", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


PROGRAM = '"$0" "$@"'


@pytest.fixture
def run(config: Path, tmp_path: Path, capsys: Captured) -> list[str]:
    """A completed run: its id, and the words that say where it lies."""
    workspace = ["--workspace", str(tmp_path / "w")]
    assert main(["run", str(config), "--set", "loop.epochs=1", "--json", *workspace]) == 0
    return [json_line(capsys)["run"], *workspace]


@pytest.mark.slow
def test_closed_streams_cost_no_run_its_exit_code(config: Path, tmp_path: Path) -> None:
    words = ["run", str(config), "--set", "loop.epochs=1", "--json", "--workspace", str(tmp_path)]
    code, _, error = shell(f"{PROGRAM} >&-", *words)
    assert code == 0
    assert error.splitlines()[-1].startswith("completed at step 8")
    code, output, _ = shell(f"{PROGRAM} <&- 2>&-", *words)
    assert (code, json.loads(output)["status"]) == (0, "completed")
    runs = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/status.json")]
    assert [record["status"] for record in runs] == ["completed"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", [False, True])
def test_what_takes_no_output_is_called_by_its_name(run: list[str], unbuffered: bool) -> None:
    told = "Standard output: No space left on device; check the file it goes to, its permissions and the disk.\n"
    assert shell(f"{PROGRAM} >/dev/full", "show", *run, unbuffered=unbuffered) == (2, "", told)
    if not unbuffered:
        assert shell(f"{PROGRAM} >&-", "show", *run) == (0, "", "")
        assert shell(f"{PROGRAM} | true", "schema") == (0, "", "")
        assert shell(f"{PROGRAM} 2>/dev/full", "show", "nothing", *run[1:]) == (2, "", "")


def test_a_line_break_in_a_path_breaks_no_line(config: Path, tmp_path: Path, capsys: Captured) -> None:
    workspace = ["--workspace", str(tmp_path / "a\nb")]
    assert main(["run", str(config), "--set", "loop.epochs=1", "--json", *workspace]) == 0
    captured = capsys.readouterr()
    run = json.loads(captured.out)["run"]
    assert f"run {run} in {tmp_path}/a\\nb/runs/{run}\n" in captured.err
    assert "\nb" not in captured.err
    assert main(["show", run, *workspace]) == 0
    assert f"folder     {tmp_path}/a\\nb/runs/{run}\n" in capsys.readouterr().out


@pytest.mark.slow
def test_a_terminal_shows_a_line_that_changes_and_gets_its_cursor_back(config: Path, tmp_path: Path) -> None:
    words = ["run", str(config), "--set", "loop.epochs=1", "--workspace", str(tmp_path)]
    code, text, _ = shell(PROGRAM, *words)
    assert (code, "\x1b" in text) == (0, False)
    command = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    terminal = [sys.executable, "-c", command, sys.executable, "-m", "training", *words]
    done = subprocess.run(terminal, capture_output=True, text=True, check=True, env=BUFFERED | {"TERM": "xterm"})
    assert "preparing" in done.stdout or "reading" in done.stdout
    assert done.stdout.rindex("\x1b[?25h") > done.stdout.rindex("\x1b[?25l")  # its cursor
    assert "completed at step 8, " in done.stdout.rstrip().splitlines()[-1]


def test_rich_is_loaded_by_tables_and_terminals_alone() -> None:
    code = "import sys, training.cli, training.cli.train, training.cli.records; print('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
