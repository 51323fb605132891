"""Images with masks: paired by name, read as indices or colors, and moved together wherever they go."""

from __future__ import annotations

import pickle
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from tests.training.data.conftest import MakeConfig
from tests.training.data.pairs_of_images import COLORS, sample, save_mask, write_pairs
from training.config.sections.data.images import SegmentationDataset
from training.data import prepare
from training.data.images.cache_room import CacheWish
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.data.splits import split_source
from training.errors import InputError
from training.facts import IGNORED, IGNORED_PIXEL

COLOR_LIST = "".join(f"{name} {r} {g} {b}\n" for name, (r, g, b) in zip(("sky", "road", "tree"), COLORS, strict=True))


def opened(
    folder: Path, *, check: bool = True, keep: bool = True, cache: CacheWish | None = None, **settings: Any
) -> Source:
    dataset = SegmentationDataset.model_validate({"path": str(folder)} | settings)
    return open_source(dataset, Opening(check=check, keep=lambda size: keep, workers=0, cache=cache))


def reasons(source: Source) -> dict[str, str]:
    return {skipped.path: skipped.reason for skipped in source.skipped}


@pytest.mark.parametrize(
    ("mode", "classes"), [("L", "sky\nroad\ntree"), ("P", None), ("RGB", COLOR_LIST), ("P", COLOR_LIST)]
)
def test_indices_palettes_and_colors_say_the_same(tmp_path: Path, mode: str, classes: str | None) -> None:
    source = opened(write_pairs(tmp_path, mode, classes))
    assert source.classes == (("0", "1", "2") if classes is None else ("sky", "road", "tree"))
    assert (source.shape, source.target, source.targets.shape) == ((3, 20, 26), "mask", (18, 0))
    assert {part: len(rows) for part, rows in source.parts.items()} == {"train": 12, "validation": 6}
    for number, found in enumerate(source.read(torch.arange(18)).numpy()):
        picture, mask = sample(number)
        assert np.array_equal(found[..., :3], picture)
        assert np.array_equal(found[..., 3], mask)


def test_other_ways_to_lay_the_folders_out(tmp_path: Path) -> None:
    write_pairs(tmp_path / "a")
    whole = opened(tmp_path / "a")
    for part in ("train", "val"):
        for folder in ("images", "masks"):
            shutil.copytree(tmp_path / "a" / part / folder, tmp_path / "b" / folder / part)
            shutil.copytree(tmp_path / "a" / part / folder, tmp_path / "c" / folder.title(), dirs_exist_ok=True)
    for folder in ("b", "c"):
        (tmp_path / folder / "classes.txt").write_text("sky\nroad\ntree")
        for path in (tmp_path / folder).rglob("asks/**/*.png"):
            path.rename(path.with_stem(f"{path.stem}_mask"))
    inside, flat = opened(tmp_path / "b"), opened(tmp_path / "c")
    assert torch.equal(inside.read(torch.arange(18)), whole.read(torch.arange(18)))
    assert list(inside.parts) == ["train", "validation"]
    assert torch.equal(flat.read(torch.arange(18)), whole.read(torch.arange(18)))
    assert list(flat.parts) == ["train"]


def test_a_mask_may_have_an_ending_of_its_own(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    for path in list((tmp_path / "train" / "masks").iterdir()):
        path.rename(path.with_stem(f"{path.stem}_L"))
    assert len(opened(tmp_path).targets) == 18


def test_scaled_images_are_antialiased_and_masks_are_not(tmp_path: Path) -> None:
    source = opened(write_pairs(tmp_path), image_size=[12, 10])
    assert source.shape == (3, 12, 10)
    picture, mask = sample(3)
    found = source.read(torch.tensor([3]))[0].numpy()
    bilinear, nearest = Image.Resampling.BILINEAR, Image.Resampling.NEAREST
    assert np.array_equal(found[..., :3], np.asarray(ImageOps.fit(Image.fromarray(picture), (10, 12), bilinear)))
    assert np.array_equal(found[..., 3], np.asarray(ImageOps.fit(Image.fromarray(mask), (10, 12), nearest)))


def test_what_is_ignored_is_no_class(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    ignoring = opened(tmp_path, ignore_index=1)
    assert ignoring.classes == ("sky", "tree")
    mask = sample(5)[1]
    expected = np.where(mask == 1, IGNORED_PIXEL, np.where(mask == 2, 1, 0))
    assert np.array_equal(ignoring.read(torch.tensor([5]))[0, ..., 3].numpy(), expected)
    assert any("road (1) is ignored" in note for note in ignoring.notes)
    (tmp_path / "classes.txt").write_text("sky\nroad\n")
    assert np.array_equal(
        opened(tmp_path, ignore_index=2).read(torch.tensor([5]))[0, ..., 3].numpy(), np.where(mask == 2, 255, mask)
    )


def test_the_loss_sees_ignored_pixels_as_such(tmp_path: Path, make_config: MakeConfig) -> None:
    config = make_config(
        dataset={"kind": "segmentation", "path": str(write_pairs(tmp_path)), "ignore_index": 0},
        model={"kind": "unet", "depth": 1, "width": 4},
        objective={"kind": "segmentation"},
    )
    with prepare(config, torch.device("cpu")) as data:
        batch = next(data.evaluation_batches("validation"))
        assert batch.inputs.shape == (6, 3, 20, 26)
        assert torch.equal(
            batch.targets[0],
            torch.from_numpy(sample(12)[1]).long().sub(1).masked_fill_(torch.from_numpy(sample(12)[1]) == 0, IGNORED),
        )
        ones = [int((sample(number)[1] == 1).sum()) for number in range(12)]
        assert data.facts.counts[0] == sum(ones)


def test_unknown_values_are_named_or_ignored(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    mask = sample(2)[1].copy()
    mask[3, 4] = 17
    save_mask(tmp_path / "train" / "masks" / "002.png", mask)
    source = opened(tmp_path)
    assert reasons(source) == {
        "train/images/002.png": "its mask 002.png holds the value 17 at pixel (4, 3), which is no class"
    }
    assert len(source.parts["train"]) == 11
    lenient = opened(tmp_path, unknown="ignore")
    assert lenient.read(torch.tensor([2]))[0, 3, 4, 3] == IGNORED_PIXEL
    assert lenient.skipped == ()
    Image.new("RGB", (26, 20), (9, 8, 7)).save(tmp_path / "train" / "masks" / "002.png")
    (tmp_path / "classes.txt").write_text(COLOR_LIST)
    assert "the color (9, 8, 7) at pixel (0, 0)" in reasons(opened(tmp_path))["train/images/002.png"]


def test_what_does_not_fit_together_is_left_out_with_its_reason(tmp_path: Path) -> None:
    train = write_pairs(tmp_path) / "train"
    (train / "masks" / "000.png").unlink()
    (train / "images" / "001.png").unlink()
    save_mask(train / "masks" / "002.png", sample(2, (10, 10))[1])
    (train / "masks" / "003.png").write_bytes(b"broken")
    (train / "images" / "004.png").write_bytes(b"broken")
    (train / "masks" / "005.png").write_bytes(b"")
    (train / "masks" / "readme.txt").write_text("about")
    Image.new("F", (26, 20)).save(train / "masks" / "006.tif")
    (train / "masks" / "006.png").unlink()
    assert reasons(opened(tmp_path)) == {
        "train/images/000.png": "has no mask of its name in train/masks",
        "train/masks/001.png": "a mask without an image",
        "train/images/002.png": "has 26 × 20 pixels, but its mask 10 × 10",
        "train/images/003.png": "its mask 003.png: not an image in a format that can be read",
        "train/images/004.png": "not an image in a format that can be read",
        "train/images/005.png": "has no mask of its name in train/masks",
        "train/masks/005.png": "empty file",
        "train/masks/readme.txt": "not an image format that can be read (.txt)",
        "train/images/006.png": "its mask 006.tif holds no indices of 0 to 255",
    }


def test_the_classes_of_a_fresh_folder_come_from_the_training_masks_alone(tmp_path: Path) -> None:
    write_pairs(tmp_path, classes=None)
    clean = opened(tmp_path)
    mask = sample(12)[1].copy()
    mask[0, 0] = 40
    save_mask(tmp_path / "val" / "masks" / "012.png", mask)
    planted = opened(tmp_path)
    assert planted.classes == clean.classes == ("0", "1", "2")
    assert "the value 40" in reasons(planted)["val/images/012.png"]


def test_nor_do_masks_that_are_drawn_to_be_held_back_say_which_classes_there_are(tmp_path: Path) -> None:
    shutil.copytree(write_pairs(tmp_path / "parts", classes=None) / "train", tmp_path / "flat")
    whole = opened(tmp_path / "flat")
    parts = split_source(whole, SegmentationDataset(path="unread"))
    held, trains = int(parts["validation"][0]), int(parts["train"][0])
    mask = sample(held)[1].copy()
    mask[0, :2] = 7, 255
    save_mask(tmp_path / "flat" / "masks" / f"{held:03}.png", mask)
    planted = opened(tmp_path / "flat")
    assert torch.equal(split_source(planted, SegmentationDataset(path="unread"))["train"], parts["train"])
    said = rf"{held:03}\.png is held out, and its mask holds the value 7; those of the training masks go up to 2"
    with pytest.raises(InputError, match=rf"^dataset\.unknown: .*{said}") as refused:
        planted.fit(parts["train"])
    assert refused.value.fix == {"dataset.unknown": "ignore"}
    for keep in (True, False):
        lenient = opened(tmp_path / "flat", keep=keep, unknown="ignore").fit(parts["train"])
        assert lenient.classes == whole.fit(parts["train"]).classes == ("0", "1", "2")
        assert any("values above 2 are ignored" in note for note in lenient.notes)
        assert lenient.read(torch.tensor([held]))[0, 0, :2, 3].tolist() == [IGNORED_PIXEL] * 2
        assert lenient.read_all()[held, 0, 0, 3] == IGNORED_PIXEL
    save_mask(tmp_path / "flat" / "masks" / f"{trains:03}.png", mask)
    assert opened(tmp_path / "flat").fit(parts["train"]).classes == tuple("01234567")


def test_black_and_white_masks_need_no_list(tmp_path: Path) -> None:
    write_pairs(tmp_path, classes=None)
    for path in tmp_path.rglob("masks/*.png"):
        with Image.open(path) as image:
            mask = np.asarray(image)
        save_mask(path, ((mask == 1) * 255).astype(np.uint8))
    source = opened(tmp_path)
    assert source.classes == ("black", "white")
    assert np.array_equal(source.read(torch.tensor([1]))[0, ..., 3].numpy(), sample(1)[1] == 1)


def test_black_and_white_is_what_the_training_masks_are(tmp_path: Path) -> None:
    shutil.copytree(write_pairs(tmp_path / "parts", classes=None) / "train", tmp_path / "flat")
    for path in tmp_path.glob("flat/masks/*.png"):
        with Image.open(path) as image:
            save_mask(path, ((np.asarray(image) == 1) * 255).astype(np.uint8))
    plain = opened(tmp_path / "flat")
    parts = split_source(plain, SegmentationDataset(path="unread"))
    held = int(parts["validation"][0])
    plain = plain.fit(parts["train"])
    expected = plain.read_all().clone()
    mask = ((sample(held)[1] == 1) * 255).astype(np.uint8)
    mask[0, 0] = 1
    save_mask(tmp_path / "flat" / "masks" / f"{held:03}.png", mask)
    said = rf"{held:03}\.png is held out, and its mask holds the value 1; the training masks are black and white, 0 and 255"
    for check in (True, False):
        with pytest.raises(InputError, match=rf"^dataset\.unknown: .*{said}") as refused:
            opened(tmp_path / "flat", check=check).fit(parts["train"])
        assert refused.value.fix == {"dataset.unknown": "ignore"}
    expected[held, 0, 0, 3] = IGNORED_PIXEL
    for keep in (True, False):
        lenient = opened(tmp_path / "flat", keep=keep, unknown="ignore").fit(parts["train"])
        assert lenient.classes == plain.classes == ("black", "white")
        assert not any("no class list" in note for note in lenient.notes)
        assert torch.equal(lenient.read(torch.arange(12)), expected)
        assert torch.equal(lenient.read_all(), expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sky\nsky", "line 2: names sky a second time"),
        ("sky 0 0 0\nroad", "line 2: has a color where others have none"),
        ("sky 0 0 0\nroad 0 0 0", "line 2: gives road a color that another class has"),
        ("sky 0 0 300", "line 1: has a color beyond 255"),
        ("", "names 0 classes"),
    ],
)
def test_a_class_list_that_cannot_be_right(tmp_path: Path, text: str, said: str) -> None:
    write_pairs(tmp_path, classes=text)
    with pytest.raises(InputError, match=said):
        opened(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        COLOR_LIST,
        "name,r,g,b\nsky,0,0,0\nroad,200,40,30\ntree,20,60,220",
        "0 0 0\tsky\n200 40 30\troad\n20 60 220\ttree",
    ],
)
def test_class_lists_as_they_are_found(tmp_path: Path, text: str) -> None:
    source = opened(write_pairs(tmp_path, "RGB", None), class_list=_written(tmp_path / "labels.csv", text))
    assert source.classes == ("sky", "road", "tree")
    assert np.array_equal(source.read(torch.tensor([0]))[0, ..., 3].numpy(), sample(0)[1])


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_folders_that_hold_no_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no images and masks that could be told apart"):
        opened(tmp_path)
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    with pytest.raises(InputError, match="no image with a mask of the same name"):
        opened(tmp_path)
    write_pairs(tmp_path / "color", "RGB", None)
    with pytest.raises(InputError, match="no mask of a training image can be read as indices"):
        opened(tmp_path / "color")
    with pytest.raises(InputError, match="no training image that can be used"):
        opened(write_pairs(tmp_path / "wrong", "RGB", "sky\nroad\ntree"))


def test_from_the_cache_or_decoded_the_pairs_are_the_same(tmp_path: Path) -> None:
    root = write_pairs(tmp_path / "pairs")
    wish = CacheWish("on", tmp_path / "cache", 10**9)
    time.sleep(0.1)  # files written this very moment are known by content alone
    plain = opened(root, keep=False)
    first, second = opened(root, keep=False, cache=wish), opened(root, keep=False, cache=wish)
    assert "came decoded from the cache" in second.supply
    assert plain.fingerprint == first.fingerprint == second.fingerprint
    everything = torch.arange(18)
    for source in (first, second, pickle.loads(pickle.dumps(second)), opened(root, check=False, cache=wish)):
        assert torch.equal(source.read(everything), plain.read(everything))
    save_mask(root / "train" / "masks" / "003.png", 2 - sample(3)[1])
    changed = opened(root, keep=False, cache=wish)
    assert "1 of 18 were decoded now" in changed.supply
    assert torch.equal(changed.read(everything), opened(root, keep=False).read(everything))
    assert changed.fingerprint != plain.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("loader", [{"mode": "streamed", "workers": 0}, {"mode": "streamed", "workers": 2}])
def test_streamed_batches_are_the_resident_ones(
    tmp_path: Path, make_config: MakeConfig, loader: dict[str, Any]
) -> None:
    sections: dict[str, Any] = {
        "dataset": {"kind": "segmentation", "path": str(write_pairs(tmp_path)), "flip": True, "crop_padding": 2},
        "model": {"kind": "unet", "depth": 1, "width": 4},
        "objective": {"kind": "segmentation"},
        "loop": {"batch_size": 5},
    }
    batches: list[list[Any]] = []
    for each in ({"mode": "resident"}, loader):
        with prepare(make_config(**sections, loader=each | {"cache": "off"}), torch.device("cpu")) as data:
            batches.append([batch for window in data.steps(1) for batch in window])
    assert len(batches[0]) == 3
    for resident, streamed in zip(*batches, strict=True):
        assert torch.equal(resident.inputs, streamed.inputs)
        assert torch.equal(resident.targets, streamed.targets)


@pytest.mark.parametrize("mode", ["resident", "streamed"])
def test_masks_that_are_ignored_everywhere_are_refused(tmp_path: Path, make_config: MakeConfig, mode: str) -> None:
    write_pairs(tmp_path)
    for path in (tmp_path / "train" / "masks").iterdir():
        save_mask(path, np.full((20, 26), IGNORED_PIXEL, np.uint8))
    config = make_config(
        dataset={"kind": "segmentation", "path": str(tmp_path)},
        model={"kind": "unet", "depth": 1, "width": 4},
        objective={"kind": "segmentation"},
        loader={"mode": mode, "workers": 0},
    )
    with pytest.raises(InputError, match="All pixels of the training masks are ignored, so there is nothing to learn"):
        prepare(config, torch.device("cpu"))
