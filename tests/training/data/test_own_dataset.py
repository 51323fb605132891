"""A person's own Dataset: the same run at any worker count and over a resume, whatever it gives."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.data.own_files import COLLATE, PAIR, POINTS, RESULT, SMALL, batches, small_run, written
from training.config import RunConfig
from training.data.inspect import inspect_dataset
from training.data.preparation import prepare
from training.engine.runs.run import resume_run, start_run

CPU = torch.device("cpu")


def weights_of(run: Path, step: int) -> bytes:
    return (run / "checkpoints" / f"step-{step:08}" / "model.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_any_number_of_workers_and_a_resume_give_the_same_run(tmp_path: Path) -> None:
    dataset = written(tmp_path, POINTS)
    runs = []
    for workers in (0, 1, 3):
        config = small_run(dataset, loader={"workers": workers})
        record = start_run(config, tmp_path / f"runs {workers}")
        assert record.status == "completed", record.reason
        runs.append(Path(record.folder))
    whole = weights_of(runs[0], 8)
    assert [weights_of(run, 8) for run in runs[1:]] == [whole, whole]
    (tmp_path / "data.py").unlink()
    assert (runs[0] / "dataset.py").read_text(encoding="utf-8") == POINTS
    resumed = resume_run(str(runs[0] / "checkpoints" / "step-00000006"), tmp_path, ["loader.workers=1"])
    assert resumed.status == "completed", resumed.reason
    assert weights_of(runs[0], 8) == whole


def test_a_resume_in_the_middle_of_an_epoch_gives_the_same_run(tmp_path: Path) -> None:
    config = small_run(written(tmp_path, POINTS))
    run = Path(start_run(config, tmp_path / "runs").folder)
    whole = weights_of(run, 8)
    assert resume_run(str(run / "checkpoints" / "step-00000006"), tmp_path / "runs").status == "completed"
    assert weights_of(run, 8) == whole


def test_each_epoch_draws_anew_and_judging_never_does(tmp_path: Path) -> None:
    dataset = written(tmp_path, POINTS)
    with prepare(small_run(dataset), CPU) as data, prepare(small_run(dataset), CPU) as again:
        first, second = batches(data, 0), batches(data, 1)
        assert all(map(torch.equal, batches(again, 0), first))
        rows = [sorted(map(tuple, torch.cat(epoch).tolist())) for epoch in (first, second)]
        assert rows[0] != rows[1]
        judged = [torch.cat([batch.inputs for batch in data.evaluation_batches("validation")]) for _ in range(2)]
        assert torch.equal(*judged)
    with prepare(small_run(dataset, seed=7), CPU) as other:
        assert other.source.fingerprint == data.source.fingerprint
        held = torch.cat([batch.inputs for batch in other.evaluation_batches("validation")])
        assert torch.equal(held, judged[0])
        assert not any(map(torch.equal, batches(other, 0), first))


def test_drawing_leaves_the_programs_own_random_numbers_alone(tmp_path: Path) -> None:
    with prepare(small_run(written(tmp_path, POINTS)), CPU) as data:
        random.seed(1), np.random.seed(2), torch.manual_seed(3)
        wanted = random.random(), np.random.rand(), float(torch.rand(1))
        random.seed(1), np.random.seed(2), torch.manual_seed(3)
        batches(data, 0)
        assert (random.random(), np.random.rand(), float(torch.rand(1))) == wanted


def test_statistics_targets_and_names(tmp_path: Path) -> None:
    with prepare(small_run(written(tmp_path, SMALL, random_samples=False, validation_fraction=0.25)), CPU) as data:
        train = data.splits["train"]
        assert sorted(torch.cat(list(data.splits.values())).tolist()) == list(range(12))
        assert data.facts.names == ("0", "1")
        assert data.report.batches.mode == "resident"
        assert data.normalization.mean == pytest.approx([float(train.double().mean())] * 3)
        assert data.normalization.std == pytest.approx([float(train.double().std(correction=0))] * 3)
        assert data.source.name(4) == "sample 4 of train"
    given = written(tmp_path, SMALL, normalize=False)
    with prepare(small_run(given), CPU) as data:
        found = torch.cat(batches(data, 0))
        assert sorted(found[:, 0].tolist()) == [float(number) for number in data.splits["train"]]


ANSWERS = {
    "class by name": ('(torch.ones(2), ["cat", "dog"][index % 2])', "class", ("cat", "dog"), "classification"),
    "one value": ("(torch.ones(2) * index, float(index))", "values", ("value 1",), "regression"),
    "values": ("(np.ones(2) * index, np.array([index, 1.5 * index]))", "values", ("value 1", "value 2"), "regression"),
    "labels": ("(index, torch.tensor([index % 2, 1, 0]))", "labels", ("label 1", "label 2", "label 3"), "multi_label"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_what_is_learned_follows_from_the_targets(case: str, tmp_path: Path) -> None:
    pair, target, names, task = ANSWERS[case]
    text = SMALL.replace("(torch.full((3,), float(index)), index % 2)", pair).replace(
        "import torch", "import numpy as np\nimport torch", 1
    )
    text = text.replace("return torch.full((3,), float(index)), index % 2", f"return {pair}")
    if "name" in case:
        text = text.replace("class Small(Dataset):", 'class Small(Dataset):\n    classes = ["cat", "dog"]')
    config = small_run(written(tmp_path, text), objective={"kind": task})
    with prepare(config, CPU) as data:
        assert (data.facts.target, data.facts.names) == (target, names)
        window = next(iter(data.steps(0)))
        batch = next(iter(window))
        assert torch.equal(batch.targets, data.source.targets[batch.indices])


def test_a_target_that_is_drawn_comes_with_its_sample(tmp_path: Path) -> None:
    text = SMALL.replace(
        "return torch.full((3,), float(index)), index % 2",
        "turn = int(torch.randint(2, ()))\n        return torch.full((3,), float(turn)), turn",
    )
    with prepare(small_run(written(tmp_path, text, normalize=False)), CPU) as data:
        seen = [batch for epoch in range(8) for window in data.steps(epoch) for batch in window]
        turns = torch.cat([batch.targets for batch in seen])
        assert torch.equal(torch.cat([batch.inputs for batch in seen])[:, 0].long(), turns)
        assert 0 < int(turns.sum()) < len(turns)


IMAGES = """
import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


class Squares(Dataset):
    def __init__(self, count, form):
        self.count, self.form = count, form

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        pixels = np.full((8, 10, 3), index % 256, np.uint8)
        if torch.rand(()) < 0.5:
            pixels = pixels[:, ::-1].copy()
        image = {"pil": Image.fromarray(pixels), "array": pixels, "tensor": torch.from_numpy(pixels).permute(2, 0, 1)}.get(self.form)
        if image is None:
            image = torch.from_numpy(pixels).permute(2, 0, 1) / 255
        return image, TARGET


def build(split: str, form: str = "pil"):
    return Squares(30, form) if split == "train" else None
"""


def image_run(folder: Path, target: str, form: str, **settings: Any) -> RunConfig:
    text = IMAGES.replace("TARGET", target)
    dataset = written(folder, text, "user_images", arguments={"form": form}, **settings)
    return small_run(dataset, model={"kind": "small_cnn", "channels": [4, 4], "hidden": 4})


def test_images_of_every_form_are_the_same_images(tmp_path: Path) -> None:
    seen = {}
    for form in ("pil", "array", "tensor", "float"):
        with prepare(image_run(tmp_path, "index % 3", form), CPU) as data:
            assert data.facts.shape == (3, 8, 10)
            seen[form] = torch.cat(batches(data, 0)), data.normalization
    for form in ("array", "tensor"):
        assert torch.equal(seen[form][0], seen["pil"][0])
    assert seen["float"][1].mean == pytest.approx(seen["pil"][1].mean)
    assert seen["float"][1].std == pytest.approx(seen["pil"][1].std)
    torch.testing.assert_close(seen["float"][0], seen["pil"][0])


def test_masks_train_a_segmentation(tmp_path: Path) -> None:
    config = image_run(tmp_path, "torch.from_numpy(pixels[..., 0] // 15).long()", "float")
    config = small_run(
        config.dataset.model_dump(), model={"kind": "unet", "width": 4, "depth": 2}, objective={"kind": "segmentation"}
    )
    record = start_run(config, tmp_path / "runs")
    assert record.status == "completed", record.reason


def test_the_preview_shows_images_as_an_epoch_does(tmp_path: Path) -> None:
    report = inspect_dataset(image_run(tmp_path, "index % 3", "float"), samples=6)
    assert report.first_page is not None
    assert len(report.first_page.samples) == 6
    assert {image.label for image in report.first_page.samples} == {"0", "1", "2"}
    assert len(report.first_page.samples[0].pixels_base64) == len(report.first_page.samples[0].original_base64)
    points = inspect_dataset(small_run(written(tmp_path, POINTS)))
    assert points.points is not None
    assert points.samples == {"train": 60, "validation": 20}


def test_a_large_dataset_that_says_its_targets_is_not_read_through(tmp_path: Path) -> None:
    text = SMALL.replace("return 12", "return 3000").replace(
        "class Small(Dataset):",
        "READ = []\n\n\nclass Small(Dataset):\n    targets = [index % 2 for index in range(3000)]\n",
    )
    text = text.replace(
        PAIR,
        "READ.append(index)\n        if len(READ) > 1200:\n            raise RuntimeError('all of them')\n        "
        + PAIR,
    )
    assert inspect_dataset(small_run(written(tmp_path, text))).counts == {
        "train": (1200, 1200),
        "validation": (300, 300),
    }
    wrong = text.replace("index % 2 for", "0 for").replace("> 1200", "> 40000")
    assert inspect_dataset(small_run(written(tmp_path, wrong))).counts["train"][1] > 500


POOLING = """
from torch import nn


class Pool(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.each = nn.Linear(features, classes)

    def forward(self, x):
        return self.each(x).mean(1)


def build(features: int, classes: int):
    return Pool(features, classes)
"""


def test_a_collate_fn_joins_samples_of_different_lengths(tmp_path: Path) -> None:
    network = tmp_path / "network"
    network.mkdir()
    model = {**written(network, POOLING, "user_file"), "arguments": {}}
    dataset = written(tmp_path, COLLATE.replace("RESULT", RESULT), "user_dataset")
    config = small_run(dataset, model=model, loop={"batch_size": 8, "epochs": 2, "accumulation": 2})
    with prepare(config, CPU) as data:
        seen = [batch for window in data.steps(0) for batch in window]
        lengths = [max(1 + int(index) % 5 for index in batch.indices) for batch in seen]
        assert [tuple(batch.inputs.shape) for batch in seen] == [(8, length, 3) for length in lengths]
        assert all(torch.equal(batch.targets, batch.indices % 2) for batch in seen)
        assert float(torch.cat([batch.inputs.flatten() for batch in seen]).min()) == 0.0  # what was padded is not moved
    record = start_run(config, tmp_path / "runs")
    assert record.status == "completed", record.reason
    run = Path(record.folder)
    whole = weights_of(run, 4)
    assert resume_run(str(run / "checkpoints" / "step-00000003"), tmp_path / "runs").status == "completed"
    assert weights_of(run, 4) == whole


def test_the_example_of_the_help_trains(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "resources" / "help" / "own-data.md").read_text(encoding="utf-8")
    example, collate = (block.partition("```")[0] for block in page.split("```python\n")[1:])
    settings = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    arguments = settings["dataset"]["arguments"]
    config = small_run(
        written(tmp_path, example, settings["dataset"]["kind"], arguments=arguments),
        model=settings["model"],
        loop={"batch_size": 32, "epochs": 2},
    )
    record = start_run(config, tmp_path / "runs")
    assert record.metrics["val/accuracy"] > 0.9
    joined = written(tmp_path, f"{example}\n{collate}", arguments=arguments | {"count": 40})
    with prepare(small_run(joined), CPU) as data:
        assert data.report.batches.mode == "streamed"
        assert [tuple(batch.shape) for batch in batches(data, 0)] == [(16, 32), (16, 32), (8, 32)]
