"""Damage to the files of a run folder: noticed and said, or made anew; never a run that silently is another one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.training.engine.stopping import stopping_at
from tests.training.tiny import tiny
from training.config import RunConfig
from training.engine.runs.run import resume_run, start_run
from training.runs import owner
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import read_labels, read_manifest
from training.runs.records.series import read_series
from training.runs.storage import RESERVE_FILE
from training.system.process import machine

DEAD = {"pid": 4_000_000, "born": "1", "machine": "", "host": "here", "since": "2026-01-01 08:00"}


def config() -> RunConfig:
    return tiny("loop.validate_every_steps=6", "loop.ema_decay=0.9", "loader.mode=resident")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return RunFolder(Path(start_run(config(), tmp_path_factory.mktemp("whole")).folder))


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run as a kill in step 19 of 24 leaves it."""
    folder = RunFolder(Path(start_run(config(), tmp_path_factory.mktemp("cut"), stopping_at(18)).folder))
    (folder.path / "owner.json").write_text(json.dumps(DEAD | {"machine": machine()}))
    (folder.path / "commands.jsonl").write_text('{"command": "pause"}\n')
    (folder.path / RESERVE_FILE).write_bytes(bytes(100))
    folder.log_file.write_text("what happened\n" * 100)
    folder.write_status(folder.status().model_copy(update={"status": "running"}))
    return folder


def copy_of(folder: RunFolder, workspace: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(folder.path, workspace / "runs" / folder.id)))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x01
    path.write_bytes(data)


def hole(path: Path) -> None:
    data = bytearray(path.read_bytes())
    start = max(len(data) // 2 - 2048, 0)
    data[start : start + 4096] = bytes(len(data[start : start + 4096]))
    path.write_bytes(data)


def truncate_to(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


DAMAGES: dict[str, Callable[[Path], None]] = {
    "flipped": flip,
    "hole": hole,
    "cut short": lambda path: truncate_to(path, path.stat().st_size // 2),
    "empty": lambda path: truncate_to(path, 0),
    "deleted": Path.unlink,
}


def digests(folder: RunFolder) -> dict[str, Any]:
    return {name: facts.sha256 for name, facts in read_manifest(folder.checkpoints / "step-00000024").files.items()}


FILES = (
    "config.toml", "status.json", "environment.json", "packages.json", "data.json", "splits.safetensors", "events.jsonl", "series.bin",
    "telemetry.bin", "labels.json", "commands.jsonl", "owner.json", "log.txt", "evaluation.json", "boundary.bin",
    "layers.bin", "units.bin", "open.trainwright", RESERVE_FILE,
)  # fmt: skip
SEALED = ("environment.json", "data.json")
NEWEST = tuple(
    f"checkpoints/step-00000018/{name}"
    for name in ("manifest.json", "model.safetensors", "ema.safetensors", "state.pt")
)


def test_every_file_of_a_run_is_damaged_below(broken_off: RunFolder) -> None:
    files = {str(path.relative_to(broken_off.path)) for path in broken_off.path.rglob("*") if path.is_file()}
    files = {
        name for name in files if not name.endswith(".pyramid")
    }  # made again by itself: tests/training/runs/test_kept_pyramid
    assert {name for name in files if "/" not in name or "00018/" in name} == {*FILES, *NEWEST}


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        pytest.param(name, damage, marks=() if (number + place) % 5 == 0 else pytest.mark.slow)
        for number, name in enumerate((*FILES, *NEWEST))
        for place, damage in enumerate(DAMAGES)
        if damage != ("hole", "empty")[number % 2]  # two ways of ending too early, which the same readers meet
        # What is on disk for good when it is relied on has digests, or is the person's to put back.
        if name != "config.toml" and (damage not in ("flipped", "hole") or name in (*NEWEST, *SEALED))
    ],
)
def test_a_damaged_file_is_said_or_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken_off: RunFolder, whole: RunFolder, name: str, damage: str
) -> None:
    monkeypatch.setattr(owner, "WATCH_SECONDS", 0.2)  # a damaged claim may seem to be another machine's
    folder = copy_of(broken_off, tmp_path)
    DAMAGES[damage](folder.path / name)
    record = resume_run(str(folder.path), tmp_path)
    assert record.status == "completed"
    assert digests(folder) == digests(whole)
    assert read_labels(folder) == read_labels(whole)
    best = whole.status().best
    assert record.best is not None
    assert best is not None
    assert record.best.value == best.value
    assert record.metrics == whole.status().metrics
    assert folder.config() == whole.config()
    history = read_history(folder.events_file)
    told = " ".join(f"{item.title} {item.advice}" for item in history.findings)
    if read_series(folder.series_file).tobytes() != read_series(whole.series_file).tobytes():
        assert "series.bin was damaged" in told
    if name.startswith("checkpoints/step-00000018"):
        assert "A newer checkpoint is damaged" in told
        assert history.attempts[-1].step == 16


def test_facts_that_were_changed_are_not_believed(tmp_path: Path, broken_off: RunFolder, whole: RunFolder) -> None:
    """Neither that the data was other data, nor that another number of threads adds up."""
    folder = copy_of(broken_off, tmp_path)
    data, environment = json.loads(folder.data_file.read_text()), json.loads(folder.environment_file.read_text())
    folder.data_file.write_text(json.dumps(data | {"fingerprint": "0" * 64}))
    folder.environment_file.write_text(json.dumps(environment | {"threads": environment["threads"] + 1}))
    assert resume_run(str(folder.path), tmp_path).status == "completed"
    assert digests(folder) == digests(whole)
    assert read_history(folder.events_file).attempts[-1].environment.threads == environment["threads"]
    assert json.loads(folder.data_file.read_text()) == data
    assert json.loads(folder.environment_file.read_text())["threads"] == environment["threads"]
