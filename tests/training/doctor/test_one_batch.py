"""Fit one batch: a healthy network learns its samples, a sick one is told with the change that cures it; it can be ended, and ends in time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.training.commands import Captured, json_line
from tests.training.data.own_files import small_run, written
from tests.training.test_serve import ask
from tests.training.tiny import tiny
from training.cli import main
from training.config.files import config_data, save_config
from training.doctor.one_batch import fit_one_batch
from training.errors import InputError
from training.statistics.mann_whitney import chance_of_lower

BLIND = """
from torch import nn


class Blind(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.first, self.last = nn.Linear(features, 8), nn.Linear(8, outputs)

    def forward(self, inputs):
        return self.last(self.first(inputs * 0.0).relu())


def build(features: int, outputs: int):
    return Blind(features, outputs)
"""


def test_a_healthy_network_learns_its_samples_and_the_run_needs_no_dropout_for_that() -> None:
    found = fit_one_batch(tiny("model.dropout=0.9"))
    assert (found.fitted, found.samples, found.suspects) == (True, 16, ())
    assert found.error is not None
    assert found.error <= 0.05
    assert len(found.losses) == found.steps == len(found.blind_losses)
    assert [finding.level for finding in found.findings] == ["ok"]


def test_a_rate_that_is_too_low_is_named_first_with_the_one_that_cures() -> None:
    found = fit_one_batch(tiny("schedule.max_lr=1e-5"), seconds=100.0)
    first = found.suspects[0]
    assert (first.code, first.cured, first.fix) == ("lr.unusual", True, {"schedule.max_lr": 1e-3})
    assert [suspect.cured for suspect in found.suspects[1:]] == [False] * 4
    [finding] = found.findings
    assert (finding.code, finding.level, dict(finding.fix)) == ("fit.one_batch", "warning", {"schedule.max_lr": 1e-3})
    assert "With the usual learning rate of 0.001 it does" in finding.advice


def test_a_network_that_ignores_its_inputs_is_told(tmp_path: Path) -> None:
    config = small_run({"kind": "spiral", "samples": 60}, model=written(tmp_path, BLIND, "user_file"))
    found = fit_one_batch(config, seconds=100.0)
    assert (found.fitted, [finding.code for finding in found.findings]) == (
        False,
        ["fit.one_batch", "fit.ignores_input"],
    )


def test_it_ends_where_it_is_told_to_and_when_time_is_up() -> None:
    def end(text: str, _fraction: float | None) -> None:
        if "step 20" in text:
            raise InputError("ended")

    with pytest.raises(InputError, match="ended"):
        fit_one_batch(tiny(), end)
    found = fit_one_batch(tiny(), seconds=0.0)
    assert (found.fitted, found.losses, [finding.level for finding in found.findings]) == (None, (), ["info"])


def test_the_command_line_and_the_window_ask_for_it(tmp_path: Path, capsys: Captured) -> None:
    save_config(tiny(), tmp_path / "run.toml")
    assert main(["check", str(tmp_path / "run.toml"), "--fit-one-batch", "--json"]) == 0
    record = json_line(capsys)
    assert record["fit"]["fitted"] is True
    assert [finding["code"] for finding in record["findings"]] == ["fit.one_batch"]
    assert main(["check", "--fit-one-batch"]) == 2
    assert "--fit-one-batch trains the network of a configuration" in capsys.readouterr().err
    _ready, told = ask({"action": "fit_one_batch", "config": config_data(tiny())})
    assert (told["result"]["fitted"], told["result"]["measure"]) == (True, "the samples")


def test_the_chance_of_lower_numbers_is_that_of_all_orders() -> None:
    """Of 4 and 4 numbers: U = 1 has 2 of 70 orders as low or lower."""
    low, high = np.array([1.0, 2.0, 3.0, 5.0]), np.array([4.0, 6.0, 7.0, 8.0])
    assert chance_of_lower(low, high) == pytest.approx(2 / 70, abs=0.01)
    assert chance_of_lower(high, low) > 0.95
    assert chance_of_lower(low, low) == pytest.approx(0.5, abs=0.1)
    assert chance_of_lower(np.ones(9), np.ones(9)) == 1.0
