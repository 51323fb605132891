"""``lab --compare``: five seeds in two ways, and what may be said of the difference."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.engine.runs.run import resume_run
from training.laboratory import comparisons, expected_time, runner
from training.laboratory.child import Ended
from training.laboratory.comparisons import COMPARISONS, SEEDS, compare_ways, explain_omission
from training.laboratory.measure import Figures, measure
from training.runs.folder import RunFolder

TINY = (
    "dataset.samples=200",
    "dataset.image_size=16",
    "model.channels=[2, 4]",
    "model.hidden=4",
    "loop.epochs=3",
)


@pytest.mark.slow
def test_ten_runs_in_two_ways_are_trained_once_and_told_of(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []

    def train(run: RunFolder, *_rest: object, **_more: object) -> Ended:
        config = run.config()
        if not config.name.startswith("lab decay"):
            return Ended(1, "Not today.")
        trained.append((config.seed, config.optimizer.decay_bias_and_norm))
        resume_run(str(run.path), run.path.parent.parent)
        return Ended(0, "")

    monkeypatch.setattr(runner, "train", train)
    monkeypatch.setattr(runner, "describe_expected_time", lambda *_: "")
    for module in (comparisons, expected_time):
        monkeypatch.setattr(module, "has_instructions", lambda compute: compute == "bf16")
    told = [word for text in TINY for word in ("--set", text)]
    for _ in range(2):  # the second time all are there
        assert main(["lab", "--json", "--compare", "--workspace", str(tmp_path), *told]) == 1
        decay, halves = json_line(capsys)["comparisons"]
        assert trained == [(seed, decays) for seed in SEEDS for decays in (False, True)]
    assert "over 5 seeds: without (the default) " in decay["told"]
    assert "95 % interval" in decay["told"]
    assert halves["told"].startswith("Not run here. This processor has no instructions for FP16 and imitates it.")
    for page in ("report.html", "report.md"):
        assert decay["told"] in (tmp_path / "laboratory" / page).read_text()
    assert main(["lab", "--json", "--workspace", str(tmp_path), *told]) == 1
    assert all("add --compare" in each["told"] for each in json_line(capsys)["comparisons"])

    run = next(path for path in (tmp_path / "runs").iterdir() if "decay" in path.name)
    _check_verdicts(measure(RunFolder(run)).figures)


def _check_verdicts(figures: Figures) -> None:
    """By hand: pairs apart by 1.0, 1.1, 0.9, 1.0, 1.0 points have a std of 0.0707, so the interval is 0.09 wide on each side."""

    def give(apart: list[float]) -> str:
        found = {}
        for seed, points in zip(SEEDS, apart, strict=True):
            one = 0.9 + 0.001 * seed
            found[f"decay-0-{seed}"] = replace(figures, val_accuracy=one)
            found[f"decay-1-{seed}"] = replace(figures, val_accuracy=one + points / 100)
        return compare_ways(COMPARISONS[0], found).told

    clear = give([1.0, 1.1, 0.9, 1.0, 1.0])
    assert "+1.00 ± 0.09 points" in clear
    assert "more than noise" in clear
    assert "within noise" in give([1.0, -1.1, 0.9, -1.0, 1.0])
    assert "within noise" in give([0.0] * 5)
    assert compare_ways(COMPARISONS[0], {}).told.startswith("Only 0 of 10 runs")
    assert "Only 9 of 10 runs ended with a validation accuracy" in give([1.0, 1.1, math.nan, 1.0, 1.0])


def test_halves_are_compared_where_the_device_has_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "has_instructions", lambda _compute: True)
    monkeypatch.setattr(comparisons, "_gpu_has_bf16", lambda: False)
    assert explain_omission(COMPARISONS[1], "cpu") == ""
    assert "no BF16" in explain_omission(COMPARISONS[1], "cuda")
    assert "Not run here" in explain_omission(COMPARISONS[1], "mps")
    assert explain_omission(COMPARISONS[0], "mps") == ""
