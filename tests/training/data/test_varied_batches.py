"""Variation and mixing on their way through ``Data``: the same bits however batches are cut, read and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cases import first_of
from tests.training.data.conftest import MakeConfig
from tests.training.data.test_augment_draws import EVERYTHING
from tests.training.data.test_batches import CPU, batches, same
from training.config.rules.problems import cross_problems
from training.config.run import RunConfig
from training.core.batch_plan import BatchPlan
from training.data import Data, prepare
from training.data.augment import Augmenter

MIXED = {"mixup_alpha": 0.4, "cutmix_alpha": 1.0}
VARIED = {**EVERYTHING, "erasing": 0.3, **MIXED}

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core


def shapes(make_config: MakeConfig, settings: dict[str, Any], **sections: Any) -> RunConfig:
    return make_config(
        dataset={"kind": "shapes", "samples": 130, "image_size": 16, **settings},
        loop={"batch_size": 10, "accumulation": 3},
        **sections,
    )


@pytest.mark.slow
@pytest.mark.parametrize("settings", first_of([VARIED, MIXED, {"erasing": 0.3}]), ids=["everything", "mixed", "erased"])
@pytest.mark.parametrize("workers", first_of([2, 0]))
def test_streamed_is_resident_bit_for_bit(make_config: MakeConfig, settings: dict[str, Any], workers: int) -> None:
    with (
        prepare(shapes(make_config, settings), CPU) as resident,
        prepare(shapes(make_config, settings, loader={"mode": "streamed", "workers": workers}), CPU) as streamed,
    ):
        expected = batches(resident, 3)
        assert same(batches(streamed, 3), expected)
        assert same(batches(streamed, 3, start=2), expected[6:])
        assert same(list(streamed.rebuild_step(3, 1)), expected[3:6])


def test_images_from_files_are_mixed_alike(make_config: MakeConfig, image_folder: Path) -> None:
    def made(loader: dict[str, Any]) -> Data:
        dataset = {"kind": "image_folder", "path": str(image_folder), **VARIED}
        return prepare(make_config(dataset=dataset, loop={"batch_size": 5}, loader=loader), CPU)

    with made({"mode": "resident"}) as resident, made({"mode": "streamed", "workers": 0}) as streamed:
        assert same(batches(streamed, 1), batches(resident, 1))


def test_a_window_holds_the_same_samples_however_it_is_cut(make_config: MakeConfig) -> None:
    config = shapes(make_config, VARIED)
    with prepare(config, CPU) as data, prepare(config, CPU) as finer:
        finer.cut(BatchPlan(len(data.splits["train"]), 5, 6), 10)
        for window, cut in zip(data.steps(2), finer.steps(2), strict=True):
            whole, parts = list(window), list(cut)
            assert len(parts) > len(whole)
            for name in ("inputs", "targets", "indices"):
                assert torch.equal(
                    torch.cat([getattr(batch, name) for batch in whole]),
                    torch.cat([getattr(batch, name) for batch in parts]),
                )


def test_small_batches_made_together_are_those_made_one_by_one(make_config: MakeConfig) -> None:
    """16 x 16 x 3 floats are a multiple of 256 bytes, so several batches are made at a time; 15 x 15 x 3 are not."""
    config = shapes(make_config, VARIED)
    with prepare(config, CPU) as together, prepare(config, CPU) as apart:
        assert together._count_together([(0, 10)]) > 1
        apart._count_together = lambda bounds: 1  # type: ignore[method-assign]
        assert same(batches(together, 0), batches(apart, 0))


def test_a_batch_is_what_its_samples_and_their_partners_are_alone(make_config: MakeConfig) -> None:
    plain = {"flip": True, "crop_padding": 2}
    with prepare(shapes(make_config, plain), CPU) as data:
        alone = {
            int(index): image
            for batch in batches(data, 1)
            for index, image in zip(batch.indices, batch.inputs, strict=True)
        }
        targets = data.source.targets
        train = data.splits["train"]
    with prepare(shapes(make_config, {**plain, "mixup_alpha": 1.0}), CPU) as data:
        augmenter = Augmenter(shapes(make_config, {"mixup_alpha": 1.0}).dataset, 0)
        for batch in batches(data, 1):
            partners = augmenter.partners(train, batch.indices, 1)
            assert batch.targets.shape == (len(batch.indices), len(data.facts.names))
            assert torch.allclose(batch.targets.sum(1), torch.ones(len(batch.indices)))
            for place, (own, other) in enumerate(zip(batch.indices.tolist(), partners.tolist(), strict=True)):
                share = batch.targets[place, targets[own]]
                if targets[own] != targets[other]:
                    assert torch.allclose(batch.targets[place, targets[other]], 1 - share)
                    expected = alone[own] * share + alone[other] * (1 - share)
                    assert torch.allclose(batch.inputs[place], expected, atol=1e-6)


def test_what_is_judged_is_never_varied_or_mixed(make_config: MakeConfig) -> None:
    with prepare(shapes(make_config, {}), CPU) as plain, prepare(shapes(make_config, VARIED), CPU) as varied:
        assert same(list(plain.evaluation_batches("validation")), list(varied.evaluation_batches("validation")))
        assert all(
            torch.equal(*both) for both in zip(plain.training_samples(50), varied.training_samples(50), strict=True)
        )


def test_mixing_is_refused_where_targets_cannot_be_mixed(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = shapes(make_config, MIXED)
    monkeypatch.setattr(type(config.dataset), "target", "mask")
    sentences = [str(problem) for problem in cross_problems(config)]
    assert any("dataset.mixup_alpha" in sentence and "masks" in sentence for sentence in sentences)
    assert any("dataset.cutmix_alpha" in sentence for sentence in sentences)
