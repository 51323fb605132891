"""The batch size: what fits, what is fast, and how much noise a gradient has."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config.files import config_data
from training.engine.assemble import assemble
from training.studies.batch import study
from training.studies.batch.noise_scale import Norms, estimate_scale, measure_noise_scale
from training.studies.batch.study import Tried, choose_sizes, find_knee, find_largest, propose
from training.studies.worker import Worker, WorkerDied


def try_line(base: int, each: int, limit: int, samples: int = 10**9) -> Any:
    """What takes ``base`` and ``each`` more for a sample."""

    def try_size(size: int) -> Tried:
        peak = base + each * size
        return Tried(size, peak <= limit, peak if peak <= limit else None, limit, samples)

    return try_size


@pytest.mark.parametrize("first", [1, 32, 512, 4096])
def test_the_largest_batch_that_fits_follows_from_two(first: int) -> None:
    tried = find_largest(first, try_line(1000, 10, 11_000))  # 1,000 fit exactly
    largest = max(each.size for each in tried if each.fits)
    assert 500 <= largest <= 1000
    assert 1000 + 10 * largest >= (0.85 * 11_000 if first == 32 else 0.5 * 11_000)
    assert len(tried) <= 14


def test_where_nothing_fits_no_size_is_made_up() -> None:
    tried = find_largest(64, try_line(10**6, 10, 1000))
    assert [each.size for each in tried] == [64, 32, 16, 8, 4, 2, 1]
    assert not any(each.fits for each in tried)


def test_the_data_bounds_the_batch() -> None:
    tried = find_largest(32, try_line(1000, 0, 10**9, samples=2400))
    assert max(each.size for each in tried) == 120  # 20 steps an epoch


def test_a_line_that_is_none_is_confirmed_by_a_step() -> None:
    def try_size(size: int) -> Tried:
        return Tried(size, size <= 100, 1000 + size if size <= 100 else None, 10**6, 10**9)

    tried = find_largest(32, try_size)
    assert all(each.fits for each in tried) is False
    assert 64 <= max(each.size for each in tried if each.fits) <= 100


def test_the_knee_is_the_smallest_that_is_nearly_as_fast() -> None:
    assert find_knee({8: 100.0, 16: 190.0, 32: 296.0, 64: 300.0, 128: 310.0}) == 32
    assert choose_sizes(120, 48) == [2, 4, 8, 16, 32, 48, 64, 120]
    assert choose_sizes(1, 1) == [1]


def test_what_is_proposed_keeps_the_step_or_names_the_rule() -> None:
    config = tiny("loop.batch_size=256", "optimizer.kind=sgd", "optimizer.lr=0.1", "schedule.kind=constant")
    adopt, notes = propose(config, 64, 1000.0, 10**6)
    assert adopt == {"loop.batch_size": 64, "loop.accumulation": 4}
    assert "keeps its 256 samples" in notes[0]
    adopt, notes = propose(config, 1024, None, 10**6)
    assert adopt == {"loop.batch_size": 1024, "loop.accumulation": 1, "optimizer.lr": 0.4}
    assert "linearly" in notes[0]
    adopt, _ = propose(tiny("loop.batch_size=256", "schedule.max_lr=0.1"), 1024, 1e6, 10**6)
    assert adopt["schedule.max_lr"] == 0.2  # adaptive: the root of 4
    assert propose(config, 1024, 300.0, 10**6)[0] == {}  # the noise scale stands against it
    assert propose(config, 256, 1000.0, 10**6)[0] == {}


def test_the_noise_scale_of_gradients_that_are_known() -> None:
    random = np.random.default_rng(0)
    true, spread = random.normal(size=40), 3.0
    norms = []
    for _ in range(300):
        parts = true + spread / math.sqrt(4) * random.normal(size=(8, 40))  # of 4 samples each
        norms.append(Norms(float(np.square(parts).sum(1).mean()), 4, float(np.square(parts.mean(0)).sum()), 32))
    found = estimate_scale(norms)
    right = 40 * spread**2 / float(true @ true)
    assert found.low < right < found.high
    assert found.value == pytest.approx(right, rel=0.1)
    assert estimate_scale([Norms(1.0, 4, 0.01, 32)] * 5).value == math.inf  # no gradient is left


def test_the_noise_scale_of_a_network_is_that_of_its_samples_gradients() -> None:
    config = tiny(
        "optimizer.lr=1e-12", "schedule.kind=constant", "model.dropout=0.0", "model.hidden=[8]", "dataset.samples=2000"
    )
    told = measure_noise_scale(config_data(config), 300)
    session = assemble(config, lambda *_: None)
    with session.data:
        each = []
        for number in session.data.splits["train"]:
            batch = session.data.take(number[None])
            session.optimizer.zero_grad()
            session.objective.loss(session.model(batch.inputs), batch.targets, 1).backward()
            each.append(
                torch.cat([parameter.grad.flatten() for parameter in session.parameters if parameter.grad is not None])
            )
    gradients = torch.stack(each).double()
    mean = gradients.mean(0)
    right = float((gradients - mean).square().sum(1).mean() / mean.square().sum())
    assert told["scale"] == pytest.approx(right, rel=0.3)
    assert told["low"] < right < told["high"]


@pytest.mark.slow
def test_the_whole_study_proposes_what_it_measured(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "_SECONDS", 0.01)
    workspace = ["--workspace", str(tmp_path / "ws"), "--json"]
    assert main(["study", "batch", str(config), "--set", "dataset.samples=1000", *workspace]) == 0
    told = json_line(capsys)
    assert told["details"]["largest"] == 40  # of 800, in 20 steps
    assert sorted(map(int, told["details"]["rates"])) == [2, 4, 8, 16, 32, 40]
    assert told["details"]["knee"] in (16, 32, 40, 8, 4, 2)
    assert "would leave an epoch fewer than 20 steps" in told["sentence"]
    assert not in_process
    assert not (tmp_path / "ws" / "runs").exists()


def test_a_process_that_dies_of_a_batch_says_that_it_does_not_fit(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Worker.ask

    def ask(worker: Worker, what: str, **request: Any) -> Any:
        if what == "memory" and request["settings"]["loop"]["batch_size"] > 8:
            raise WorkerDied("killed")
        return real(worker, what, **request)

    monkeypatch.setattr(Worker, "ask", ask)
    monkeypatch.setattr(study, "_SECONDS", 0.01)
    words = ["study", "batch", str(config), "--workspace", str(tmp_path / "ws"), "--json"]
    assert main([*words, "--set", "dataset.samples=1000"]) == 0
    told = json_line(capsys)
    assert told["details"]["largest"] == 8
    assert "The largest batch that fits is about 8" in told["sentence"]
    monkeypatch.setattr(Worker, "ask", lambda worker, what, **request: _die(real, worker, what, request))
    assert main(words) == 1
    assert "Not even a batch of 1 fits" in capsys.readouterr().err


def _die(real: Any, worker: Worker, what: str, request: Any) -> Any:
    if what == "memory":
        raise WorkerDied("killed")
    return real(worker, what, **request)
