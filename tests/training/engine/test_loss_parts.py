"""Parts of a combined loss as curves of their own."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.training.catalog.task_samples import small
from tests.training.commands import Captured, json_line
from tests.training.engine.compile.uncompiled import compile_nothing
from tests.training.engine.stopping import stopping_after
from tests.training.stepping import take_step
from training.cli import main
from training.config import RunConfig
from training.core.losses import split_answers
from training.engine.assemble import assemble
from training.engine.runs.run import branch_run, resume_run, start_run
from training.engine.session import Session
from training.engine.watches.loss_parts import LossParts
from training.runs.folder import RunFolder
from training.runs.records.columns import Columns, ColumnsReader
from training.runs.records.series import read_series
from training.runs.rewind import list_set_aside, restore

THREE = (
    "loop.batch_size=5",
    "loop.accumulation=3",
    "model.dropout=0.0",
    "loop.max_steps=8",
    "loop.epochs=8",
    "loop.validate_every_steps=2",
)
"""Micro-batches, the last of an epoch shorter, over several epochs."""

SUM = ("objective.loss=weighted_sum", "objective.mse_weight=0.5", "objective.l1_weight=2", "objective.huber_weight=3")
TASKS = {
    "regression": SUM,
    "segmentation": ("objective.loss=dice_cross_entropy", "objective.dice_weight=0.3"),
    "distillation": ("objective.temperature=3", "objective.alpha=0.6", "seed=5"),
    "multi_task": ("objective.weights=[0.5, 2]",),
}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("taught")
    return Path(start_run(small("classification", folder), folder).folder)


def config_of(task: str, folder: Path, teacher: Path) -> RunConfig:
    return small(task, folder, *TASKS[task], *THREE, teacher=teacher)


def prepare(task: str, folder: Path, teacher: Path) -> Session:
    return assemble(config_of(task, folder, teacher), lambda phase, fraction: None)


def read_parts(folder: RunFolder) -> tuple[Columns | None, np.ndarray]:
    reader = ColumnsReader(folder.parts_file)
    rows = reader.read()[1]
    return reader.columns, rows


def reference(task: str, outputs: Tensor, targets: Tensor) -> dict[str, float]:
    """Of a whole step's samples at once, by torch's own classes."""
    if task == "regression":
        losses = {"mse": nn.MSELoss(), "l1": nn.L1Loss(), "huber": nn.HuberLoss()}
        return {name: loss(outputs, targets).item() for name, loss in losses.items()}
    if task == "distillation":
        truth, answers = split_answers(targets, outputs.shape[1])
        kept = nn.KLDivLoss(reduction="batchmean")
        soft = kept(functional.log_softmax(outputs / 3, 1), functional.softmax(answers.double() / 3, 1))
        return {"soft": soft.item(), "hard": nn.CrossEntropyLoss()(outputs, truth).item()}
    if task == "multi_task":  # a column of two classes and one of numbers, by their names
        found = {"big": nn.BCEWithLogitsLoss(), "sum": nn.MSELoss()}
        return {name: loss(outputs[:, at], targets[:, at]).item() for at, (name, loss) in enumerate(found.items())}
    chances, overlaps = outputs.softmax(1), []
    for image, mask in zip(chances, targets, strict=True):
        counted, scores = mask != -100, []
        for number in mask[counted].unique():
            true, given = (mask == number)[counted].double(), image[number][counted]
            scores.append(1 - (2 * (given * true).sum() + 1) / (given.sum() + true.sum() + 1))
        overlaps.append(torch.stack(scores).mean())
    dice = torch.stack(overlaps).mean().item()
    return {"cross_entropy": nn.CrossEntropyLoss()(outputs, targets).item(), "dice": dice}


@pytest.mark.parametrize("task", TASKS)
def test_parts_of_a_step_are_those_of_all_its_samples_in_float64(task: str, tmp_path: Path, teacher: Path) -> None:
    session = prepare(task, tmp_path, teacher)
    with session.data as data:
        window = list(data.rebuild_step(0, 0))
        assert len(window) == 3
        targets = torch.cat([batch.targets for batch in window])
        known = session.objective.spread
        outputs = torch.cat([session.model(batch.inputs) for batch in window]).detach().double()
        if known is not None:
            mean, std = torch.tensor(known, dtype=torch.float64)
            targets = (targets.double() - mean) / std
        wanted = reference(task, outputs, targets)
        loss, _ = take_step(session, next(data.steps(0, 0)))
        [watch] = [each for each in session.watches if isinstance(each, LossParts)]
        found = watch.take()
    assert found is not None
    assert dict(zip(watch.columns.names, found.tolist(), strict=True)) == pytest.approx(wanted, rel=1e-5)
    shares = [session.objective.parts[name] for name in wanted]
    total = math.fsum(share * part for share, part in zip(shares, wanted.values(), strict=True))
    assert loss.item() == pytest.approx(total, rel=1e-5)
    assert watch.take() is None  # once


@pytest.mark.parametrize("task", TASKS)
def test_parts_of_every_step_add_up_to_its_loss(task: str, tmp_path: Path, teacher: Path) -> None:
    folder = RunFolder(Path(start_run(config_of(task, tmp_path, teacher), tmp_path).folder))
    columns, rows = read_parts(folder)
    losses = read_series(folder.series_file)
    assert columns is not None
    assert rows["step"].tolist() == losses["step"].tolist() == list(range(1, 9))
    total = rows["values"].astype(np.float64) @ columns.shares
    np.testing.assert_allclose(total, losses["loss"], rtol=2e-6)
    assert (rows["values"] > 0).all()


@pytest.mark.parametrize("task", TASKS)
def test_weights_are_the_same_to_the_bit_without_looking(task: str, tmp_path: Path, teacher: Path) -> None:
    weights, losses = [], []
    for watched in (True, False):
        session = prepare(task, tmp_path, teacher)
        if not watched:
            session.watches.clear()
        with session.data as data:
            losses.append([take_step(session, window)[0].item() for window in data.steps(0, 0)])
        weights.append([parameter.detach().clone() for parameter in session.parameters])
    assert losses[0] == losses[1]
    assert all(map(torch.equal, *weights))


def test_show_tells_the_newest_parts_and_norms(tmp_path: Path, capsys: Captured) -> None:
    config = small("regression", tmp_path, *SUM, *THREE, "loop.layer_norms_every_steps=3")
    folder = RunFolder(Path(start_run(config, tmp_path).folder))
    assert main(["show", folder.id, "--workspace", str(tmp_path), "--json"]) == 0
    shown = json_line(capsys)
    parts, values = shown["parts"], read_parts(folder)[1]["values"][-1].tolist()
    assert parts["step"] == 8
    assert [part["value"] for part in parts["values"].values()] == values
    assert {name: part["share"] for name, part in parts["values"].items()} == {"mse": 0.5, "l1": 2.0, "huber": 3.0}
    layers = shown["layers"]
    assert layers["step"] == 6
    for norms in layers["norms"].values():
        assert norms["ratio"] == pytest.approx(norms["update"] / norms["weight"])


def test_compiled_steps_say_that_parts_are_not_recorded_and_keep_the_norms_they_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of several batches is compiled up to its gradients: the norms are taken of those."""
    compile_nothing(monkeypatch)
    for accumulation, norms in ((1, False), (2, True)):
        config = small(
            "regression", tmp_path, *SUM, "precision.compile=step", f"loop.accumulation={accumulation}",
            "loop.layer_norms_every_steps=1",
        )  # fmt: skip
        folder = RunFolder(Path(start_run(config, tmp_path).folder))
        assert len(read_parts(folder)[1]) == 0
        assert "The parts of the loss (mse, l1, huber) are not recorded" in folder.events_file.read_text()
        assert folder.layers_file.exists() == norms
        assert not folder.units_file.exists()


def test_loss_of_one_term_has_no_parts(tmp_path: Path) -> None:
    folder = RunFolder(Path(start_run(small("regression", tmp_path), tmp_path).folder))
    assert not folder.parts_file.exists()


def test_resumed_run_goes_on_where_its_parts_were_and_a_branch_begins_with_them(tmp_path: Path) -> None:
    config = small("regression", tmp_path, *SUM, *THREE, "checkpoints.every_steps=2", "checkpoints.keep_last=9")
    whole = RunFolder(Path(start_run(config, tmp_path).folder))
    stopped = RunFolder(Path(start_run(config, tmp_path, stopping_after(4)).folder))
    assert len(read_parts(stopped)[1]) < 8
    resume_run(str(stopped.path), tmp_path)
    assert stopped.parts_file.read_bytes() == whole.parts_file.read_bytes()
    branch = branch_run(whole.checkpoints / "step-00000004", config, tmp_path, stopping_after(4))
    columns, rows = read_parts(RunFolder(Path(branch.folder)))
    assert (columns, rows[:4].tobytes()) == (read_parts(whole)[0], read_parts(whole)[1][:4].tobytes())


def test_going_back_sets_the_parts_aside_and_brings_them_back(tmp_path: Path) -> None:
    config = small("regression", tmp_path, *SUM, *THREE, "checkpoints.every_steps=2", "checkpoints.keep_last=9")
    folder = RunFolder(Path(start_run(config, tmp_path).folder))
    before = folder.parts_file.read_bytes()
    resume_run(str(folder.checkpoints / "step-00000004"), tmp_path, ["loop.max_steps=8"], stopping_after(6))
    assert len(read_parts(folder)[1]) < 8
    [aside] = list_set_aside(folder)
    assert (aside.path / "parts.bin").read_bytes() == before
    restore(folder, aside)
    assert folder.parts_file.read_bytes() == before


def test_damaged_file_is_begun_again_with_a_word(tmp_path: Path) -> None:
    config = small("regression", tmp_path, *SUM, *THREE)
    folder = RunFolder(Path(start_run(config, tmp_path, stopping_after(4)).folder))
    folder.parts_file.write_bytes(b"no columns")
    resume_run(str(folder.path), tmp_path)
    assert read_parts(folder)[1]["step"][-1] == 8
    assert "parts.bin was damaged and is begun again." in folder.events_file.read_text()
