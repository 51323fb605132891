"""Class-balanced sampling: every class equally often, every sample of a class before any comes again."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.catalog.whole_way import train_and_resume
from tests.training.data.conftest import MakeConfig
from tests.training.tiny import tiny
from training.core.balance import draw_balanced
from training.data import prepare
from training.errors import ConfigError

COUNTS = (50, 7, 1, 0, 20)


@pytest.fixture
def classes() -> torch.Tensor:
    return torch.cat([torch.full((count,), number) for number, count in enumerate(COUNTS)])[
        torch.randperm(78, generator=torch.Generator().manual_seed(0))
    ]


def test_an_epoch_has_as_many_draws_and_every_class_equally_often(classes: torch.Tensor) -> None:
    for epoch in range(5):
        drawn = torch.bincount(classes[draw_balanced(classes, 3, epoch)], minlength=5)
        assert int(drawn.sum()) == 78
        assert drawn[3] == 0
        assert drawn[[0, 1, 2, 4]].tolist() in ([20, 20, 19, 19], [19, 19, 20, 20])


def test_a_class_is_gone_through_before_anything_of_it_comes_again(classes: torch.Tensor) -> None:
    draws = torch.cat([draw_balanced(classes, 0, epoch) for epoch in range(12)])
    orders = set()
    for number, count in enumerate(COUNTS):
        members = (classes == number).nonzero().flatten().tolist()
        mine = draws[classes[draws] == number].tolist()
        for first in range(0, len(mine) - count + 1, max(1, count)):
            one_round = mine[first : first + count]
            assert sorted(one_round) == members
            if number == 1:
                orders.add(tuple(one_round))
    assert len(orders) > 20  # another order each time


def test_draws_are_a_function_of_seed_and_epoch(classes: torch.Tensor) -> None:
    assert torch.equal(draw_balanced(classes, 1, 4), draw_balanced(classes, 1, 4))
    assert not torch.equal(draw_balanced(classes, 1, 4), draw_balanced(classes, 2, 4))
    assert not torch.equal(draw_balanced(classes, 1, 4), draw_balanced(classes, 1, 5))


def test_training_sees_rare_classes_as_often(make_config: MakeConfig, tmp_path: Path) -> None:
    lines = [f"{i},{'rare' if i % 20 == 0 else 'common'}" for i in range(200)]
    (tmp_path / "t.csv").write_text("a,y\n" + "\n".join(lines))
    dataset = {"kind": "table", "path": str(tmp_path / "t.csv"), "validation_fraction": 0.5}
    data = prepare(
        make_config(dataset=dataset, model={"kind": "mlp"}, loader={"sampling": "balanced"}), torch.device("cpu")
    )
    seen = torch.cat([batch.targets for window in data.steps(0) for batch in window])
    assert torch.bincount(seen).tolist() == [50, 50]
    indices = torch.cat([batch.indices for window in data.steps(0) for batch in window])
    assert set(indices.tolist()) <= set(data.splits["train"].tolist())
    assert len(set(indices[:32].tolist()) & set(indices[32:].tolist())) > 0
    again = torch.cat([batch.indices for window in data.steps(0) for batch in window])
    assert torch.equal(indices, again)
    held = torch.cat([batch.targets for batch in data.evaluation_batches("validation")])
    assert torch.bincount(held).tolist() == [95, 5]  # judged on what there is


def test_a_resumed_run_draws_the_same(tmp_path: Path) -> None:
    config = tiny("loader.sampling=balanced", "dataset.samples=100", "loop.max_steps=6", "checkpoints.every_steps=2")
    train_and_resume(config, tmp_path, step=4)


def test_what_has_no_classes_cannot_be_balanced() -> None:
    with pytest.raises(ConfigError, match=r"loader.sampling: only samples of one class each .*; choose shuffle"):
        tiny("loader.sampling=balanced", "dataset.kind=ranking", f"dataset.path={__file__}", "objective.kind=ranking")
