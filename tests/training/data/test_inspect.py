"""The preview: the same facts as a run's, a look at the samples, and quick because it does not decode everything."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.reports import inspect
from tests.training.data.conftest import MakeConfig, image
from tests.training.data.pairs_of_images import sample, write_pairs
from training.core import counter_rng
from training.data import prepare
from training.data.images import decode
from training.data.images import images as images_module
from training.data.sample_page import one_of_each_class
from training.errors import InputError


def pixels(thumbnail: dict[str, Any], key: str) -> np.ndarray:
    data = np.frombuffer(base64.b64decode(thumbnail[key]), dtype=np.uint8)
    return data.reshape(thumbnail["height"], thumbnail["width"], thumbnail["channels"])


def test_thumbnails_show_every_class_as_it_is_and_as_the_model_sees_it(make_config: MakeConfig) -> None:
    config = make_config(dataset={"kind": "shapes", "samples": 120, "flip": True, "crop_padding": 3, "rotation": 20.0})
    report = inspect(config, samples=12)
    facts = prepare(config, torch.device("cpu")).report.record()
    for key in ("classes", "counts", "samples", "shape", "skipped_total"):
        assert report[key] == facts[key]
    assert len(report["first_page"]["samples"]) == 12
    assert {thumbnail["label"] for thumbnail in report["first_page"]["samples"]} == set(report["classes"])
    data = prepare(config, torch.device("cpu"))
    for thumbnail in report["first_page"]["samples"]:
        assert thumbnail["index"] in data.splits["train"].tolist()
        original = data.source.read(torch.tensor([thumbnail["index"]]))[0].numpy()
        assert np.array_equal(pixels(thumbnail, "original_base64"), original)
        assert not np.array_equal(pixels(thumbnail, "pixels_base64"), original)


def test_points_of_a_plane(make_config: MakeConfig) -> None:
    report = inspect(make_config(dataset={"kind": "spiral", "samples": 9000}))
    points = report["points"]
    assert len(points["x"]) == len(points["y"]) == len(points["label"]) == 2000
    assert set(points["label"]) == set(report["classes"])
    assert max(map(abs, points["x"] + points["y"])) <= 1.0 + 1e-6


def test_a_folder_is_listed_and_only_what_is_shown_is_decoded(
    make_config: MakeConfig, image_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (image_folder / "apple" / "notes.txt").write_text("notes")
    opened: list[Path] = []

    def counted(path: Path, form: decode.Form) -> Any:
        opened.append(path)
        return decode.outcome(path, form)

    monkeypatch.setattr(images_module, "outcome", counted)
    monkeypatch.setattr(images_module, "is_quick", lambda listing: False)
    report = inspect(make_config(dataset={"kind": "image_folder", "path": str(image_folder)}), samples=5)
    assert len(opened) == len(report["first_page"]["samples"]) == 5
    assert sum(report["samples"].values()) == 36
    assert "files are checked when training starts" in report["notes"]
    assert report["skipped_total"] == 1
    assert report["bytes"] == 36 * 16 * 16 * 3
    first = report["first_page"]["samples"][0]
    assert first["pixels_base64"] == first["original_base64"]
    number = {"apple": 0, "bear": 100, "crow": 200}[first["label"]] + first["index"] % 12
    assert np.array_equal(pixels(first, "original_base64"), np.asarray(image(number)))


def test_a_broken_file_keeps_its_place_and_is_named(
    make_config: MakeConfig, image_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        (image_folder / "apple" / f"{number:03}.png").write_bytes(b"broken")
    config = make_config(dataset={"kind": "image_folder", "path": str(image_folder)})
    few = inspect(config, samples=36)  # so few are checked at once, as a run does
    with prepare(config, torch.device("cpu")) as data:
        assert few["samples"] == data.report.samples
    assert (sum(few["samples"].values()), few["skipped_total"]) == (26, 10)
    assert few["first_page"]["unreadable"] == []
    monkeypatch.setattr(images_module, "is_quick", lambda listing: False)
    found = inspect(config, samples=36)["first_page"]
    assert [file["path"] for file in found["unreadable"]] != []
    assert all(file["path"].startswith("apple/00") for file in found["unreadable"])
    assert {file["reason"] for file in found["unreadable"]} == {"not an image in a format that can be read"}
    assert len(found["samples"]) + len(found["unreadable"]) == found["total"]
    places = [sample["place"] for sample in found["samples"]]
    assert len(set(places)) == len(places) < found["total"] == max(places) + 1


def test_bad_data_is_refused(make_config: MakeConfig, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        inspect(make_config(dataset={"kind": "image_folder", "path": str(tmp_path)}))


def test_samples_are_shown_in_turns_of_one_of_each_class() -> None:
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(0, 7, (200,), generator=generator)
    train = torch.sort(torch.randperm(200, generator=generator)[:150]).values
    shown = one_of_each_class(targets, train).tolist()
    assert sorted(shown) == train.tolist()
    shuffled = train[counter_rng.permutation(0, 0, len(train), stream="thumbnails")].tolist()
    of_class = [[index for index in shuffled if targets[index] == number] for number in range(7)]
    turns = [[row[turn] for row in of_class if turn < len(row)] for turn in range(max(map(len, of_class)))]
    assert shown == [index for turn in turns for index in turn]


def test_masks_come_with_their_images_and_are_moved_alike(make_config: MakeConfig, tmp_path: Path) -> None:
    dataset = {"kind": "segmentation", "path": str(write_pairs(tmp_path)), "flip": True, "ignore_index": 2}
    config = make_config(dataset=dataset, model={"kind": "unet"}, objective={"kind": "segmentation"})
    report = inspect(config, samples=12)
    assert len(report["first_page"]["samples"]) == 12
    counts, mirrored = np.zeros(256, int), 0
    for thumbnail in report["first_page"]["samples"]:
        image_of, mask = sample(thumbnail["index"])
        assert thumbnail["label"] == f"{thumbnail['index']:03}"
        assert np.array_equal(pixels(thumbnail, "original_base64"), image_of)
        shown = {"width": 26, "height": 20, "channels": 1}
        original = pixels(thumbnail | shown, "original_mask_base64")[..., 0]
        assert np.array_equal(original, np.where(mask == 2, 255, mask))
        varied = pixels(thumbnail | shown, "mask_base64")[..., 0]
        flipped = not np.array_equal(varied, original)
        assert np.array_equal(varied, original[:, ::-1] if flipped else original)
        assert np.array_equal(pixels(thumbnail, "pixels_base64"), image_of[:, ::-1] if flipped else image_of)
        counts += np.bincount(original.ravel(), minlength=256)
        mirrored += flipped
    assert 0 < mirrored < 12
    assert report["place_counts"] == counts[:2].tolist()


def test_labels_and_values_stand_below_their_images(make_config: MakeConfig, tmp_path: Path) -> None:
    for number in range(10):
        image(number).save(tmp_path / f"{number}.png")
    rows = [f"{number}.png,{'red big' if number % 2 else ''},{number / 3},{-number}" for number in range(10)]
    (tmp_path / "table.csv").write_text("\n".join(["file,labels,x,y", *rows]))
    dataset = {"kind": "image_table", "path": str(tmp_path / "table.csv")}
    labels = make_config(
        dataset=dataset | {"targets": ["labels"], "label_separator": "space"}, objective={"kind": "multi_label"}
    )
    for thumbnail in inspect(labels)["first_page"]["samples"]:
        assert thumbnail["label"] == ("big, red" if thumbnail["index"] % 2 else "no label")
    values = make_config(dataset=dataset | {"targets": ["x", "y"], "task": "values"}, objective={"kind": "regression"})
    (third,) = [each for each in inspect(values, 10)["first_page"]["samples"] if each["index"] == 4]
    assert (third["label"], third["detail"]) == ("1.33, -4", "x 1.33333, y -4")


ONE_BY_ONE: list[dict[str, Any]] = [
    *({"flip": True}, {"vertical_flip": True}, {"crop_padding": 3}, {"rotation": 20.0}, {"resized_crop_scale": 0.3}),
    *({"translate": 0.3}, {"affine_scale": 0.3}, {"shear": 20.0}, {"perspective": 0.6}),
    *(
        {"auto_augment": "rand_augment"},
        {"auto_augment": "trivial_augment_wide"},
        {"brightness": 0.5},
        {"contrast": 0.5},
    ),
    *({"saturation": 0.9}, {"hue": 0.3}, {"grayscale": 1.0}, {"blur": 1.0}, {"erasing": 1.0}),
    *({"mixup_alpha": 1.0}, {"cutmix_alpha": 1.0}),
]


@pytest.mark.parametrize("settings", ONE_BY_ONE, ids=[next(iter(settings)) for settings in ONE_BY_ONE])
def test_each_variation_shows_before_and_after(make_config: MakeConfig, settings: dict[str, Any]) -> None:
    config = make_config(dataset={"kind": "shapes", "samples": 60, **settings})
    report = inspect(config, samples=8)
    with prepare(config, torch.device("cpu")) as data:
        originals = data.source.read(
            torch.tensor([thumbnail["index"] for thumbnail in report["first_page"]["samples"]])
        )
    changed = 0
    for thumbnail, original in zip(report["first_page"]["samples"], originals, strict=True):
        assert np.array_equal(pixels(thumbnail, "original_base64"), original.numpy())
        changed += not np.array_equal(pixels(thumbnail, "pixels_base64"), original.numpy())
        assert ("%" in thumbnail.get("varied_detail", "")) == ("mixup_alpha" in settings or "cutmix_alpha" in settings)
    assert changed >= 2


def test_what_is_shown_is_what_is_trained_on(make_config: MakeConfig) -> None:
    settings = {"kind": "shapes", "samples": 60, "resized_crop_scale": 0.4, "brightness": 0.5, "mixup_alpha": 1.0}
    config = make_config(dataset=settings)
    shown = {thumbnail["index"]: thumbnail for thumbnail in inspect(config, samples=8)["first_page"]["samples"]}
    with prepare(config, torch.device("cpu")) as data:
        mean, std = (
            torch.tensor(numbers).view(3, 1, 1) for numbers in (data.normalization.mean, data.normalization.std)
        )
        for batch in (batch for window in data.steps(1) for batch in window):
            for index, inputs in zip(batch.indices.tolist(), batch.inputs, strict=True):
                if index in shown:
                    trained = ((inputs * std + mean) * 255).permute(1, 2, 0).numpy()
                    assert np.abs(trained - pixels(shown.pop(index), "pixels_base64")).max() < 0.51
    assert not shown
