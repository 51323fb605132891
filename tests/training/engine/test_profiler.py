"""A profile taken of whole runs, asked for on the command line and from another process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.training.engine.compile.uncompiled import compile_nothing
from tests.training.tiny import tiny, tiny_images, write_idx
from training.cli import main
from training.cli.train import CONTRACT
from training.config import RunConfig, save_config
from training.control import Command, send
from training.engine import profiler
from training.engine.runs.run import Hooks, start_run
from training.events import AttemptStarted, Event, Finding, Profiled
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.history import History
from training.runs.records.manifest import read_manifest
from training.runs.records.series import read_series
from training.runs.step_profile import Profile, read_profile

Kind = TypeVar("Kind", bound=Event)
Captured = pytest.CaptureFixture[str]


def profiling(**hooks: Any) -> Hooks:
    """Asks for a profile from the start."""
    made = Hooks(**hooks)
    made.control.profile = True
    return made


def profile_run(config: RunConfig, workspace: Path) -> tuple[Profile, float]:
    """The profile of a whole run, and the seconds all of it took."""
    began = time.perf_counter()
    record = start_run(config, workspace, profiling())
    profile = read_profile(RunFolder(Path(record.folder)))
    assert profile is not None
    return profile, time.perf_counter() - began


def digests(record: StatusRecord) -> dict[str, str]:
    files = read_manifest(Path(str(record.last_checkpoint))).files
    return {name: facts.sha256 for name, facts in files.items()}


def test_a_run_that_is_profiled_is_the_same_run_to_the_bit(tmp_path: Path) -> None:
    config = tiny_images(write_idx(tmp_path / "data"))
    plain = start_run(config, tmp_path / "plain")
    watched = start_run(config, tmp_path / "watched", profiling())
    assert digests(watched) == digests(plain)


@pytest.mark.slow
def test_the_parts_fit_into_the_time_of_the_run(tmp_path: Path) -> None:
    profile, wall = profile_run(tiny("loop.accumulation=2", "loop.epochs=10", "loop.ema_decay=0.9"), tmp_path)
    assert (
        36 <= profile.steps < 40
    )  # without those before the first flush, an epoch's end or, where that takes long, a step
    assert profile.last_step == 40
    assert list(profile.parts) == ["copy", "forward", "backward", "clip", "update", "logging"]
    assert all(seconds > 0.0 for seconds in profile.parts.values())
    assert set(profile.outside) == {"validation", "saving"}
    assert profile.seconds + sum(profile.outside.values()) < wall
    assert profile.busy is None


@pytest.mark.slow
def test_the_parts_of_a_compiled_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_nothing(monkeypatch)
    profile, _wall = profile_run(tiny("precision.compile=step"), tmp_path)
    assert list(profile.parts) == ["copy", "step", "logging"]


def test_streamed_batches_are_waited_for(tmp_path: Path) -> None:
    config = tiny_images(write_idx(tmp_path / "data"), "loader.mode=streamed", "loader.workers=0")
    profile, _wall = profile_run(config, tmp_path / "runs")
    assert profile.parts["wait"] > 0.0
    assert profile.parts["copy"] > 0.0


def test_the_command_line_tells_it_and_show_tells_it_later(
    tmp_path: Path, capsys: Captured, isolated_home: Path
) -> None:
    save_config(tiny(), tmp_path / "tiny.toml")
    assert main(["run", str(tmp_path / "tiny.toml"), "--profile", "--json"]) == 0
    told = capsys.readouterr()
    record = json.loads(told.out.strip().splitlines()[-1])
    assert tuple(record) == (*CONTRACT, "profile")
    steps = record["profile"]["steps"]
    assert 20 <= steps < 24  # from the first flush on: the fourth step's, or where a step takes long one before
    lines = told.err.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"profile    {steps} steps of "))
    titles = [line.split("  ")[1] for line in lines[at + 1 : at + 7]]
    assert titles == ["Copy and augment", "Forward", "Backward", "Gradient clipping", "Optimizer step", "Logging"]
    assert "%" in lines[at + 1]
    assert main(["show", record["folder"]]) == 0
    assert f"profile    {steps} steps of " in capsys.readouterr().out
    assert main(["show", record["folder"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["profile"] == record["profile"]


def test_without_being_asked_there_is_none(tmp_path: Path, capsys: Captured, isolated_home: Path) -> None:
    save_config(tiny(), tmp_path / "tiny.toml")
    assert main(["run", str(tmp_path / "tiny.toml"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert tuple(record) == CONTRACT
    assert not (Path(record["folder"]) / "profile.json").exists()
    assert main(["show", record["folder"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["profile"] is None


def test_resume_profiles_its_own_steps_and_tells_no_earlier_ones(
    tmp_path: Path, capsys: Captured, isolated_home: Path
) -> None:
    save_config(tiny("loop.max_steps=16"), tmp_path / "tiny.toml")
    assert main(["run", str(tmp_path / "tiny.toml"), "--profile", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    checkpoint = Path(first["folder"]) / "checkpoints" / "step-00000008"
    assert main(["resume", str(checkpoint), "--profile", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert 12 <= first["profile"]["steps"] < 16
    assert 4 <= again["profile"]["steps"] < 8
    assert main(["resume", first["folder"], "--profile", "--json"]) == 0  # nothing is left to do
    told = capsys.readouterr()
    assert json.loads(told.out)["profile"] is None
    assert "profile: no step was measured." in told.err


def test_a_run_measures_when_it_is_asked_and_stops_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiler, "SECONDS", 0.05)
    config = tiny("loop.epochs=300", "checkpoints.every_steps=100000", "dataset.samples=2000")
    hooks, folders = Hooks(), list[RunFolder]()
    hooks.started = folders.append

    def watch(event: Event) -> None:
        if isinstance(event, AttemptStarted):
            send(folders[0].path, Command.PROFILE)
        if isinstance(event, Profiled):
            hooks.control.request_stop()

    hooks.watch = watch
    start_run(config, tmp_path, hooks)
    done, profile = told(folders[0], Profiled), read_profile(folders[0])
    assert len(done) == 1
    assert profile is not None
    assert profile.last_step == done[0].step < 300 * 50
    assert profile.steps == done[0].steps >= profiler.LEAST_STEPS


@pytest.mark.slow
def test_a_run_in_another_process_measures_when_it_is_asked(tmp_path: Path) -> None:
    """It goes on meanwhile, tells when it ends, and stops measuring by itself."""
    save_config(tiny("loop.epochs=1000000", "checkpoints.every_steps=1000000"), tmp_path / "tiny.toml")
    command = [sys.executable, "-m", "training", "run", str(tmp_path / "tiny.toml"), "--workspace", str(tmp_path)]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        series = eventually(
            program, lambda: [path for path in tmp_path.glob("runs/*/series.bin") if read_series(path).size]
        )
        folder = RunFolder(series[0].parent)
        send(folder.path, Command.PROFILE)
        done = eventually(program, lambda: told(folder, Profiled))[0]
        profile = read_profile(folder)
        assert profile is not None
        assert profile.steps == done.steps >= profiler.LEAST_STEPS
        rows = read_series(folder.series_file).size
        eventually(program, lambda: read_series(folder.series_file).size > rows)
        assert len(told(folder, Profiled)) == 1
    finally:
        program.kill()
        program.wait()


def eventually(program: subprocess.Popen[bytes], look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert program.poll() is None, "the program ended"
        if seen := look():
            return seen
        time.sleep(0.2)
    raise AssertionError("it never came")


def told(folder: RunFolder, kind: type[Kind]) -> list[Kind]:
    return [event for event in History(folder.events_file).poll() if isinstance(event, kind)]


@pytest.mark.slow
def test_a_profile_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    heard: list[Event] = []
    hooks = profiling(watch=heard.append)
    hooks.started = lambda folder: (folder.path / "profile.json" / "in the way").mkdir(parents=True)
    record = start_run(tiny(), tmp_path, hooks)
    assert record.status == "completed"
    titles = [event.title for event in heard if isinstance(event, Finding)]
    assert any(title.startswith("The profile could not be written: ") for title in titles)
