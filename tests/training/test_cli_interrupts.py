"""Ctrl+C and signals on the command line: a run stops, is told of and can go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.config import load_config
from training.console import Console
from training.control import LEFT_ALONE
from training.events import Event, Stopped
from training.runs.folder import RunFolder, create_run
from training.runs.history import read_history


def test_ctrl_c_stops_after_the_step_and_the_run_can_be_resumed(config: Path) -> None:
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "training", "run", str(config), "--set", "loop.epochs=5000", "--json"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "step" in line and "val/loss" in line:
                break
        process.send_signal(2)
        output, _error = process.communicate(timeout=200)
    assert process.returncode == 130
    record = json.loads(output.strip().splitlines()[-1])
    assert record["status"] == "stopped"
    assert Path(record["last_checkpoint"]).name == f"step-{record['step']:08d}"


@contextmanager
def pressing_ctrl_c_twice(monkeypatch: pytest.MonkeyPatch, when: Callable[[Event], bool]) -> Iterator[None]:
    """Inside, SIGINT comes twice as soon as the run tells an event that ``when`` knows."""

    def event(_console: Console, event: Event) -> None:
        if when(event):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as person:
        person.setattr(Console, "event", event)
        yield


def test_a_second_ctrl_c_ends_at_once_with_a_record(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pressing_ctrl_c_twice(
        monkeypatch, lambda event: event.kind == "validated" and getattr(event, "step", 0) == 16
    ):
        assert main(["run", str(config), "--json"]) == 130
    record = json_line(capsys)
    assert (record["status"], record["step"]) == ("stopped", 16)
    folder = RunFolder(Path(record["folder"]))
    assert isinstance(read_history(folder.events_file).final, Stopped)
    assert max(path.name for path in folder.checkpoints.iterdir()) == "step-00000012"  # 16 was not saved
    assert main(["resume", record["run"], "--json"]) == 0
    assert json_line(capsys)["step"] == 24


def test_a_second_ctrl_c_while_data_is_prepared_ends_with_a_record(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pressing_ctrl_c_twice(monkeypatch, lambda event: getattr(event, "phase", "") == "building the model"):
        assert main(["run", str(config), "--json"]) == 130
    record = json_line(capsys)
    assert (record["status"], record["step"]) == ("stopped", 0)
    assert main(["resume", record["run"], "--json"]) == 0


def test_two_signals_to_a_real_process_end_in_one_record(config: Path) -> None:
    command = [sys.executable, "-m", "training", "run", str(config), "--set", "loop.epochs=5000", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "step" in line and "val/loss" in line:
                    break
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)
            output, error = process.communicate(timeout=200)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in error
    assert json.loads(output.strip().splitlines()[-1])["status"] == "stopped"


def test_a_run_that_is_held_stops_and_is_kept_when_nobody_holds_it_any_more(
    config: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = create_run(tmp_path / "w", load_config(config, ["loop.epochs=5000"]))
    ours, theirs = os.pipe()

    def event(_console: Console, event: Event) -> None:
        if event.kind == "validated" and getattr(event, "step", 0) == 8:
            os.close(theirs)

    monkeypatch.setattr(Console, "event", event)
    with os.fdopen(ours) as held:
        monkeypatch.setattr(sys, "stdin", held)
        assert main(["resume", str(folder.path), "--workspace", str(tmp_path / "w"), "--json", "--while-held"]) == 130
    record = json_line(capsys)
    assert record["status"] == "stopped"
    assert record["reason"] == LEFT_ALONE
    assert Path(record["last_checkpoint"]).name == f"step-{record['step']:08d}"
