"""The batches of a run: every sample once, the same bits resident or streamed, and exact from any window on."""

from __future__ import annotations

import json
import random as python_random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import first_of
from tests.training.data.conftest import MakeConfig
from training.config import RunConfig
from training.core import counter_rng
from training.data import Batch, Data, prepare
from training.errors import InputError, TrainingError

CPU = torch.device("cpu")
VARIED = {"flip": True, "crop_padding": 2, "rotation": 10.0}

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core


def batches(data: Data, epoch: int, start: int = 0) -> list[Batch]:
    return [batch for window in data.steps(epoch, start) for batch in window]


def same(first: list[Batch], second: list[Batch]) -> bool:
    return len(first) == len(second) and all(
        torch.equal(a.inputs, b.inputs)
        and a.inputs.stride() == b.inputs.stride()
        and torch.equal(a.targets, b.targets)
        and torch.equal(a.indices, b.indices)
        for a, b in zip(first, second, strict=True)
    )


def sections(kind: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A dataset of 60 to 70 samples of each kind."""
    if kind in ("idx", "image_folder"):
        return {
            "kind": kind,
            "path": str(request.getfixturevalue(f"{kind}_folder" if kind == "idx" else kind)),
        } | VARIED
    return {"kind": kind, "samples": 70} | (VARIED if kind == "shapes" else {})


KINDS = ["idx", "image_folder", "shapes", "spiral"]
STREAMED = [
    pytest.param(kind, workers, marks=() if workers == (2 if kind == "image_folder" else 0) else pytest.mark.slow)
    for kind in KINDS
    for workers in (0, 1, 2)
]
"""How the samples of each kind are streamed. Worker processes cost as much for each kind: every run of the tests starts them for one."""


@pytest.fixture(params=KINDS)
def dataset(request: pytest.FixtureRequest) -> dict[str, Any]:
    return sections(request.param, request)


@pytest.fixture
def shapes(make_config: MakeConfig) -> RunConfig:
    return make_config(
        dataset={"kind": "shapes", "samples": 130, "validation_fraction": 0.2} | VARIED,
        loop={"batch_size": 10, "accumulation": 3},
    )


def test_an_epoch_is_the_permutation_cut_into_batches_and_windows(shapes: RunConfig) -> None:
    with prepare(shapes, CPU) as data:
        train = data.splits["train"]
        assert len(train) == 104
        expected = train[counter_rng.permutation(0, 4, 104)]
        sizes = []
        seen = []
        for step, window in enumerate(data.steps(4)):
            got = list(window)
            assert (window.samples, window.batches) == (sum(len(batch.targets) for batch in got), len(got))
            assert window.samples == data.plan.samples(step)
            sizes.append([len(batch.targets) for batch in got])
            seen += [index for batch in got for index in batch.indices.tolist()]
        assert sizes == [[10] * 3, [10] * 3, [10] * 3, [10, 4]]
        assert data.steps_per_epoch == 4
        assert seen == expected.tolist()
        for batch in batches(data, 4):
            assert torch.equal(batch.targets, data.source.targets[batch.indices])
            assert batch.inputs.dtype == torch.float32
            assert batch.targets.dtype == batch.indices.dtype == torch.int64


def test_epochs_and_seeds_differ_and_repeat(make_config: MakeConfig) -> None:
    first, again, other = (
        prepare(make_config(seed=seed, dataset={"kind": "shapes", "samples": 60} | VARIED), CPU) for seed in (1, 1, 2)
    )
    assert same(batches(first, 3), batches(again, 3))
    assert not same(batches(first, 3), batches(first, 4))
    assert not same(batches(first, 3), batches(other, 3))


def test_inputs_are_the_images_normalized(make_config: MakeConfig) -> None:
    data = prepare(make_config(dataset={"kind": "shapes", "samples": 60}), CPU)
    for batch in (*batches(data, 0), *data.evaluation_batches("validation")):
        images = data.source.read(batch.indices).permute(0, 3, 1, 2).double() / 255
        mean, std = (
            torch.tensor(numbers).view(1, 3, 1, 1) for numbers in (data.normalization.mean, data.normalization.std)
        )
        assert torch.allclose(batch.inputs.double(), (images - mean) / std, atol=1e-5)


@pytest.mark.parametrize("channels_last", [True, False])
def test_memory_order_is_as_asked_and_changes_no_value(make_config: MakeConfig, channels_last: bool) -> None:
    for variation in (VARIED, {}):
        dataset = {"kind": "shapes", "samples": 70} | variation
        config = make_config(dataset=dataset, precision={"channels_last": channels_last})
        other = make_config(dataset=dataset, precision={"channels_last": not channels_last})
        wanted = torch.channels_last if channels_last else torch.contiguous_format
        for batch, twin in zip(batches(prepare(config, CPU), 1), batches(prepare(other, CPU), 1), strict=True):
            assert batch.inputs.is_contiguous(memory_format=wanted)
            assert torch.equal(batch.inputs, twin.inputs)


def test_evaluation_keeps_the_order_and_varies_nothing(shapes: RunConfig) -> None:
    data = prepare(shapes, CPU)
    once, twice = list(data.evaluation_batches("validation")), list(data.evaluation_batches("validation"))
    assert same(once, twice)
    assert [len(batch.targets) for batch in once] == [20, 6]
    assert torch.equal(torch.cat([batch.indices for batch in once]), data.splits["validation"])
    plain = shapes.model_copy(update={"dataset": shapes.dataset.model_copy(update=dict.fromkeys(VARIED, 0))})
    assert same(once, list(prepare(plain, CPU).evaluation_batches("validation")))
    sized = shapes.model_copy(update={"loop": shapes.loop.model_copy(update={"validation_batch_size": 7})})
    assert [len(batch.targets) for batch in prepare(sized, CPU).evaluation_batches("validation")] == [7, 7, 7, 5]


@pytest.mark.parametrize(("dataset", "workers"), STREAMED, indirect=["dataset"])
def test_streamed_is_resident_bit_for_bit(make_config: MakeConfig, dataset: dict[str, Any], workers: int) -> None:
    """Whole epochs, an epoch from its middle, an epoch left in its middle, and validation in between."""
    loop = {"batch_size": 8, "accumulation": 2}
    resident = prepare(make_config(dataset=dataset, loop=loop, loader={"mode": "resident"}), CPU)
    loader = {"mode": "streamed", "workers": workers}
    with prepare(make_config(dataset=dataset, loop=loop, loader=loader), CPU) as streamed:
        assert streamed.report.batches.mode == "streamed"
        assert streamed.report.batches.workers == workers
        assert streamed.normalization == resident.normalization
        assert streamed.report.fingerprint == resident.report.fingerprint
        assert same(batches(streamed, 0), batches(resident, 0))
        left = streamed.steps(1)
        assert same(list(next(left)), batches(resident, 1)[:2])
        validation = list(streamed.evaluation_batches("validation"))
        assert same(validation, list(resident.evaluation_batches("validation")))
        assert same(list(next(left)), batches(resident, 1)[2:4])  # validation did not disturb it
        assert same(batches(streamed, 1, start=2), batches(resident, 1)[4:])
        assert same(batches(streamed, 2), batches(resident, 2))
        assert streamed.waited > 0
        streamed.waited = 0.0
        assert streamed.waited == 0.0


def test_starting_in_the_middle_is_the_rest_of_the_epoch(shapes: RunConfig) -> None:
    data = prepare(shapes, CPU)
    whole = list(data.steps(2))
    assert len(whole) == 4
    for start in range(5):
        assert same(batches(data, 2, start), batches(data, 2)[3 * start :])


@pytest.mark.parametrize("batch_size", [25, 32, 64])
def test_a_batch_lies_alike_in_memory_wherever_the_pass_began(make_config: MakeConfig, batch_size: int) -> None:
    """MKL's bits depend on it; 25 points of two numbers fill no whole number of cache lines."""
    config = make_config(dataset={"kind": "spiral", "samples": 600}, loop={"batch_size": batch_size})
    with prepare(config, CPU) as data:
        for start in range(4):
            assert {batch.inputs.data_ptr() % 64 for batch in batches(data, 1, start)} == {0}


def test_a_window_left_early_is_skipped(shapes: RunConfig) -> None:
    data = prepare(shapes, CPU)
    expected = batches(data, 0)
    first: list[Batch] = [next(iter(window)) for window in data.steps(0)]
    assert same(first, expected[::3])
    untouched = [window.samples for window in data.steps(0)]
    assert untouched == [30, 30, 30, 14]


@pytest.mark.parametrize(
    "loader",
    first_of([{"mode": "resident"}, {"mode": "streamed", "workers": 0}, {"mode": "streamed", "workers": 1}], 2),
)
def test_no_global_generator_is_touched(make_config: MakeConfig, loader: dict[str, Any]) -> None:
    torch.manual_seed(1)
    np.random.seed(1)
    python_random.seed(1)

    def states() -> tuple[bytes, bytes, Any]:
        return (
            torch.get_rng_state().numpy().tobytes(),
            np.random.get_state(legacy=False)["state"]["key"].tobytes(),
            python_random.getstate(),
        )

    before = states()
    with prepare(make_config(dataset={"kind": "shapes", "samples": 60} | VARIED, loader=loader), CPU) as data:
        batches(data, 0)
        list(data.evaluation_batches("validation"))
    assert states() == before


@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_vanishes_while_training_is_named(
    make_config: MakeConfig, image_folder: Path, workers: int
) -> None:
    config = make_config(
        dataset={"kind": "image_folder", "path": str(image_folder)},
        loop={"batch_size": 8},
        loader={"mode": "streamed", "workers": workers},
    )
    with prepare(config, CPU) as data:
        batches(data, 0)
        lost = data.source.name(int(data.splits["train"][3]))
        (image_folder / lost).unlink()
        with pytest.raises(TrainingError) as caught:
            batches(data, 1)
    assert lost in caught.value.message
    assert "Traceback" not in str(caught.value)
    assert caught.value.advice


@pytest.mark.parametrize("workers", [0, 1])
def test_a_closed_feed_gives_nothing_more(make_config: MakeConfig, workers: int) -> None:
    config = make_config(
        dataset={"kind": "shapes", "samples": 600},
        loop={"batch_size": 4},
        loader={"mode": "streamed", "workers": workers},
    )
    data = prepare(config, CPU)
    windows: Iterator[Any] = data.steps(0)
    list(next(windows))
    data.close()
    with pytest.raises(RuntimeError):
        list(next(windows))


def test_the_mode_follows_the_limit(make_config: MakeConfig, image_folder: Path) -> None:
    dataset = {"kind": "image_folder", "path": str(image_folder), "image_size": 256}
    small, large = (
        prepare(make_config(dataset=dataset, loader={"memory_limit_mb": limit, "workers": 0}), CPU)
        for limit in (1, 100)
    )
    assert (small.report.batches.mode, large.report.batches.mode) == ("streamed", "resident")
    assert "do not fit in memory (limit 1 MB)" in small.report.batches.reason
    assert "fit in memory (limit 100 MB)" in large.report.batches.reason
    assert small.report.batches.bytes == 36 * 256 * 256 * 3
    assert same(batches(small, 0), batches(large, 0))


def test_the_report_is_json_and_complete(make_config: MakeConfig, image_folder: Path) -> None:
    (image_folder / "apple" / "000.png").write_bytes(b"broken")
    config = make_config(dataset={"kind": "image_folder", "path": str(image_folder), "validation_fraction": 0.25})
    report = json.loads(json.dumps(prepare(config, CPU).report.record()))
    assert report["kind"] == "image_folder"
    assert report["classes"] == ["apple", "bear", "crow"]
    assert report["samples"] == {"train": 26, "validation": 9}
    assert report["class_count"] == 3
    assert report["counts"] == {"train": [8, 9, 9], "validation": [3, 3, 3]}
    assert report["shape"] == [3, 16, 16]
    assert report["skipped"] == [{"path": "apple/000.png", "reason": "not an image in a format that can be read"}]
    assert report["skipped_total"] == 1
    assert len(report["fingerprint"]) == 64
    assert len(report["normalisation"]["mean"]) == 3
    assert report["batches"]["mode"] == "resident"


def test_bad_data_is_refused_before_anything_starts(make_config: MakeConfig, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        prepare(make_config(dataset={"kind": "image_folder", "path": str(tmp_path)}), CPU)


def test_progress_is_told(make_config: MakeConfig) -> None:
    told: list[str] = []
    prepare(make_config(dataset={"kind": "shapes", "samples": 60}), CPU, lambda text, fraction: told.append(text))
    assert told


def test_real_mnist_both_ways(make_config: MakeConfig, mnist: Path) -> None:
    dataset = {"kind": "idx", "path": str(mnist), "crop_padding": 2}
    loop = {"batch_size": 128}
    resident = prepare(make_config(dataset=dataset, loop=loop, loader={"mode": "resident"}), CPU)
    streamed = prepare(make_config(dataset=dataset, loop=loop, loader={"mode": "streamed"}), CPU)
    assert {part: len(rows) for part, rows in resident.splits.items()} == {
        "train": 48000,
        "validation": 12000,
        "test": 10000,
    }
    assert resident.normalization.mean[0] == pytest.approx(0.1307, abs=1e-3)
    assert resident.normalization.std[0] == pytest.approx(0.3081, abs=1e-3)
    assert same(batches(resident, 0, start=350), batches(streamed, 0, start=350))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(
    "loader", [{"mode": "resident"}, {"mode": "streamed", "workers": 0}, {"mode": "streamed", "workers": 2}]
)
def test_the_gpu_gets_the_same_samples(make_config: MakeConfig, loader: dict[str, Any]) -> None:
    dataset = {"kind": "shapes", "samples": 300, "flip": True, "crop_padding": 2}
    cpu = prepare(make_config(dataset=dataset, loop={"batch_size": 16}), CPU)
    with prepare(make_config(dataset=dataset, loop={"batch_size": 16}, loader=loader), torch.device("cuda", 0)) as gpu:
        for epoch in range(2):
            for ours, theirs in zip(batches(cpu, epoch), batches(gpu, epoch), strict=True):
                assert theirs.inputs.is_cuda
                assert torch.equal(ours.indices, theirs.indices)
                assert torch.equal(ours.targets, theirs.targets.cpu())
                assert torch.allclose(ours.inputs, theirs.inputs.cpu(), atol=1e-6)
