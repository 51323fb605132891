"""Norms of gradient, weights and update of each layer: the right ones, of steps that they do not change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.training.engine.stopping import stopping_after
from tests.training.stepping import take_step
from tests.training.tiny import tiny, tiny_images, write_idx
from training.config import RunConfig
from training.engine.assemble import assemble
from training.engine.runs.run import resume_run, start_run
from training.engine.session import Session
from training.engine.watches.interval import choose_interval
from training.engine.watches.layer_norms import LayerNorms, group_layers, record_seconds
from training.runs.folder import RunFolder
from training.runs.records.columns import ColumnsReader
from training.runs.records.layers import MEASURED, layer_norms, layers_of
from training.runs.records.series import read_series

EACH = "loop.layer_norms_every_steps=1"
SGD = (
    "optimizer.kind=sgd",
    "optimizer.lr=0.05",
    "optimizer.momentum=0.0",
    "optimizer.nesterov=false",
    "schedule.kind=constant",
)


def prepare(config: RunConfig) -> Session:
    return assemble(config, lambda phase, fraction: None)


def watch_of(session: Session) -> LayerNorms:
    [watch] = [each for each in session.watches if isinstance(each, LayerNorms)]
    return watch


def taken(watch: LayerNorms) -> np.ndarray:
    """(3, layers)"""
    found = watch.take()
    assert found is not None
    return watch.fold(found[None].numpy()).reshape(len(MEASURED), -1)


def norms(tensors: dict[str, Tensor]) -> dict[str, float]:
    """In float64, by the module of each."""
    squares: dict[str, float] = {}
    for name, tensor in tensors.items():
        module = name.rpartition(".")[0]
        squares[module] = squares.get(module, 0.0) + tensor.detach().double().square().sum().item()
    return {module: square**0.5 for module, square in squares.items()}


def read_norms(folder: RunFolder) -> tuple[tuple[str, ...], np.ndarray]:
    reader = ColumnsReader(folder.layers_file)
    rows = reader.read()[1]
    assert reader.columns is not None
    return layers_of(reader.columns), rows


@pytest.mark.parametrize("clipping", ["loop.clip_norm=0.01", "loop.clip_value=0.001", "loop.clip_norm=0"])
def test_norms_are_those_of_float64_and_of_gradients_before_clipping(clipping: str, tmp_path: Path) -> None:
    """Also over several micro-batches: the gradients are their sum."""
    session = prepare(tiny_images(write_idx(tmp_path), EACH, clipping, "model.dropout=0"))
    reference = prepare(tiny_images(tmp_path, "loop.layer_norms=false", clipping, "model.dropout=0"))
    reference.clip = lambda parameters: torch.tensor(float("nan"))  # makes no step, and leaves the gradients
    watch, model = watch_of(session), session.model
    with session.data, reference.data:
        take_step(reference, next(reference.data.steps(0)))
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        take_step(session, next(session.data.steps(0)))
    found = dict(zip(MEASURED, taken(watch), strict=True))
    gradients = {name: parameter.grad for name, parameter in reference.model.named_parameters()}
    wanted = {
        "gradient": norms({name: tensor for name, tensor in gradients.items() if tensor is not None}),
        "weight": norms(before),
        "update": norms({name: parameter - before[name] for name, parameter in model.named_parameters()}),
    }
    layers = layers_of(watch.columns)
    assert list(layers) == list(wanted["weight"])
    for quantity, values in wanted.items():
        assert dict(zip(layers, found[quantity].tolist(), strict=True)) == pytest.approx(values, rel=1e-5)


def test_plain_descent_moves_each_layer_by_the_rate_times_its_gradient() -> None:
    """A closed form: without momentum, decay and clipping, ratio = lr * gradient / weight."""
    session = prepare(tiny(EACH, *SGD, "optimizer.weight_decay=0.0", "loop.clip_norm=0"))
    with session.data as data:
        take_step(session, next(data.steps(0)))
    rows = np.zeros(1, watch_of(session).columns.row)
    rows["values"] = taken(watch_of(session)).reshape(1, -1)
    wanted = 0.05 * layer_norms(rows, "gradient") / layer_norms(rows, "weight")
    np.testing.assert_allclose(layer_norms(rows, "ratio"), wanted, rtol=1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("loop.accumulation=3", "loop.ema_decay=0.9", "loop.clip_norm=0.1"),
        ("optimizer.freeze=all_but_head", "optimizer.unfreeze_epoch=1"),
        ("precision.compute=bf16", "model.activation=tanh"),
        ("precision.activation_checkpointing=true", "loop.accumulation=2"),
    ],
)
def test_weights_and_curve_are_the_same_to_the_bit_without(settings: tuple[str, ...], tmp_path: Path) -> None:
    runs = [start_run(tiny(norms, *settings), tmp_path) for norms in (EACH, "loop.layer_norms=false")]
    folders = [RunFolder(Path(run.folder)) for run in runs]
    weights = [Path(str(run.last_checkpoint)) / "model.safetensors" for run in runs]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert folders[0].series_file.read_bytes() == folders[1].series_file.read_bytes()
    assert folders[0].units_file.exists()
    assert not any(path.exists() for path in folders[1].column_files)
    layers, rows = read_norms(folders[0])
    total = np.sqrt(np.square(layer_norms(rows, "gradient").astype(np.float64)).sum(1))
    np.testing.assert_allclose(total, read_series(folders[0].series_file)["grad_norm"], rtol=1e-5)
    assert len(layers) == 3


def test_frozen_layer_gets_nothing_and_a_skipped_step_changes_nothing() -> None:
    session = prepare(tiny(EACH))
    first = next(session.model.parameters())
    first.requires_grad_(False)
    watch, guard = watch_of(session), session.guard
    with session.data as data:
        steps = data.steps(0)
        take_step(session, next(steps))
        values = watch.take()
        assert values is not None
        gradient, _, update = values.reshape(3, -1)
        assert (gradient[0], update[0]) == (0.0, 0.0)
        assert (gradient[1:] > 0).all()
        session.clip = lambda parameters: torch.tensor(float("inf"))
        take_step(session, next(steps))
        assert session.guard is guard
        assert (taken(watch)[2] == 0).all()


def test_resumed_run_records_the_same_and_each_nth_step_is_written(tmp_path: Path) -> None:
    config = tiny("loop.layer_norms_every_steps=3", "loop.validate_every_steps=2")
    whole = RunFolder(Path(start_run(config, tmp_path).folder))
    assert read_norms(whole)[1]["step"].tolist() == [1, 3, 6, 9, 12, 15, 18, 21, 24]
    stopped = RunFolder(Path(start_run(config, tmp_path, stopping_after(10)).folder))
    assert read_norms(stopped)[1]["step"][-1] < 24
    resume_run(str(stopped.path), tmp_path)
    assert stopped.layers_file.read_bytes() == whole.layers_file.read_bytes()


def test_ratio_of_weights_that_are_zero_is_no_number() -> None:
    session = prepare(tiny(EACH))
    watch = watch_of(session)
    rows = np.zeros(1, watch.columns.row)
    rows["values"] = [[0.0, 1, 1, 0, 2, 4, 5, 1, 2]]
    ratio = layer_norms(rows, "ratio")
    assert np.isnan(ratio[0, 0])
    assert ratio[0, 1:].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("names", "most", "wanted"),
    [
        (["a.weight", "a.bias", "b.weight"], 9, {"a": [0, 1], "b": [2]}),
        (["scale", "a.weight"], 9, {"scale": [0], "a": [1]}),
        (["a.0.x.weight", "a.0.y.weight", "a.1.x.weight", "b.weight"], 3, {"a.0": [0, 1], "a.1": [2], "b": [3]}),
        (["a.0.x.weight", "a.0.y.weight", "a.1.x.weight", "b.weight"], 2, {"a": [0, 1, 2], "b": [3]}),
        (["a.weight", "b.weight", "c.weight"], 2, {"a to b": [0, 1], "c": [2]}),
        ([], 9, {}),
    ],
)
def test_layers_are_modules_and_deeper_ones_are_merged(
    names: list[str], most: int, wanted: dict[str, list[int]]
) -> None:
    assert group_layers(names, most) == wanted


def test_interval_follows_from_what_is_computed() -> None:
    """A tiny network's steps are little beside a record; those of a network that computes much are not."""
    session = prepare(tiny())
    facts, record = session.data.facts, 5e-5
    little = choose_interval(session.model, facts, 32, 100_000, record)
    assert choose_interval(session.model, facts, 10**6, 100_000, record) == 20 < little < 200
    assert choose_interval(session.model, facts, 10**6, 10**6, record) == 200
    assert choose_interval(session.model, facts, 32, 1000, record) == pytest.approx(little / 2, abs=1), "of a short run"
    large = nn.Sequential(nn.Linear(2, 4000), nn.Linear(4000, 4000), nn.Linear(4000, 3))
    assert choose_interval(large, facts, 1, 1000, record_seconds(large)) > 50
