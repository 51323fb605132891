"""Several targets at once: the loss is the weighted sum of torch's own losses, each target is measured by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from tests.training.catalog.whole_way import train_and_resume
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.objectives.passes import evaluate_batches
from training.config import RunConfig, apply_overrides, parse_config
from training.config.sections.multi_task import MultiTask
from training.engine.runs.run import start_run
from training.errors import ConfigError, InputError
from training.export import export_checkpoint
from training.facts import DataFacts
from training.objectives import make_objective
from training.runs.records.manifest import read_manifest

CPU = torch.device("cpu")
FACTS = DataFacts(
    layout="vector",
    shape=(3,),
    target="tasks",
    names=("species", "price", "ripe"),
    samples=100,
    target_mean=(0.0, 4000.0, 0.0),
    target_std=(1.0, 3000.0, 1.0),
    target_classes=(("oak", "ash", "elm"), (), ("no", "yes")),
)


def drawn(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Outputs (n, 5) and targets (n, 3)."""
    generator = torch.Generator().manual_seed(seed)
    outputs = torch.randn(count, 5, dtype=torch.float64, generator=generator)
    classes = [torch.randint(high, (count,), generator=generator).double() for high in (3, 2)]
    price = torch.randn(count, dtype=torch.float64, generator=generator) * 3000 + 4000
    return outputs, torch.stack([classes[0], price, classes[1]], 1)


def apart(outputs: Tensor, targets: Tensor, loss: str) -> list[Tensor]:
    """torch's own loss of each target."""
    errors: dict[str, Callable[..., Tensor]] = {
        "mse": functional.mse_loss,
        "l1": functional.l1_loss,
        "huber": functional.huber_loss,
    }
    return [
        functional.cross_entropy(outputs[:, :3], targets[:, 0].long()),
        errors[loss](outputs[:, 3], (targets[:, 1] - 4000.0) / 3000.0),
        functional.binary_cross_entropy_with_logits(outputs[:, 4], targets[:, 2]),
    ]


@pytest.mark.parametrize("weights", [(), (2.0, 0.5, 0.25)])
@pytest.mark.parametrize("loss", ["mse", "l1", "huber"])
def test_the_gradient_is_the_weighted_sum_of_the_targets_own(loss: Any, weights: tuple[float, ...]) -> None:
    objective = make_objective(MultiTask(loss=loss, weights=weights), FACTS, CPU)
    outputs, targets = drawn(13)
    ours, theirs = outputs.clone().requires_grad_(), outputs.clone().requires_grad_()

    step = objective.loss(ours[:8], targets[:8], 13) + objective.loss(ours[8:], targets[8:], 13)  # two micro-batches
    step.backward()
    wanted = sum(w * part for w, part in zip(weights or (1.0,) * 3, apart(theirs, targets, loss), strict=True))
    assert isinstance(wanted, Tensor)
    wanted.backward()

    assert step.item() == pytest.approx(wanted.item(), rel=1e-12)
    assert ours.grad is not None
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-12, atol=1e-15)
    assert dict(objective.parts) == dict(zip(FACTS.names, weights or (1.0,) * 3, strict=True))


def test_each_target_is_measured_by_itself() -> None:
    outputs, targets = drawn(40)
    outputs, targets = outputs.float(), targets.float()

    found, _ = evaluate_batches(
        make_objective(MultiTask(), FACTS, CPU), list(zip(outputs.split(9), targets.split(9), strict=True))
    )

    species = (outputs[:, :3].argmax(1) == targets[:, 0]).float().mean()
    ripe = ((outputs[:, 4] >= 0) == (targets[:, 2] > 0.5)).float().mean()
    errors = outputs[:, 3].double() * 3000.0 + 4000.0 - targets[:, 1].double()
    assert found["species/accuracy"] == pytest.approx(species.item(), abs=1e-6)
    assert found["ripe/accuracy"] == pytest.approx(ripe.item(), abs=1e-6)
    assert found["price/mae"] == pytest.approx(errors.abs().mean().item(), rel=1e-6)
    assert found["price/rmse"] == pytest.approx(errors.square().mean().sqrt().item(), rel=1e-6)
    assert {"species/f1", "ripe/auroc", "price/r2"} <= set(found)
    assert "species/auroc" not in found


def test_weights_are_one_for_each_target() -> None:
    with pytest.raises(
        InputError, match=r"objective\.weights: has 2 numbers, but there are 3 targets \(species, price, ripe\)"
    ):
        make_objective(MultiTask(weights=(1.0, 2.0)), FACTS, CPU)


# ------------------------------------------------------------------------------------------------------------ runs


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows whose kind has three classes, whose age few whole numbers, whose height fractions, and who stand or not."""
    draw = np.random.default_rng(0)
    lines = ["size,weight,kind,age,height,stands"]
    for number in range(150):
        size, weight = draw.normal(size=2)
        kind = ("oak", "ash", "elm")[int(size > 0) + int(weight > 0)]
        lines.append(
            f"{size:.4f},{weight:.4f},{kind},{3 + number % 5},{300 + 40 * (size - weight):.3f},{str(size > weight).lower()}"
        )
    path = tmp_path_factory.mktemp("trees") / "trees.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def tree_config(path: Path, *overrides: str) -> RunConfig:
    data: dict[str, Any] = {
        "name": "trees",
        "dataset": {
            "kind": "table",
            "path": str(path),
            "task": "tasks",
            "targets": ["kind", "height", "age", "stands"],
            "numeric_targets": ["age"],
        },
        "model": {"kind": "mlp", "hidden": [16], "dropout": 0.1},
        "objective": {"kind": "multi_task", "weights": [1.0, 2.0, 0.5, 1.0]},
        "optimizer": {"kind": "adamw", "lr": 0.01},
        "schedule": {"kind": "constant"},
        "loop": {"epochs": 3, "batch_size": 16, "accumulation": 2},
        "precision": {"device": "cpu"},
        "checkpoints": {"every_steps": 4},
    }
    apply_overrides(data, overrides)
    return parse_config(data)


@pytest.mark.slow
@pytest.mark.parametrize("monitor", ["auto", "val/height/r2", "val/kind/f1", "val/stands/auroc"])
def test_a_table_of_several_targets_goes_on_to_the_same_bits_and_leaves_as_a_script(
    monitor: str, trees: Path, tmp_path: Path
) -> None:
    config = tree_config(trees, f"checkpoints.monitor={monitor}")
    last = train_and_resume(config, tmp_path / "ws", step=4)
    metrics = read_manifest(last).metrics
    assert {"val/kind/accuracy", "val/height/r2", "val/age/mae", "val/stands/auroc"} <= set(metrics)
    file = export(last, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(last, tmp_path / "run")


def test_several_targets_are_learned_together(trees: Path, tmp_path: Path) -> None:
    record = start_run(tree_config(trees, "loop.epochs=40", "loop.accumulation=1", "model.dropout=0"), tmp_path)
    metrics = read_manifest(Path(str(record.last_checkpoint))).metrics
    assert metrics["val/kind/accuracy"] > 0.8
    assert metrics["val/stands/accuracy"] > 0.8
    assert metrics["val/height/r2"] > 0.9
    assert not math.isnan(metrics["val/age/r2"])  # of which the features say nothing


def test_images_of_several_targets(tmp_path: Path) -> None:
    random, lines = np.random.default_rng(0), ["file,shade,level"]
    for number in range(60):
        level = int(random.integers(20, 230))
        Image.fromarray(np.full((16, 16, 3), level, np.uint8)).save(tmp_path / f"{number}.png")
        lines.append(f"{number}.png,{'light' if level > 120 else 'dark'},{level / 255:.4f}")
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    dataset = {
        "kind": "image_table",
        "path": str(tmp_path / "labels.csv"),
        "task": "tasks",
        "targets": ["shade", "level"],
    }
    config = parse_config(
        {
            "dataset": dataset,
            "model": {"kind": "small_cnn", "channels": [4, 8], "hidden": 8},
            "objective": {"kind": "multi_task"},
            "loop": {"epochs": 2, "batch_size": 16},
            "precision": {"device": "cpu"},
        }
    )
    record = start_run(config, tmp_path / "ws")
    assert record.status == "completed", record.reason
    last = Path(str(record.last_checkpoint))
    assert {"val/shade/accuracy", "val/level/r2"} <= set(read_manifest(last).metrics)
    assert export_checkpoint(last, "script", tmp_path / "train.py").max_difference == 0.0
    train_by_script(tmp_path / "train.py", tmp_path / "run")
    assert_same_run(last, tmp_path / "run")


REFUSED = {
    "an unknown column": (('dataset.targets=["kind", "girth"]', "objective.weights=[]"), "dataset.targets: .*girth"),
    "one target twice": (('dataset.targets=["kind", "kind"]', "objective.weights=[]"), "dataset.targets: names the column 'kind' twice"),
    "a single one": (('dataset.targets=["kind"]', "objective.weights=[]"), "dataset.targets: multi_task learns two targets at least"),
    "a weight of 0": (("objective.weights=[1, 0, 1, 1]",), r"objective\.weights\.1: must be greater than 0"),
    "too few weights": (("objective.weights=[1, 2]",), r"objective\.weights: has 2 numbers, but dataset\.targets names 4 columns"),
    "a metric of no target": (("checkpoints.monitor=val/girth/r2",), r"checkpoints\.monitor: 'val/girth/r2' is not measured|is no metric"),
    "a metric of another kind": (("checkpoints.monitor=val/kind/r2",), r"val/kind/r2 is not measured here, because its target is of another"),
    "a number that is no target": (('dataset.numeric_targets=["size"]',), r"dataset\.numeric_targets: 'size' is none of the columns"),
}  # fmt: skip


@pytest.mark.parametrize("refusal", REFUSED)
def test_refused_by_name(refusal: str, trees: Path, tmp_path: Path) -> None:
    overrides, sentence = REFUSED[refusal]
    with pytest.raises((ConfigError, InputError), match=sentence):
        start_run(tree_config(trees, *overrides), tmp_path)
