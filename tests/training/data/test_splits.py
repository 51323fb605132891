"""The split is stratified, seeded and exact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.training.tiny import tiny
from training.config.sections.data.dataset import IdxDataset, ShapesDataset
from training.config.sections.data.dataset_section import DatasetSection
from training.data.splits import split
from training.engine.runs.run import start_run
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.evaluation import read_evaluation


def shapes(fraction: float = 0.2, seed: int = 0) -> DatasetSection:
    return ShapesDataset(validation_fraction=fraction, split_seed=seed)


def idx(validation: str) -> DatasetSection:
    return IdxDataset.model_validate({"path": "x", "validation": validation})


def everything(n: int) -> dict[str, torch.Tensor]:
    return {"train": torch.arange(n)}


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.2, 0.333, 0.5, 0.9])
def test_the_total_is_exact_and_each_class_within_one_of_its_share(fraction: float) -> None:
    targets = torch.cat([torch.full((count,), number) for number, count in enumerate((500, 37, 120, 3, 341))])
    result = split(targets, everything(1001), shapes(fraction))
    assert len(result["validation"]) == int(fraction * 1001 + 0.5)
    assert sorted(torch.cat(list(result.values())).tolist()) == list(range(1001))
    held = torch.bincount(targets[result["validation"]], minlength=5).double()
    assert (held - fraction * torch.bincount(targets)).abs().max() < 1
    for part in result.values():
        assert part.dtype == torch.int64
        assert torch.equal(part, part.sort().values)


def test_a_class_keeps_its_last_training_sample() -> None:
    targets = torch.tensor([0] * 10 + [1] + [2] * 2)
    result = split(targets, everything(13), shapes(0.9))
    assert torch.bincount(targets[result["train"]], minlength=3).tolist() == [1, 1, 1]
    assert 10 in result["train"].tolist()


def test_the_seed_decides_who_is_held_back() -> None:
    targets = torch.arange(300) % 3
    first, again, other = (split(targets, everything(300), shapes(seed=seed))["validation"] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    # Drawn, not cut off an end.
    assert 30 < float(first.double().mean()) < 270


def test_only_training_samples_are_held_back() -> None:
    targets = torch.arange(100) % 2
    parts = {"train": torch.arange(10, 70), "test": torch.arange(70, 100)}
    result = split(targets, parts, idx("auto"))
    assert set(result["train"].tolist()) | set(result["validation"].tolist()) == set(range(10, 70))
    assert torch.equal(result["test"], parts["test"])


def test_what_validation_says_is_done() -> None:
    targets = torch.arange(100) % 2
    parts = {"train": torch.arange(60), "validation": torch.arange(60, 80), "test": torch.arange(80, 100)}
    assert torch.equal(split(targets, parts, idx("auto"))["validation"], parts["validation"])
    assert torch.equal(split(targets, parts, idx("auto"))["train"], parts["train"])
    held = split(targets, parts, idx("split"))
    assert len(held["validation"]) == 12
    assert int(held["validation"].max()) < 60
    tested = split(targets, parts, idx("test"))
    assert torch.equal(tested["validation"], parts["test"])
    assert "test" not in tested
    assert torch.equal(tested["train"], parts["train"])


def test_a_test_part_is_drawn_beside_the_samples_to_validate_on() -> None:
    targets = torch.arange(100) % 2
    plain, tested = (split(targets, everything(100), ShapesDataset(test_fraction=share)) for share in (0.0, 0.3))
    assert torch.equal(plain["validation"], tested["validation"])
    assert sorted(torch.cat(list(tested.values())).tolist()) == list(range(100))
    assert torch.bincount(targets[tested["test"]]).tolist() == [15, 15]
    given = {"train": torch.arange(80), "validation": torch.arange(80, 100)}
    config = IdxDataset(path="x", test_fraction=0.25)
    parts = split(targets, given, config)
    assert torch.equal(parts["validation"], given["validation"])
    assert {name: len(rows) for name, rows in parts.items()} == {"train": 60, "validation": 20, "test": 20}
    groups = torch.arange(100) // 10
    whole = split(torch.zeros(100, dtype=torch.int64), everything(100), ShapesDataset(test_fraction=0.3), groups)
    assert {name: len(rows) for name, rows in whole.items()} == {"train": 50, "validation": 20, "test": 30}
    assert {name: len(groups[rows].unique()) for name, rows in whole.items()} == {
        "train": 5,
        "validation": 2,
        "test": 3,
    }
    assert torch.equal(split(targets, everything(100), config, in_order=True)["test"], torch.arange(55, 80))


def test_a_test_part_that_cannot_be_drawn_is_refused() -> None:
    targets = torch.arange(100) % 2
    with pytest.raises(
        InputError, match=r"^dataset\.test_fraction: 0.8 of 100 samples leaves nothing to train or to test on"
    ):
        split(targets, everything(100), ShapesDataset(test_fraction=0.8))
    with pytest.raises(InputError, match=r"^dataset\.test_fraction: 0.001 of 100 training samples leaves none"):
        split(
            targets, everything(100), ShapesDataset(test_fraction=0.001)
        )  # of the 80 that do not validate, it would be more
    with pytest.raises(
        InputError, match=r"^dataset\.test_fraction: 0.3 of 100 samples, of which the 60 left are in one"
    ):
        split(
            targets, everything(100), ShapesDataset(validation_fraction=0.4, test_fraction=0.3), torch.arange(100) // 60
        )
    own = {"train": torch.arange(60), "test": torch.arange(60, 100)}
    with pytest.raises(InputError, match=r"^dataset\.test_fraction: the data has a test part of its own") as refused:
        split(targets, own, IdxDataset(path="x", test_fraction=0.1))
    assert refused.value.fix == {"dataset.test_fraction": 0.0}


def test_the_best_weights_are_measured_on_the_test_part_once(tmp_path: Path) -> None:
    record = start_run(tiny("dataset.samples=100", "dataset.test_fraction=0.3", "loop.epochs=2"), tmp_path)
    assert record.status == "completed"
    assert "test/accuracy" in record.metrics
    kept = read_evaluation(RunFolder(Path(record.folder)), "test")
    assert kept is not None
    assert json.loads(RunFolder(Path(record.folder)).data_file.read_text())["samples"]["test"] == 30


def test_an_empty_part_is_refused() -> None:
    with pytest.raises(InputError, match="validation_fraction"):
        split(torch.arange(4) % 2, everything(4), shapes(0.01))
    with pytest.raises(InputError, match="validation_fraction"):
        split(torch.arange(4), everything(4), shapes(0.5))  # one sample of each class
    with pytest.raises(InputError, match="no test part"):
        split(torch.arange(4) % 2, everything(4), idx("test"))
