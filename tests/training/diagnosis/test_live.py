"""The diagnosis of runs at work, through the engine: what is told, when, and that nothing else changes by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.training.engine.stopping import stopping_at
from tests.training.tiny import tiny
from training.diagnosis import live, read_recorded, replay
from training.diagnosis.judges import CODES
from training.diagnosis.looks import Plan
from training.engine.runs.run import resume_run, start_run
from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import checkpoint_folders

QUIET = ("checkpoints.every_steps=1000", "loop.decision_boundary=off", "model.dropout=0.0")
# A rate that is harmless while it is low, and throws the weights away once it has risen.
DIVERGES = (
    *QUIET,
    *("optimizer.kind=sgd", "optimizer.lr=90", "optimizer.momentum=0", "optimizer.nesterov=false", "loop.clip_norm=0"),
    *("schedule.kind=linear", "schedule.warmup=50 %", "schedule.warmup_start_factor=0.0001", "loop.epochs=20"),
)


def folder_of(record: StatusRecord) -> RunFolder:
    return RunFolder(Path(record.folder))


def told(folder: RunFolder) -> list[tuple[str, str, int, int | None, int | None, str]]:
    return [_words(each) for each in read_history(folder.events_file).findings if each.code in CODES]


def _words(each: Finding) -> tuple[str, str, int, int | None, int | None, str]:
    return each.code, each.level, each.step, each.since, each.cleared_at, each.title


def curve_words(folder: RunFolder) -> list[tuple[str, str, int, int | None, int | None, str]]:
    """Without what the machine's speed decides."""
    return [words for words in told(folder) if not words[0].startswith("machine.")]


@pytest.fixture(scope="module")
def diverged(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return folder_of(start_run(tiny(*DIVERGES), tmp_path_factory.mktemp("diverged")))


def test_divergence_is_told_while_the_run_trains_and_found_again_afterwards(diverged: RunFolder) -> None:
    words = told(diverged)
    assert next(code for code, *_ in words if code.startswith("loss.")) == "loss.diverged"
    assert words == [_words(each) for each in replay(read_recorded(diverged))]


@pytest.mark.slow
def test_overfitting_is_told_at_work_by_the_samples_own_losses_and_its_fix_cures(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    values = draws.normal(size=(600, 8))
    answers = np.where(values[:, 0] + draws.normal(size=600) > 0, "yes", "no")
    rows = [f"{','.join(f'{value:.4f}' for value in row)},{y}" for row, y in zip(values, answers, strict=True)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["a,b,c,d,e,f,g,h,y", *rows]) + "\n")
    overfits = (
        *(*QUIET, "dataset.kind=table", f"dataset.path={table}", 'dataset.targets=["y"]'),
        *("dataset.validation_fraction=0.33", "model.hidden=[128, 128]", "optimizer.lr=0.003"),
        *("optimizer.weight_decay=0", "schedule.kind=constant", "loop.epochs=25", "loop.keep_predictions=true"),
    )
    folder = folder_of(start_run(tiny(*overfits), tmp_path))
    [at_work] = [each for each in read_history(folder.events_file).findings if each.code == "fit.over"]
    [found] = [each for each in replay(read_recorded(folder)) if each.code == "fit.over"]
    assert (found.level, _words(found)) == ("warning", _words(at_work))
    cured = folder_of(start_run(tiny(*overfits, *(f"{name}={value}" for name, value in found.fix.items())), tmp_path))
    sick, well = (read_recorded(each).metric_values("val/loss")[1][-1] for each in (folder, cured))
    assert well < 0.85 * sick
    assert "fit.over" not in [each.code for each in replay(read_recorded(cured)) if each.level == "warning"]


@pytest.mark.parametrize("at", [120])
def test_a_resumed_run_tells_what_an_unbroken_one_does(diverged: RunFolder, tmp_path: Path, at: int) -> None:
    stopped = start_run(tiny(*DIVERGES), tmp_path, stopping_at(at))
    assert stopped.status == "stopped"
    resumed = resume_run(str(stopped.folder), tmp_path)
    assert resumed.status == "completed"
    assert curve_words(folder_of(resumed)) == curve_words(diverged)


def test_looks_change_nothing_of_the_run(diverged: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "plan_looks", lambda *plan: Plan((), frozenset()))
    unwatched = folder_of(start_run(tiny(*DIVERGES), tmp_path))
    assert not [words for words in told(unwatched) if words[0] == "loss.diverged"]
    assert unwatched.series_file.read_bytes() == diverged.series_file.read_bytes()
    one, other = (load_file(checkpoint_folders(folder)[0] / "model.safetensors") for folder in (unwatched, diverged))
    assert one.keys() == other.keys()
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)
