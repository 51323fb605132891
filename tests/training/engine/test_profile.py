"""Where the time goes: measured on whole runs, asked for on the command line and from another process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch

from tests.training.tiny import tiny, tiny_pictures, write_idx
from training.cli import main
from training.cli.train import CONTRACT
from training.config import RunConfig, save_config
from training.control import Command, send
from training.engine.profile import ASKED_SECONDS, ASKED_STEPS, Watch
from training.engine.run import Hooks, start_run
from training.events import AttemptStarted, Event, Found, ProfileBegun, Profiled
from training.runs.folder import RunFolder
from training.runs.history import History
from training.runs.manifest import read_manifest
from training.runs.profile_record import Lap, Profile, read_profile
from training.runs.series import read_series

Kind = TypeVar("Kind", bound=Event)
Captured = pytest.CaptureFixture[str]


def profiled(config: RunConfig, workspace: Path) -> tuple[RunFolder, Profile, float]:
    """A whole run's folder, its profile, and the seconds all of it took."""
    began = time.perf_counter()
    record = start_run(config, workspace, Hooks(profile=True))
    folder = RunFolder(Path(record["folder"]))
    profile = read_profile(folder)
    assert profile is not None
    return folder, profile, time.perf_counter() - began


def digests(record: dict[str, Any]) -> dict[str, str]:
    files = read_manifest(Path(record["last_checkpoint"]))["files"]
    return {name: facts["sha256"] for name, facts in files.items()}


def test_a_run_that_is_profiled_is_the_same_run_to_the_bit(tmp_path: Path) -> None:
    config = tiny_pictures(write_idx(tmp_path / "data"))
    plain = start_run(config, tmp_path / "plain")
    watched = start_run(config, tmp_path / "watched", Hooks(profile=True))
    assert digests(watched) == digests(plain)


def test_the_parts_add_up_to_the_steps_and_fit_into_the_time_of_the_run(tmp_path: Path) -> None:
    _folder, profile, wall = profiled(tiny("loop.accumulation=2", "loop.epochs=10"), tmp_path)
    assert profile.steps + profile.first.steps == profile.last_step == 40
    assert set(profile.parts) == {"copy", "forward", "backward", "clip", "update", "logging"}
    assert sum(part.seconds for part in profile.parts.values()) == pytest.approx(profile.seconds)
    assert sum(part.mean for part in profile.parts.values()) == pytest.approx(profile.seconds / profile.steps)
    assert all(0.0 < part.median <= part.p95 for part in profile.parts.values())
    assert profile.outside["validation"].times == 10
    assert profile.outside["saving"].times >= 10
    outside = sum(spent.seconds for spent in profile.outside.values())
    assert 0.0 < profile.first.seconds + profile.seconds + outside < wall


class _Clock:
    """A clock that is told how late it is."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class _Data:
    """As much of the data as a watch asks."""

    waited = 0.0


def test_each_part_gets_its_own_seconds_and_waiting_is_told_from_copying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two micro-batches a step; the recorder sets the waiting back in the first step's logging, as a flush does."""
    clock, data = _Clock(), _Data()
    monkeypatch.setattr("training.engine.profile.time.perf_counter", clock)
    watch = Watch(data, torch.device("cpu"))  # type: ignore[arg-type]

    def lap(part: Lap, seconds: float, waited: float = 0.0) -> None:
        clock.now += seconds
        data.waited += waited
        watch.lap(part)

    lap("logging", 9.0)  # of the step in which it was asked for: not counted
    for step in range(2):
        lap("update", 0.25)
        for _ in range(2):
            lap("data", 1.0, waited=0.75)
            lap("forward", 2.0)
            lap("backward", 3.0)
        lap("clip", 0.5)
        lap("update", 1.0)
        if step == 0:
            data.waited = 0.0
            lap("logging", 0.125)
            lap("validation", 20.0, waited=5.0)
            data.waited = 0.0
            watch.fold()
        lap("logging", 0.125)
    lap("paused", 60.0)
    watch.fold(last=True)
    assert watch.steps == 2
    parts = watch.parts()
    assert {name: part.mean for name, part in parts.items()} == {
        "wait": 1.5, "copy": 0.5, "forward": 4.0, "backward": 6.0, "clip": 0.5, "update": 1.25, "logging": 0.1875,
    }  # fmt: skip
    assert parts["logging"].seconds == 0.375
    outside = watch.outside()
    assert {name: (spent.seconds, spent.times) for name, spent in outside.items()} == {
        "validation": (20.0, 1),
        "paused": (60.0, 1),
    }


def test_the_first_steps_are_kept_apart_and_long_runs_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, data = _Clock(), _Data()
    monkeypatch.setattr("training.engine.profile.time.perf_counter", clock)
    watch = Watch(data, torch.device("cpu"), warm_up=3)  # type: ignore[arg-type]
    for step in range(20_003):
        clock.now += 1024.0 if step < 3 else 1.0
        watch.lap("step")
        watch.lap("logging")
        if step % 100 == 0:
            watch.fold()
    watch.fold(last=True)
    assert (watch.first, watch.first_seconds, watch.steps) == (3, 3072.0, 20_000)
    assert watch.parts()["step"].seconds == 20_000.0
    assert watch.whole_steps() == (1.0, 1.0)
    assert len(watch._kept()) <= 4096
    assert not watch._marks[1:]  # what was added up is dropped


def test_streamed_batches_are_waited_for(tmp_path: Path) -> None:
    config = tiny_pictures(write_idx(tmp_path / "data"), "loader.mode=streamed", "loader.workers=0")
    _folder, profile, _wall = profiled(config, tmp_path / "runs")
    assert profile.batches == "streamed"
    assert profile.parts["wait"].seconds > 0.0
    assert profile.parts["copy"].seconds > 0.0


def test_the_command_line_tells_it_and_show_tells_it_later(
    tmp_path: Path, capsys: Captured, isolated_home: Path
) -> None:
    save_config(tiny(), tmp_path / "tiny.toml")
    assert main(["run", str(tmp_path / "tiny.toml"), "--profile", "--json"]) == 0
    told = capsys.readouterr()
    record = json.loads(told.out.strip().splitlines()[-1])
    assert tuple(record) == (*CONTRACT, "profile")
    assert record["profile"]["steps"] == 18
    lines = told.err.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("profile    18 steps of "))
    titles = [line.split("  ")[1] for line in lines[at + 1 : at + 7]]
    assert titles == ["Copy and prepare", "Forward", "Backward", "Clip", "Update", "Logging"]
    assert "%" in lines[at + 1]
    assert main(["show", record["folder"]]) == 0
    assert "profile    18 steps of " in capsys.readouterr().out
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
    assert (first["profile"]["steps"], again["profile"]["steps"]) == (12, 6)
    assert main(["resume", first["folder"], "--profile", "--json"]) == 0  # nothing is left to do
    told = capsys.readouterr()
    assert json.loads(told.out)["profile"] is None
    assert "profile: no step was measured." in told.err


def test_a_run_measures_when_it_is_asked_and_stops_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.engine.profile.ASKED_SECONDS", 0.05)
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
    begun, done, profile = told(folders[0], ProfileBegun), told(folders[0], Profiled), read_profile(folders[0])
    assert (len(begun), len(done)) == (1, 1)
    assert profile is not None
    assert begun[0].step + profile.steps <= profile.last_step == done[0].step < 300 * 50
    assert profile.steps == done[0].steps >= ASKED_STEPS
    assert profile.seconds >= 0.05
    assert profile.first.steps == 0


@pytest.mark.slow
def test_a_run_in_another_process_measures_when_it_is_asked(tmp_path: Path) -> None:
    """It goes on meanwhile, tells when it begins and ends, and stops measuring by itself."""
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
        begun = told(folder, ProfileBegun)[0]
        profile = read_profile(folder)
        assert profile is not None
        assert profile.steps == done.steps >= ASKED_STEPS
        assert profile.seconds >= ASKED_SECONDS
        assert begun.step + done.steps <= done.step
        assert profile.first.steps == 0
        rows = read_series(folder.series_file).size
        eventually(program, lambda: read_series(folder.series_file).size > rows)
        assert len(told(folder, ProfileBegun)) == 1
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


def test_a_profile_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    heard: list[Event] = []
    hooks = Hooks(profile=True, watch=heard.append)
    hooks.started = lambda folder: (folder.path / "profile.json" / "in the way").mkdir(parents=True)
    record = start_run(tiny(), tmp_path, hooks)
    assert record["status"] == "completed"
    titles = [event.title for event in heard if isinstance(event, Found)]
    assert any(title.startswith("The profile could not be written: ") for title in titles)


def test_too_few_steps_are_said_to_be_too_few(tmp_path: Path) -> None:
    heard: list[Event] = []
    hooks = Hooks(profile=True)

    def watch(event: Event) -> None:
        heard.append(event)
        if isinstance(event, AttemptStarted):
            hooks.control.request_stop()  # after the first step

    hooks.watch = watch
    start_run(tiny(), tmp_path, hooks)
    assert "Nothing was profiled: too few steps were made." in [e.title for e in heard if isinstance(e, Found)]
