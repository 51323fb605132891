"""Asked to end, in whatever it is doing, a run stops after the step, keeps everything and can go on to the bit."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.training.tiny import tiny
from training.config import RunConfig, save_config
from training.control import Command, send
from training.engine.runs.run import Hooks, resume_run, start_run
from training.events import Event, PhaseChanged, Stopped
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import checkpoint_folders, list_checkpoints, read_manifest
from training.runs.records.series import read_series
from training.runs.workspace import run_folders

if sys.platform == "win32":
    pytest.skip("Windows has none of these signals", allow_module_level=True)

pytestmark = pytest.mark.timeout(900)

LONG = 300.0  # seconds: a busy machine may need as long to load torch in three processes

COMMAND = [sys.executable, "-m", "training"]
EPOCHS = 15
"""Of 48 steps: so many that a run is asked to stop long before it is over, however late a busy machine lets the test ask."""

BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""As a person's terminal has it: what cannot be written stays in the stream."""

SHAPES = (
    'dataset={kind="shapes", samples=600, image_size=16, flip=true}',
    'model={kind="small_cnn", channels=[4, 4], hidden=8, dropout=0.2}',
    "loop.batch_size=10",
)


def outcome(folder: RunFolder) -> tuple[Any, ...]:
    newest = list_checkpoints(folder)[0]
    history = read_history(folder.events_file)
    validations = [(item.step, dict(item.metrics)) for item in history.validations]
    return read_manifest(newest.path).files, read_series(folder.series_file).tobytes(), validations


def asked_in(phase: str) -> Hooks:
    """Hooks that ask for a stop, as a signal's handler does, when the engine enters ``phase``."""
    hooks = Hooks()

    def watch(event: Event) -> None:
        if isinstance(event, PhaseChanged) and event.phase == phase:
            hooks.control.request_stop()

    hooks.watch = watch
    return hooks


@pytest.mark.parametrize("phase", ["preparing data", "training", "validating", "saving"])
def test_asked_to_stop_in_any_phase_a_run_goes_on_to_the_bit(tmp_path: Path, phase: str) -> None:
    config = tiny("loader.mode=resident")
    whole = RunFolder(Path(start_run(config, tmp_path).folder))
    record = start_run(config, tmp_path, asked_in(phase))
    folder = RunFolder(Path(record.folder))
    assert record.status == ("completed" if phase == "saving" else "stopped")
    if phase != "saving":
        assert isinstance(read_history(folder.events_file).final, Stopped)
        assert bool(checkpoint_folders(folder)) == (phase != "preparing data")
        assert resume_run(folder.id, tmp_path).status == "completed"
    assert outcome(folder) == outcome(whole)


class Training:
    """A run in a process, and a process group, of its own."""

    def __init__(self, config: RunConfig, workspace: Path, terminal: int | None = None) -> None:
        workspace.mkdir(exist_ok=True)
        save_config(config, workspace / "config.toml")
        self.errors = workspace / "stderr.txt"
        self.workspace = workspace
        with self.errors.open("wb") as stream:
            self.process = subprocess.Popen(
                [*COMMAND, "run", str(workspace / "config.toml"), "--workspace", str(workspace)],
                stdin=terminal if terminal is not None else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=terminal if terminal is not None else stream,
                start_new_session=True,
                env=BUFFERED,
            )

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_reason: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def folder(self) -> RunFolder:
        [folder] = run_folders(self.workspace)
        return folder

    def wait_until(self, true: Callable[[], Any], meanwhile: Callable[[], Any] = lambda: None) -> None:
        deadline = time.monotonic() + LONG
        while not true():
            meanwhile()
            assert self.process.poll() is None, "the run ended too early: " + self.errors.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def wait_for_steps(self, steps: int, meanwhile: Callable[[], Any] = lambda: None) -> None:
        self.wait_until(
            lambda: run_folders(self.workspace) and len(read_series(self.folder.series_file)) >= steps, meanwhile
        )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    return outcome(RunFolder(Path(start_run(streamed(), tmp_path_factory.mktemp("whole")).folder)))


def streamed() -> RunConfig:
    return tiny(*SHAPES, f"loop.epochs={EPOCHS}", "loader.mode=streamed", "loader.workers=2")


def assert_stopped_and_same(training: Training, whole: tuple[Any, ...]) -> None:
    folder = training.folder
    assert folder.status().status == "stopped"
    assert len(read_series(folder.series_file)) < 48 * EPOCHS, "the run was over before it was asked"
    assert list_checkpoints(folder)[0].step == folder.status().step
    assert resume_run(folder.id, training.workspace).status == "completed"
    assert outcome(folder) == whole


@pytest.mark.slow
def test_a_signal_to_all_processes_of_a_run_with_workers(tmp_path: Path, whole: tuple[Any, ...]) -> None:
    """As a terminal sends Ctrl+C. A service manager's SIGTERM is heard by the next test's run."""
    with Training(streamed(), tmp_path / "run") as training:
        training.wait_for_steps(20)
        helpers = psutil.Process(training.process.pid).children(recursive=True)
        assert len(helpers) >= 2
        os.killpg(training.process.pid, signal.SIGINT)
        assert training.process.wait(timeout=LONG) == 130
        assert "Traceback" not in training.errors.read_text()
        assert "KeyboardInterrupt" not in training.errors.read_text()
        assert psutil.wait_procs(helpers, timeout=LONG)[1] == []
        assert_stopped_and_same(training, whole)


@pytest.mark.slow
def test_a_paused_run_stops_at_a_signal(tmp_path: Path, whole: tuple[Any, ...]) -> None:
    with Training(streamed(), tmp_path / "run") as training:
        training.wait_for_steps(20)
        send(training.folder.path, Command.PAUSE)
        training.wait_until(lambda: training.folder.status().status == "paused")
        training.process.terminate()
        assert training.process.wait(timeout=LONG) == 130
        assert_stopped_and_same(training, whole)


@pytest.fixture
def hearing_hang_ups() -> Iterator[None]:
    """What ``nohup`` has told these tests to ignore, their processes would ignore as well."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
@pytest.mark.usefixtures("hearing_hang_ups")
def test_a_closed_terminal_stops_the_run_and_loses_nothing(tmp_path: Path, whole: tuple[Any, ...]) -> None:
    master, slave = os.openpty()
    with Training(streamed(), tmp_path / "run", terminal=slave) as training:
        os.close(slave)
        os.set_blocking(master, False)

        def look() -> None:
            """As a terminal shows what is written: one that does not would hold the run up when it is full."""
            with suppress(OSError):  # nothing is there
                os.read(master, 65536)

        try:
            training.wait_for_steps(20, meanwhile=look)
        finally:
            os.close(master)  # from now on every word to the terminal is an error
        os.killpg(training.process.pid, signal.SIGHUP)
        training.process.wait(timeout=LONG)
        assert_stopped_and_same(training, whole)


@pytest.mark.slow
def test_a_reader_of_the_output_that_goes_away_stops_nothing(tmp_path: Path, whole: tuple[Any, ...]) -> None:
    save_config(streamed(), tmp_path / "config.toml")
    command = shlex.join([*COMMAND, "run", str(tmp_path / "config.toml"), "--workspace", str(tmp_path)])
    assert shutil.which("sh")
    subprocess.run(["sh", "-c", f"{command} 2>&1 | head -n 1"], stdout=subprocess.DEVNULL, env=BUFFERED, check=True)
    [folder] = run_folders(tmp_path)
    deadline = time.monotonic() + LONG
    while folder.status().status == "running" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert folder.status().status == "completed"
    assert outcome(folder) == whole
