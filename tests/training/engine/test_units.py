"""Dead and saturated units: the right ones, of the activations that a network has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.training.engine.stopping import stopping_after
from tests.training.stepping import take_step
from tests.training.tiny import tiny, tiny_images, write_idx
from training.engine.assemble import assemble
from training.engine.runs.run import resume_run, start_run
from training.engine.watches.activations import find_activations
from training.engine.watches.units import Units
from training.engine.watches.watch import Given
from training.facts import DataFacts
from training.runs.folder import RunFolder
from training.runs.records.columns import ColumnsReader
from training.runs.records.units import unit_layers, unit_shares

EACH = "loop.layer_norms_every_steps=1"
POINTS = DataFacts(shape=(2,), names=("a", "b"), layout="vector", target="class")


class Own(nn.Module):
    """As a person writes it: functions, one module for several layers, a gate, an activation at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.gate, self.last = (
            nn.Linear(2, 4),
            nn.Linear(4, 4),
            nn.Linear(4, 4),
            nn.Linear(4, 1),
        )
        self.relu = nn.ReLU()

    def forward(self, points: Tensor) -> Tensor:
        hidden = functional.relu(self.first(points))
        hidden = self.relu(self.relu(self.second(hidden)) - 1)
        hidden = hidden * torch.sigmoid(self.gate(hidden))
        return torch.sigmoid(self.last(hidden)).squeeze(1)


def look(model: nn.Module, inputs: Tensor) -> dict[str, dict[str, float]]:
    """The shares of a step of one batch."""
    watch = Units(find_activations(model, POINTS), len(inputs), every=1)
    given = Given(model, *(lambda *_: None,) * 3)  # type: ignore[arg-type]
    watch.wrap(1, given).model(inputs)
    taken = watch.take()
    assert taken is not None
    assert watch.take() is None
    rows = np.zeros(1, watch.columns.row)
    rows["values"] = watch.fold(taken[None].numpy())
    layers = unit_layers(watch.columns)
    return {
        share: dict(zip(layers, unit_shares(rows, share)[0].tolist(), strict=True)) for share in ("dead", "saturated")
    }


def test_hidden_activations_of_an_own_network_are_found_by_the_layer_before_them() -> None:
    model = Own()
    found = find_activations(model, POINTS)
    assert [(each.layer, each.gives, each.call, each.units) for each in found] == [
        ("first", True, 0, 4),
        ("second", False, 0, 4),
        ("second", False, 1, 4),
    ]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_no_unit_behind_the_last_layer_with_weights_is_looked_at() -> None:
    class Logarithm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))

        def forward(self, points: Tensor) -> Tensor:
            return torch.log(torch.relu(self.body(points)))

    assert [each.layer for each in find_activations(Logarithm(), POINTS)] == ["body.0"]


def test_units_are_dead_that_no_sample_wakes_and_saturated_that_sit_at_an_end() -> None:
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid())
    first, second = model[0], model[2]
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    with torch.no_grad():
        first.weight.fill_(1.0)
        first.bias.copy_(torch.tensor([-9.0, 0.0, -9.0, -9.0]))
        second.weight.zero_()
        second.bias.copy_(torch.tensor([0.0, -9.0, 1.0, 9.0]))
    found = look(model, torch.rand(50, 2))
    assert found["dead"] == {"0": 0.75, "2": pytest.approx(np.nan, nan_ok=True)}
    assert found["saturated"] == {"0": pytest.approx(np.nan, nan_ok=True), "2": 0.5}
    first.bias.data.fill_(np.nan)  # no number is not at rest
    assert look(model, torch.rand(50, 2))["dead"]["0"] == 0


def test_units_of_a_convolution_are_its_channels(tmp_path: Path) -> None:
    session = assemble(tiny_images(write_idx(tmp_path), EACH), lambda phase, fraction: None)
    [watch] = [each for each in session.watches if isinstance(each, Units)]
    with torch.no_grad():
        session.model.get_parameter("0.bias")[1:].fill_(-1e3)
    with session.data as data:
        take_step(session, next(data.steps(0)))
    rows, taken = np.zeros(1, watch.columns.row), watch.take()
    assert taken is not None
    rows["values"] = watch.fold(taken[None].numpy())
    channels = session.config.model.channels[0]  # type: ignore[union-attr]
    assert unit_shares(rows, "dead")[0, 0] >= np.float32(1 - 1 / channels)
    assert unit_layers(watch.columns) == ("0", "3", "7")


def test_module_in_evaluation_mode_gets_no_hook() -> None:
    """Such as a frozen transformer block, which torch computes otherwise where there are hooks."""
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    watch = Units(find_activations(model, POINTS), 4, every=1)
    model[1].eval()
    given = watch.wrap(1, Given(model, *(lambda *_: None,) * 3))  # type: ignore[arg-type]
    given.model(torch.rand(4, 2))
    taken = watch.take()
    assert taken is not None
    assert taken.isnan().all()


def test_small_steps_are_looked_at_together_and_a_resumed_run_goes_on_with_the_same_rows(tmp_path: Path) -> None:
    config = tiny(
        "loop.layer_norms_every_steps=6", "loop.batch_size=32", "loop.validate_every_steps=2", "loop.max_steps=24"
    )
    whole = RunFolder(Path(start_run(config, tmp_path).folder))
    rows = ColumnsReader(whole.units_file).read()[1]
    assert rows["step"].tolist() == [3, 6, 12, 18, 24]  # three steps to a row
    stopped = RunFolder(Path(start_run(config, tmp_path, stopping_after(8)).folder))
    resume_run(str(stopped.path), tmp_path)
    assert stopped.units_file.read_bytes() == whole.units_file.read_bytes()
