"""Ctrl+C and signals on the command line: a run stops, is told of and can go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.cli.train import SAME_REQUEST_SECONDS
from training.config import load_config
from training.console import Console
from training.control import LEFT_ALONE
from training.engine.runs.attempt import AT_ONCE
from training.events import Event, Stopped
from training.runs.folder import RunFolder, create_run
from training.runs.records.history import read_history


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
def pressing_twice(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, when: Callable[[Event], bool]
) -> Iterator[None]:
    """Inside, the signal ``number`` comes twice as soon as the run tells an event that ``when`` knows."""

    def event(_console: Console, event: Event) -> None:
        if when(event):
            signal.raise_signal(number)
            signal.raise_signal(number)

    with monkeypatch.context() as person:
        person.setattr(Console, "event", event)
        yield


def test_a_second_ctrl_c_ends_at_once_with_a_record(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pressing_twice(
        signal.SIGINT, monkeypatch, lambda event: event.kind == "validated" and getattr(event, "step", 0) == 16
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
    with pressing_twice(signal.SIGINT, monkeypatch, lambda event: getattr(event, "phase", "") == "building the model"):
        assert main(["run", str(config), "--json"]) == 130
    record = json_line(capsys)
    assert (record["status"], record["step"]) == ("stopped", 0)
    assert main(["resume", record["run"], "--json"]) == 0


@pytest.mark.slow
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


INTERRUPTED = """
import runpy, signal, sys
house, name, *sys.argv[1:] = sys.argv[1:]
class Interrupting:
    def find_spec(self, found, path=None, target=None):
        if found == name:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
runpy.run_module(house, run_name="__main__", alter_sys=True)
"""
"""A program that is told to end while it looks for a module."""


@pytest.mark.parametrize(
    ("house", "name"),
    [
        ("training", "training.cli"),
        pytest.param("training", "torch._C", marks=pytest.mark.slow),
        pytest.param("training", "training.engine.step", marks=pytest.mark.slow),
        ("studio", "torch"),
    ],
)
def test_ctrl_c_while_libraries_are_loaded_ends_in_one_sentence(
    config: Path, tmp_path: Path, house: str, name: str
) -> None:
    words = ["run", str(config), "--workspace", str(tmp_path / "w")]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, house, name, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted while the program was being loaded.\n")
    assert not (tmp_path / "w").exists()


@pytest.mark.slow
def test_ctrl_c_at_any_moment_after_the_start_ends_in_one_sentence(config: Path, tmp_path: Path) -> None:
    """The first moments are Python's own: what it says then is not ours to mend."""
    command = [sys.executable, "-X", "importtime", "-m", "training", "run", str(config), "--set", "loop.epochs=9999"]
    for number in range(0, 13, 2):
        workspace = tmp_path / str(number)
        with subprocess.Popen(
            [*command, "--workspace", str(workspace)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if line.endswith(" training.arguments\n"):  # the first that is imported after the handler is set
                    break
            time.sleep(number * 0.15)
            process.send_signal(signal.SIGINT)
            _output, error = process.communicate(timeout=200)
        said = [line for line in error.splitlines() if not line.startswith("import time:")]
        assert process.returncode == 130, said
        if (workspace / "runs").exists():
            assert any(line.startswith("stopped at step") for line in said)
        else:
            (sentence,) = said  # the other one between two imports
            assert sentence.startswith(("Interrupted while the program was being loaded.", "Interrupted at once; "))


@pytest.mark.parametrize("where", ["import", "build", "forward"])
def test_a_second_sigterm_ends_a_network_that_never_answers(
    config: Path, tmp_path: Path, capsys: Captured, where: str
) -> None:
    network = tmp_path / "network.py"
    network.write_text(ENDLESS.replace("WHERE", repr(where)), encoding="utf-8")
    words = ["--set", "model.kind=user_file", "--set", f"model.path={network}", "--trust", "--json"]
    assert main(["run", str(config), *words]) == 130
    record = json_line(capsys)
    assert (record["status"], record["step"], record["reason"]) == ("stopped", 0, AT_ONCE)


ENDLESS = f"""
import signal, time, torch

def stay(here):
    if here == WHERE:
        signal.raise_signal(signal.SIGTERM)
        time.sleep({2 * SAME_REQUEST_SECONDS})
        signal.raise_signal(signal.SIGTERM)
        time.sleep(20)

class Net(torch.nn.Linear):
    def forward(self, points):
        if self.training and points.device.type != "meta":
            stay("forward")
        return super().forward(points)

def build():
    stay("build")
    return Net(2, 3)

stay("import")
"""


def test_a_sigterm_that_comes_twice_at_once_is_one_request(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``timeout`` tells the process, and then its group."""
    with pressing_twice(
        signal.SIGTERM, monkeypatch, lambda event: event.kind == "validated" and getattr(event, "step", 0) == 16
    ):
        assert main(["run", str(config), "--json"]) == 130
    record = json_line(capsys)
    assert (record["status"], record["reason"]) == ("stopped", None)
    assert Path(record["last_checkpoint"]).name == f"step-{record['step']:08d}"


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
