"""Runs whose loss compares the samples of a batch: what a batch holds, and the same bits however it is read and resumed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.cases import first_of
from tests.training.catalog.whole_way import train_and_resume
from tests.training.data.conftest import MakeConfig, make_config  # noqa: F401  # a fixture
from tests.training.data.test_batches import CPU, batches, same
from tests.training.engine.test_memory import Card, install
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.tiny import tiny, tiny_images, write_idx
from training.config import RunConfig
from training.config.sections.data.image_section import ImageSection
from training.data import Data, prepare
from training.data.augment.steps import steps
from training.doctor.preflight import preflight
from training.engine.runs.run import start_run
from training.objectives import make_objective
from training.runs.records.manifest import read_manifest

VIEWS = ("objective.kind=embedding", "objective.loss=nt_xent", "objective.embedding_size=8", "precision.device=cpu")
SHORT = ("loop.epochs=2", "dataset.erasing=0.3")

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core


@pytest.fixture(scope="module")
def idx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_idx(tmp_path_factory.mktemp("idx"), samples=120)


def open_data(config: RunConfig) -> Data:
    data = prepare(config, CPU)
    objective = make_objective(config.objective, data.facts, CPU)
    data.views, data.compares_samples = objective.views, objective.compares_samples
    return data


def test_a_batch_shows_each_sample_twice_and_first_as_ever(idx: Path) -> None:
    plain = ("dataset.erasing=0.3", "objective.kind=embedding", "objective.loss=triplet_margin", "precision.device=cpu")
    with open_data(tiny_images(idx, *plain)) as once, open_data(tiny_images(idx, *VIEWS, *SHORT)) as twice:
        for single, double in zip(batches(once, 1), batches(twice, 1), strict=True):
            assert torch.equal(double.targets, single.targets)
            first, second = double.inputs.chunk(2)
            assert torch.equal(first, single.inputs)
            assert not torch.equal(first, second)
            changed = (first != second).flatten(1).any(1)
            assert changed.float().mean() > 0.9
        again = [batch.inputs for batch in batches(twice, 2)]
        assert not torch.equal(again[0], next(iter(batches(twice, 1))).inputs)


@pytest.mark.parametrize("workers", first_of([0, 2]))
def test_views_are_the_same_at_any_worker_count(idx: Path, workers: int) -> None:
    streamed = ("loader.mode=streamed", f"loader.workers={workers}")
    with (
        open_data(tiny_images(idx, *VIEWS, *SHORT)) as one,
        open_data(tiny_images(idx, *VIEWS, *SHORT, *streamed)) as other,
    ):
        expected = batches(one, 3)
        assert same(batches(other, 3), expected)
        assert same(batches(other, 3, start=1), expected[3:])


def test_an_evaluation_has_samples_as_they_are_before_their_views(idx: Path) -> None:
    """In an order of its own: a folder is sorted by class, and a batch of one class tells nothing."""
    with open_data(tiny_images(idx, *VIEWS, *SHORT)) as data, prepare(tiny_images(idx), CPU) as plain:
        expected = {
            int(i): image
            for batch in plain.evaluation_batches("validation")
            for i, image in zip(batch.indices, batch.inputs, strict=True)
        }
        seen: list[int] = []
        for batch in data.evaluation_batches("validation"):
            clean, one, other = batch.inputs.chunk(3)
            assert all(torch.equal(clean[row], expected[int(i)]) for row, i in enumerate(batch.indices))
            assert not torch.equal(one, other)
            seen += batch.indices.tolist()
        assert sorted(seen) == sorted(expected)
        assert seen != sorted(seen)


@pytest.mark.parametrize(
    "more", [(), ("objective.loss=supervised_contrastive", "objective.views=2")], ids=["nt_xent", "supervised"]
)
def test_two_views_go_on_to_the_same_bits_and_leave_as_a_script(
    more: tuple[str, ...], idx: Path, tmp_path: Path
) -> None:
    last = train_and_resume(tiny_images(idx, *VIEWS, *SHORT, *more), tmp_path / "ws", step=2)
    metrics = read_manifest(last).metrics
    assert {"val/loss", "val/recall_at_1", "val/recall_at_k"} <= set(metrics)
    file = export(last, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(last, tmp_path / "run")


@pytest.mark.parametrize("loss", ["triplet_margin", "contrastive", "supervised_contrastive"])
def test_points_leave_as_a_script(loss: str, tmp_path: Path) -> None:
    settings = (
        "objective.kind=embedding",
        f"objective.loss={loss}",
        "objective.top=3",
        "checkpoints.monitor=val/recall_at_k",
    )
    last = Path(
        str(start_run(tiny(*settings, "loop.accumulation=2", "precision.device=cpu"), tmp_path).last_checkpoint)
    )
    file = export(last, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(last, tmp_path / "run")


@pytest.mark.parametrize(("loss", "least"), [("triplet_margin", 0.9), ("supervised_contrastive", 0.9)])
def test_neighbors_come_to_be_of_the_same_class(loss: str, least: float, tmp_path: Path) -> None:
    """On the spiral, where untrained embeddings find a neighbor of another arm's class in half of the cases."""
    settings = (
        "objective.kind=embedding",
        f"objective.loss={loss}",
        "loop.epochs=30",
        "model.dropout=0",
        "model.hidden=[64,64]",
    )
    record = start_run(tiny(*settings), tmp_path)
    assert record.best is not None
    assert record.best.metric == "val/recall_at_1"
    assert record.best.value >= least


def test_out_of_memory_never_cuts_batches_that_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(Card(holds=8), monkeypatch)
    record = start_run(tiny("objective.kind=embedding"), tmp_path)
    assert record.status == "failed"
    assert "objective.kind embedding compares the samples of a batch, so that would be another loss" in str(
        record.advice
    )
    assert not record.fix


def test_what_augments_is_what_changes_images(make_config: MakeConfig) -> None:  # noqa: F811
    tried = {
        "flip": True,
        "crop_padding": 2,
        "rotation": 5.0,
        "resized_crop_scale": 0.5,
        "auto_augment": "rand_augment",
    }
    tried |= {"vertical_flip": True, "translate": 0.1, "affine_scale": 0.1, "shear": 5.0, "perspective": 0.2}
    tried |= {
        "brightness": 0.1,
        "contrast": 0.1,
        "saturation": 0.1,
        "hue": 0.1,
        "grayscale": 0.1,
        "blur": 0.1,
        "erasing": 0.1,
    }
    for settings in ({}, *({name: value} for name, value in tried.items())):
        dataset = make_config(dataset={"kind": "shapes", **settings}).dataset
        assert isinstance(dataset, ImageSection)
        assert dataset.is_augmented == bool(steps(dataset, mask=False)) == bool(settings)


def test_a_check_warns_of_batches_with_few_pairs(tmp_path: Path) -> None:
    many = ("dataset.kind=blobs", "dataset.classes=20", "loop.batch_size=4", "objective.kind=embedding")
    titles = [found.title for found in preflight(tiny(*many), tmp_path)]
    assert any("would have another of their class in their batch" in title for title in titles)
    titles = [found.title for found in preflight(tiny("objective.kind=embedding"), tmp_path)]
    assert not any("would have another of their class in their batch" in title for title in titles)
