"""Validations that keep what was answered to each sample: the same run, to the bit, with an evaluation for each of them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.training.engine.going_back import state
from tests.training.engine.stopping import stopping_at
from tests.training.evaluation.tasks import make_config, write_data
from tests.training.small_files import files_no_larger_than
from tests.training.tiny import tiny
from training.cli import main
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import resume_run, start_run
from training.evaluation import evaluate_checkpoint
from training.evaluation.kept_intervals import add_intervals
from training.events import Event, Validated
from training.predictions import Evaluation, list_evaluations, read
from training.predictions.record import evaluation_folder
from training.predictions.writing import EvaluationWriter, claim
from training.protocol.messages import AddIntervals
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.rewind import list_set_aside, restore
from training.runs.workspace import run_folders
from training.serve import serve

OFTEN = ("loop.validate_every_steps=4", "checkpoints.keep_last=9")


def run(workspace: Path, *overrides: str) -> RunFolder:
    return RunFolder(Path(start_run(tiny(*OFTEN, *overrides), workspace).folder))


def weights(folder: RunFolder) -> dict[int, str]:
    return {info.step: read_manifest(info.path).files["model.safetensors"].sha256 for info in list_checkpoints(folder)}


def columns_of(evaluation: Evaluation) -> dict[str, bytes]:
    return {name: (evaluation.folder / f"{name}.npy").read_bytes() for name in evaluation.record.columns}


def test_each_validation_is_kept_and_the_run_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = run(tmp_path, "loop.keep_predictions=true", "loop.ema_decay=0.9")
    averaged = run(tmp_path, "loop.ema_decay=0.9")
    assert weights(kept) == weights(averaged)
    validations = read_history(kept.events_file).validations
    assert [found.metrics for found in validations] == [
        found.metrics for found in read_history(averaged.events_file).validations
    ]
    found = {evaluation.record.step: evaluation for evaluation in list_evaluations(kept)}
    assert sorted(found) == [4, 8, 12, 16, 20, 24]
    for validated in validations:
        record = found[validated.step].record
        assert {f"val/{name}": measured.value for name, measured in record.metrics.items()} == validated.metrics
        assert record.checkpoint == ""
    before = columns_of(found[24])
    serve([AddIntervals(evaluation=found[24].folder)], lambda reply: None)
    intervals = read(found[24].folder).record
    assert main(["evaluate", str(kept.checkpoints / "step-00000024")]) == 0
    after = read(found[24].folder)
    assert (intervals.checkpoint, intervals.lacks_intervals) == ("", False)
    for name, measured in intervals.metrics.items():
        assert (measured.low, measured.high, measured.baseline) == (
            after.record.metrics[name].low,
            after.record.metrics[name].high,
            after.record.metrics[name].baseline,
        )
    assert intervals.per_class == after.record.per_class
    assert after.record.checkpoint == "step-00000024"
    assert columns_of(after) == before
    assert not list_evaluations(averaged)
    told = [finding for finding in read_history(kept.events_file).findings if "keeps its predictions" in finding.title]
    assert len(told) == 1


def test_what_a_run_goes_back_from_is_void_and_comes_again(tmp_path: Path) -> None:
    folder = run(tmp_path, "loop.keep_predictions=true")
    before = {found.record.step: columns_of(found) for found in list_evaluations(folder)}
    seen: list[list[int]] = []

    def look(*_args: object) -> None:
        seen.append(sorted(found.record.step for found in list_evaluations(folder)))

    resume_run(str(folder.checkpoints / "step-00000012"), tmp_path, hooks=Hooks(flushed=look))
    assert seen[0] in ([4, 8, 12], [4, 8, 12, 16])
    assert {found.record.step: columns_of(found) for found in list_evaluations(folder)} == before


@pytest.mark.parametrize(("task", "simple"), [("table class", "logistic regression"), ("tokens", "bigram")])
def test_simple_predictors_stand_beside_what_was_kept_at_every_step(task: str, simple: str, tmp_path: Path) -> None:
    config = make_config(task, write_data(tmp_path / "data"), loop={"keep_predictions": True})
    folder = RunFolder(Path(start_run(config, tmp_path).folder))
    steps = sorted(found.record.step for found in list_evaluations(folder))
    found = [add_intervals(evaluation_folder(folder, step, "validation")) for step in steps]
    kept = [each.record.metrics for each in found]
    last = evaluate_checkpoint(folder.checkpoints / f"step-{steps[-1]:08d}")
    rows = [None if each.rows is None else each.rows.to_dicts() for each in (*found, last)]
    assert all(each == rows[-1] for each in rows)
    assert (rows[-1] is not None) == (task == "table class")
    evaluated = last.record.metrics
    assert kept[-1] == {name: evaluated[name] for name in kept[-1]}
    told = [{name: (each.baseline, each.linear) for name, each in metrics.items()} for metrics in kept]
    assert told[0] == told[-1]
    assert simple in {each.name for pair in told[0].values() for each in pair if each is not None}


def test_what_was_kept_beyond_comes_back_with_the_steps(tmp_path: Path) -> None:
    folder = run(tmp_path, "loop.keep_predictions=true")
    before = state(folder)
    resume_run(str(folder.checkpoints / "step-00000012"), tmp_path, hooks=stopping_at(16))
    since = state(folder)
    assert sorted(found.record.step for found in list_evaluations(folder)) == [4, 8, 12, 16]
    [aside] = list_set_aside(folder)
    newer = restore(folder, aside)
    assert state(folder) == before
    assert newer is not None
    restore(folder, newer)
    assert state(folder) == since


def test_a_validation_that_another_process_evaluates_is_not_kept_and_the_next_one_is(tmp_path: Path) -> None:
    def evaluate_meanwhile(event: Event) -> None:
        if isinstance(event, Validated) and event.step in (4, 8):
            folder = evaluation_folder(next(iter(run_folders(tmp_path))), event.step + 4, "validation")
            held.enter_context(claim(folder)) if event.step == 4 else held.close()

    held = ExitStack()
    config = tiny(*OFTEN, "loop.keep_predictions=true")
    folder = RunFolder(Path(start_run(config, tmp_path, Hooks(watch=evaluate_meanwhile)).folder))
    assert sorted(found.record.step for found in list_evaluations(folder)) == [4, 12, 16, 20, 24]
    findings = read_history(folder.events_file).findings
    assert sum("is being computed by another process" in finding.title for finding in findings) == 1


def test_a_disk_that_is_full_ends_the_keeping_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = EvaluationWriter.append

    def append(*arguments: object) -> None:
        with files_no_larger_than(64):
            real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(EvaluationWriter, "append", append)
    folder = run(tmp_path, "loop.keep_predictions=true")
    assert folder.status().status == "completed"
    assert np.isfinite(folder.status().metrics["val/loss"])
    found = [finding for finding in read_history(folder.events_file).findings if "cannot be written" in finding.title]
    assert len(found) == 1
    assert not list_evaluations(folder)
