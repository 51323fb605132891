"""Made data: the formulas, the numbers, the known best answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.tiny import tiny
from training.config import RunConfig
from training.data.source import Source
from training.data.sources import open_source
from training.data.sources.toys import Ranked
from training.engine.runs.run import start_run


def opened(kind: str, **settings: Any) -> Source:
    config = RunConfig.model_validate({"dataset": {"kind": kind, "samples": 600, **settings}})
    return open_source(config.dataset)


def test_moons_lie_on_scikit_learns_half_circles() -> None:
    source = opened("moons", noise=0.0)
    points, lower = source.read_all().double(), source.targets == 1
    assert source.classes == ("upper moon", "lower moon")
    upper = points[~lower]
    assert upper.norm(dim=1).numpy() == pytest.approx(1.0, abs=1e-6)
    assert float(upper[:, 1].min()) >= 0.0
    shifted = points[lower] - torch.tensor([1.0, 0.5])
    assert shifted.norm(dim=1).numpy() == pytest.approx(1.0, abs=1e-6)
    assert float(shifted[:, 1].max()) <= 0.0
    assert float(upper[:, 0].min()) < -0.99 < 0.99 < float(upper[:, 0].max())


def test_circles_have_their_radii_and_noise_its_spread() -> None:
    source = opened("circles", noise=0.0, factor=0.25)
    radii = source.read_all().norm(dim=1)
    assert radii[source.targets == 0].numpy() == pytest.approx(1.0, abs=1e-6)
    assert radii[source.targets == 1].numpy() == pytest.approx(0.25, abs=1e-6)
    strayed = opened("circles", noise=0.1, factor=0.25).read_all() - source.read_all()
    assert float(strayed.std()) == pytest.approx(0.1, rel=0.1)
    assert float(strayed.mean()) == pytest.approx(0.0, abs=0.01)


def test_blobs_have_their_dimensions_classes_and_spread() -> None:
    source = opened("blobs", classes=4, features=6, spread=0.5)
    points = source.read_all()
    assert points.shape == (600, 6)
    for number in range(4):
        cloud = points[source.targets == number]
        assert cloud.std(dim=0).numpy() == pytest.approx(0.5, rel=0.25)
        assert float(cloud.abs().max()) < 10 + 3
    far = opened("blobs", classes=4, features=6, spread=1e-6, data_seed=1).read_all()
    assert (far[:4] - far[4:8]).abs().max() < 1e-4 < (far[0] - far[1]).norm()


def test_queries_without_noise_are_graded_by_the_hidden_sum() -> None:
    source = opened("ranked", noise=0.0, items=6, features=3)
    assert isinstance(source, Ranked)
    items, grades = source.read_all().double(), source.targets
    assert items.shape == (600, 6, 3)
    known = ~grades.isnan()
    assert torch.equal(known, ~items.isnan().any(2))
    assert set(known.sum(1).tolist()) == {2, 3, 4, 5, 6}
    assert set(grades[known].tolist()) == {0.0, 1.0, 2.0, 3.0, 4.0}
    utility = items @ source.weights
    order = utility[known].argsort()
    assert (grades[known][order].diff() >= 0).all()


@pytest.mark.parametrize("kind", ["moons", "circles", "blobs", "ranked"])
def test_a_sample_is_the_same_in_whatever_company(kind: str) -> None:
    source, more = opened(kind), opened(kind, samples=700)
    some = torch.tensor([5, 599, 17, 5])
    assert torch.equal(source.read(some).nan_to_num(9.0), source.read_all()[some].nan_to_num(9.0))
    assert torch.equal(more.read(some).nan_to_num(9.0), source.read(some).nan_to_num(9.0))
    assert torch.equal(more.targets[:600].nan_to_num(9.0), source.targets.nan_to_num(9.0))
    other = opened(kind, data_seed=1)
    assert not torch.equal(other.read_all().nan_to_num(9.0), source.read_all().nan_to_num(9.0))
    assert len({source.fingerprint, more.fingerprint, other.fingerprint}) == 3


def test_a_linear_model_reaches_the_known_best_order(tmp_path: Path) -> None:
    record = start_run(
        tiny(
            "dataset.kind=ranked",
            "dataset.samples=400",
            "dataset.noise=0.0",
            "model.hidden=[]",
            "objective.kind=ranking",
            "loop.epochs=15",
            "schedule.max_lr=0.1",
        ),
        tmp_path,
    )
    assert record.status == "completed", record.reason
    assert record.metrics["val/ndcg"] > 0.995
