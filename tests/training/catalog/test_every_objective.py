"""Every task of the catalog trains, is saved, goes on to the same bits, and is exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import first_of
from tests.training.catalog.task_samples import small
from tests.training.catalog.whole_way import export, train_and_resume
from training.catalog import OBJECTIVES
from training.config import apply_overrides, parse_config
from training.engine.runs.run import start_run
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.evaluation import read_evaluation
from training.runs.records.manifest import read_manifest

ACCUMULATED = ("loop.batch_size=5", "loop.accumulation=3")
FORMS: dict[str, tuple[str, ...]] = {
    "classification": (),
    "classification, balanced": (*ACCUMULATED, "objective.balanced=true", "objective.label_smoothing=0.1"),
    "classification, with ranking metrics": ("objective.ranking_metrics=true", "checkpoints.monitor=val/auroc"),
    "binary": (),
    "binary, balanced, fp16": (*ACCUMULATED, "objective.balanced=true", "precision.compute=fp16"),
    "multi_label": (),
    "multi_label, balanced": (*ACCUMULATED, "objective.balanced=true", "checkpoints.monitor=val/subset_accuracy"),
    "regression": (),
    "regression, weighted sum": (*ACCUMULATED, "objective.loss=weighted_sum", "objective.huber_weight=2.0"),
    "regression, as it is": ("objective.standardise=false", "objective.loss=huber", "precision.compute=bf16"),
    "ranking": (),
    "ranking, accumulated": (*ACCUMULATED, "precision.compute=fp16", "loop.ema_decay=0.9"),
    "distillation": (),
    "distillation, accumulated": (*ACCUMULATED, "objective.alpha=1.0", "loop.ema_decay=0.9"),
    "embedding": (),
    "embedding, triplets": (*ACCUMULATED, "objective.loss=triplet_margin", "objective.ranking_metrics=true"),
    "embedding, as it is": ("objective.loss=contrastive", "objective.normalize=false", "loop.ema_decay=0.9"),
    "segmentation": (),
    "segmentation, dice": (*ACCUMULATED, "objective.loss=dice", "precision.compute=fp16"),
    "segmentation, both": (*ACCUMULATED, "objective.loss=dice_cross_entropy", "objective.balanced=true"),
    "segmentation, one logit": ("objective.loss=dice_bce", "objective.class_weights=[1, 2]"),
    "multi_task": (),
    "multi_task, accumulated": (
        *ACCUMULATED,
        "objective.loss=huber",
        "checkpoints.monitor=val/sum/r2",
        "loop.ema_decay=0.9",
    ),
    "language_model": (),
    "language_model, smoothed": (*ACCUMULATED, "objective.label_smoothing=0.1", "precision.compute=bf16"),
}


def test_every_task_has_its_runs() -> None:
    assert {form.partition(",")[0] for form in FORMS} | {"user_loss"} == {
        row.kind for row in OBJECTIVES
    }  # that one: `test_own_loss`


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a larger network over the data that the distilling ones have."""
    folder = tmp_path_factory.mktemp("teacher")
    return Path(start_run(small("classification", folder, "model.hidden=[32, 32]"), folder).folder)


@pytest.mark.parametrize("form", first_of(FORMS))
def test_trains_and_goes_on_to_the_same_bits(form: str, teacher: Path, tmp_path: Path) -> None:
    kind = form.partition(",")[0]
    config = small(kind, tmp_path / "data", *FORMS[form], teacher=teacher)
    last = train_and_resume(config, tmp_path, step=2)
    export(last, tmp_path / "exported")
    manifest = read_manifest(last)
    folder = RunFolder(last.parent.parent)
    found = {name.removeprefix("val/") for name in manifest.metrics if name.startswith("val/")}
    absent = {"top5_accuracy"} if kind == "classification" else set()
    measured = {"big/accuracy", "big/auroc", "sum/r2", "sum/rmse", "sum/mae"} if kind == "multi_task" else set()
    assert found == {"loss", *config.objective.metrics, *measured} - absent
    best = folder.status().best
    assert best is not None
    assert best.metric == config.monitor
    evaluation = read_evaluation(folder, "validation")
    assert (evaluation is None) == (kind in ("ranking", "embedding", "multi_task", "language_model"))
    if evaluation is not None:
        names = json.loads(folder.data_file.read_text())["classes"]
        assert list(evaluation.names) == names
        assert evaluation.step == best.step


def test_another_task_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="top5_accuracy is not measured here, because the data has only 3 classes"):
        start_run(small("classification", tmp_path, "checkpoints.monitor=val/top5_accuracy"), tmp_path)
    with pytest.raises(InputError, match="binary needs exactly two classes, but the data has 3"):
        start_run(small("binary", tmp_path, "dataset.kind=blobs"), tmp_path)
    assert not list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize(
    ("kind", "overrides", "planted"),
    [
        ("regression", (), "1e6,-1e6"),
        ("multi_label", ("objective.balanced=true",), "1,1"),
        ("classification", ("objective.balanced=true",), "yes"),
    ],
)
def test_nothing_is_learned_from_what_is_planted_in_the_validation_rows(
    kind: str, overrides: tuple[str, ...], planted: str, tmp_path: Path
) -> None:
    """Neither class weights nor the spread of the targets: the weights are the same to the bit."""
    weights, losses = [], []
    for name, plant in (("plain", False), ("planted", True)):
        folder = tmp_path / name
        task = {"classification": "class", "multi_label": "labels", "regression": "values"}[kind]
        targets = {"classification": ["t"], "multi_label": ["t", "u"], "regression": ["t", "u"]}[kind]
        rows = [",".join(["part", "x", "y", *targets])]
        for number in range(60):
            truth = {
                "classification": "yes" if number % 7 == 0 else "no",
                "multi_label": f"{number % 2},{number % 3 // 2}",
            }
            target = truth.get(kind, f"{number * 0.7},{-number}")
            judges = number % 5 == 4
            target = planted if plant and judges else target
            rows.append(f"{'validation' if judges else 'train'},{number % 11},{number % 13},{target}")
        folder.mkdir()
        (folder / "rows.csv").write_text("\n".join(rows) + "\n")
        dataset = {
            "kind": "table",
            "path": str(folder / "rows.csv"),
            "task": task,
            "targets": targets,
            "split_column": "part",
        }
        data: dict[str, Any] = {
            "name": kind,
            "dataset": dataset,
            "model": {"kind": "mlp", "hidden": [8]},
            "objective": {"kind": kind},
            "loop": {"batch_size": 12, "max_steps": 4},
        }
        apply_overrides(data, overrides)
        record = start_run(parse_config(data), tmp_path)
        weights.append((Path(str(record.last_checkpoint)) / "model.safetensors").read_bytes())
        losses.append((record.metrics["train/loss"], record.metrics["val/loss"]))
    assert weights[0] == weights[1]
    assert losses[0][0] == losses[1][0]
    assert losses[0][1] != losses[1][1]  # it was planted
