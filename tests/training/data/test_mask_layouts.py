"""Images and masks as people have them: in folders of any name, called by a pattern, or in a list."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.data.pairs_of_images import COLORS, PARTS, sample, write_pairs
from training.cli import main
from training.config import parse_config
from training.config.rules.mask_layout import find_layout, layout_settings
from training.config.sections.data.images import SegmentationDataset
from training.data.prepared import PreparedData
from training.data.source import Opening, Source, silent
from training.data.sources import open_source
from training.errors import ConfigError, InputError

NAMES = "sky\nroad\ntree\n"


def opened(folder: Path, **settings: Any) -> Source:
    dataset = SegmentationDataset.model_validate({"path": str(folder)} | settings)
    return open_source(dataset, Opening(keep=lambda size: True, workers=0))


def lay_out(root: Path, image: str, mask: str) -> Path:
    """The pairs of ``write_pairs`` where the patterns say, of {part} and {name}."""
    write_pairs(root / "as usual")
    for part in PARTS:
        for folder, pattern in (("images", image), ("masks", mask)):
            for path in (root / "as usual" / part / folder).iterdir():
                place = root / pattern.format(part=part, name=path.stem)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, place)
    shutil.rmtree(root / "as usual")
    (root / "classes.txt").write_text(NAMES)
    return root


def assert_all_pairs(source: Source, parts: tuple[str, ...] = ("train", "validation")) -> None:
    assert [*source.parts] == [*parts]
    assert len(source.targets) == 18
    for number, found in enumerate(source.read(torch.arange(18)).numpy()):
        picture, mask = sample(int(Path(source.name(number)).stem[:3]))
        assert np.array_equal(found[..., :3], picture)
        assert np.array_equal(found[..., 3], mask)


GIVEN = {
    "folders": (
        "a/{part}/{name}.png",
        "b/{part}/{name}.png",
        ("a/train", "b/train", "a/val", "b/val"),
    ),
    "masks beside": ("{part}/{name}.png", "{part}/{name}_m.png", ("train", "*_m.png", "val", "{name}_m.png")),
    "patterns": (
        "left/{part}/x/{name}_left.png",
        "gt/{part}/x/{name}_ids.png",
        ("left/train/*_left.png", "gt/train/{name}_ids.png", "left/val/*_left.png", "gt/val/*_ids"),
    ),
    "one tree": ("{part}/{name}.png", "{part}/m/{name}.png", ("train", "train/m", "val", "val/m")),
}


@pytest.mark.parametrize("way", GIVEN)
def test_folders_and_patterns_by_setting(way: str, tmp_path: Path) -> None:
    image, mask, settings = GIVEN[way]
    lay_out(tmp_path, image, mask)
    names = ("train_images", "train_masks", "validation_images", "validation_masks")
    source = opened(tmp_path, **dict(zip(names, settings, strict=True)))
    assert_all_pairs(source)
    assert {each.path for each in source.skipped} <= {"classes.txt"}
    as_test = opened(tmp_path, **dict(zip((*names[:2], "test_images", "test_masks"), settings, strict=True)))
    assert [*as_test.parts] == ["train", "test"]


FOUND = {
    "SegNet's folders": ("{part}/{name}.png", "{part}annot/{name}.png"),
    "labels with an ending": ("{part}/{name}.png", "{part}_labels/{name}_L.png"),
    "masks beside": ("{part}/{name}.png", "{part}/{name}_mask.png"),
}


@pytest.mark.parametrize("way", FOUND)
def test_layouts_that_are_found(way: str, tmp_path: Path) -> None:
    lay_out(tmp_path, *FOUND[way])
    source = opened(tmp_path)
    assert_all_pairs(source)
    assert "18 images paired with a mask" in source.notes
    found = layout_settings(find_layout(tmp_path))
    assert (found["train_images"], found["validation_images"], found["test_images"]) == ("train", "val", "")
    assert opened(tmp_path, **found).fingerprint == source.fingerprint
    # Where the person names the images alone, their masks are looked for.
    assert [*opened(tmp_path, train_images="train").parts] == ["train"]


def test_two_folders_that_are_alike_but_for_their_names(tmp_path: Path) -> None:
    lay_out(tmp_path, "CameraRGB/{name}.png", "CameraSeg/{name}.png")
    assert_all_pairs(opened(tmp_path), ("train",))


LISTS = {
    "train.txt": lambda part, name: f"/SegNet/CamVid/{part}/{name}.png /SegNet/CamVid/{part}annot/{name}.png",
    "train.csv": lambda part, name: f"{name},{part}annot/{name}.png,{part}/{name}.png",
    "lists/train.lst": lambda part, name: f"../{part}".replace("../", "") + f"\\{name}.png\t{part}annot\\{name}.png",
}


@pytest.mark.parametrize("file", LISTS)
def test_lists(file: str, tmp_path: Path) -> None:
    lay_out(tmp_path, "{part}/{name}.png", "{part}annot/{name}.png")
    numbers = iter(range(18))
    for part, count in PARTS.items():
        lines = [LISTS[file](part, f"{next(numbers):03}") for _ in range(count)]
        place = tmp_path / file.replace("train", part)
        place.parent.mkdir(exist_ok=True)
        place.write_text("\n".join(["id,mask,image"] * file.endswith("csv") + lines) + "\n")
    settings = {"train_images": file, "validation_images": file.replace("train", "val")}
    assert_all_pairs(opened(tmp_path, **settings))
    if file == "train.txt":
        shutil.move(tmp_path / "trainannot", tmp_path / "truth")
        shutil.move(tmp_path / "valannot", tmp_path / "more")
        with pytest.raises(InputError, match=r"has no folder train|no image with a mask"):
            opened(tmp_path, **settings)


def lay_out_voc(root: Path) -> Path:
    """As PASCAL VOC: images and masks of all parts together, lists of names, and masks of another kind beside."""
    lay_out(root, "JPEGImages/{name}.png", "SegmentationClass/{name}.png")
    shutil.copytree(root / "SegmentationClass", root / "SegmentationObject")
    lists = root / "ImageSets" / "Segmentation"
    lists.mkdir(parents=True)
    names = [f"{number:03}" for number in range(18)]
    first = PARTS["train"]
    for name, some in (("train", names[:first]), ("val", names[first:]), ("trainval", names), ("test", ["900", "901"])):
        (lists / f"{name}.txt").write_text("\n".join(some) + "\n")
    return lists


def test_lists_of_names_as_those_of_voc(tmp_path: Path) -> None:
    lists = lay_out_voc(tmp_path)
    source = opened(tmp_path)
    assert_all_pairs(source)
    assert {
        "18 images paired with a mask",
        "such as JPEGImages/000.png with SegmentationClass/000.png",
    } <= set(source.notes)
    found = layout_settings(find_layout(tmp_path))
    assert (found["train_images"], found["train_masks"]) == ("ImageSets/Segmentation/train.txt", "SegmentationClass")
    assert opened(tmp_path, **found).fingerprint == source.fingerprint
    # By setting, with other masks, in folders of any name, and with names that are not there.
    by_hand = {"train_images": str(lists / "train.txt"), "train_masks": "SegmentationObject"}
    assert "such as JPEGImages/000.png with SegmentationObject/000.png" in opened(tmp_path, **by_hand).notes
    (tmp_path / "JPEGImages").rename(tmp_path / "photos")
    (lists / "train.txt").write_text("# mine\n001\n002.jpg\n002\n003\n004\n005\nlost\n")
    odd = opened(tmp_path, **by_hand)
    assert [odd.name(number) for number in range(5)] == [f"photos/{number:03}.png" for number in range(1, 6)]
    reason = "there is no image of this name in photos (ImageSets/Segmentation/train.txt, line 8)"
    assert {each.path: each.reason for each in odd.skipped if "txt" in each.reason} == {"lost": reason}
    shutil.copytree(tmp_path / "photos", tmp_path / "copies")
    with pytest.raises(
        InputError, match=r"dataset\.train_images: images called as in .* several folders: copies, photos"
    ):
        opened(tmp_path, **by_hand)
    (lists / "train.txt").write_text("001\n002 1\n")
    with pytest.raises(InputError, match=r"train\.txt, line 2: '002 1' is not one name"):
        opened(tmp_path, **by_hand)


def test_images_and_masks_that_lie_elsewhere(tmp_path: Path) -> None:
    """Folders without one above them, by their whole paths."""
    lay_out(tmp_path / "both", "{part}/{name}.png", "{part}annot/{name}.png")
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    (tmp_path / "both").rename(here)
    for name in ("trainannot", "val", "valannot"):
        (here / name).rename(there / name)
    settings = {"train_images": "train", "train_masks": str(there / "trainannot")}
    settings |= {"validation_images": str(there / "val"), "validation_masks": str(there / "valannot" / "{name}.png")}
    # A list says the same, from where it lies; so does a pattern, and the masks beside a folder are looked for.
    (there / "held.txt").write_text("\n".join(f"val/{row:03}.png valannot/{row:03}.png" for row in range(12, 18)))
    for held in ({"validation_images": str(there / "held.txt")}, {"validation_images": str(there / "val")}):
        assert_all_pairs(opened(here, **settings | {"validation_masks": ""} | held))

    def print_of(place: Path) -> str:
        by_list = {"validation_images": str(place / "held.txt"), "validation_masks": ""}
        return opened(here, **settings | by_list | {"train_masks": str(place / "trainannot")}).fingerprint

    before_moving, moved = print_of(there), there.rename(tmp_path / "moved")
    assert print_of(moved) == before_moving
    moved.rename(there)
    pattern = {"validation_images": str(there / "val" / "*.png"), "validation_masks": str(there / "valannot" / "*.png")}
    assert_all_pairs(opened(here, **settings | pattern))
    source = opened(here, **settings)
    assert_all_pairs(source)
    assert f"such as train/000.png with {(there / 'trainannot' / '000.png').as_posix()}" in source.notes
    assert source.name(17) == (there / "val" / "017.png").as_posix()
    # What is kept from run to run notices masks that change there.
    config = parse_config(
        {
            "dataset": {"kind": "segmentation", "path": str(here), **settings},
            "model": {"kind": "unet", "depth": 1, "width": 4},
        }
    )
    kept = PreparedData(clock=lambda: time.time() + 60)
    before = kept.prepare(config, torch.device("cpu"), silent).report
    assert kept.prepare(config, torch.device("cpu"), silent).report.fingerprint == before.fingerprint
    shutil.copyfile(there / "trainannot" / "001.png", there / "trainannot" / "000.png")
    assert kept.prepare(config, torch.device("cpu"), silent).report.fingerprint != before.fingerprint
    kept.drop()


def test_what_a_list_names_wrongly_is_told_by_line(tmp_path: Path) -> None:
    lay_out(tmp_path, "{part}/{name}.png", "{part}annot/{name}.png")
    lines = [f"train/{number:03}.png trainannot/{number:03}.png" for number in range(8)]
    lines += [
        "train/000.png trainannot/000.png",
        "train/nowhere.png trainannot/009.png",
        "train/009.png trainannot/nowhere.png",
    ]
    lines += ["train/../../etc.png trainannot/010.png", "train/010.png train/010.png"]
    (tmp_path / "train.txt").write_text("# mine\n" + "\n".join(lines))
    assert {each.path: each.reason for each in opened(tmp_path, train_images="train.txt").skipped} == {
        "train/000.png": "is named a second time (train.txt, line 10)",
        "train/nowhere.png": "there is no such file (train.txt, line 11)",
        "train/009.png": "its mask trainannot/nowhere.png: there is no such file (train.txt, line 12)",
        "train/../../etc.png": "lies outside of the folder of the images (train.txt, line 13)",
        "train/010.png": "is named as its own mask (train.txt, line 14)",
    }
    (tmp_path / "train.txt").write_text("train/000.png trainannot/000.png\ntrain/001.png\n")
    with pytest.raises(InputError, match=r"train\.txt, line 2: 'train/001\.png' does not name an image and its mask"):
        opened(tmp_path, train_images="train.txt")
    with pytest.raises(InputError, match=r"dataset\.train_masks: train\.txt is a list, whose lines name the masks"):
        opened(tmp_path, train_images="train.txt", train_masks="trainannot")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"train_images": "trian"}, r"dataset\.train_images: there is no trian in"),
        ({"train_images": "/elsewhere"}, r"dataset\.train_images: there is no /elsewhere\."),
        ({"train_images": "../a"}, r"leads out of dataset\.path"),
        ({"train_images": "train", "train_masks": "train"}, r"dataset\.train_masks: train is where the images are"),
        ({"train_images": "train", "train_masks": "*_x.png"}, "no image with a mask of the same name"),
        (
            {"train_masks": "trainannot"},
            r"dataset\.train_images: the masks of the train part are named, but not its images",
        ),
        ({"train_images": "loose"}, r"dataset\.train_masks: no masks were found that belong to loose"),
        ({"validation_images": "val", "validation_masks": "valannot"}, "has no folder train"),
        (
            {"train_images": "classes.txt", "train_masks": "trainannot"},
            "images called as in classes.txt are in no folder of dataset.path",
        ),
    ],
)
def test_settings_that_lead_nowhere(settings: dict[str, str], said: str, tmp_path: Path) -> None:
    lay_out(tmp_path, "{part}/{name}.png", "{part}annot/{name}.png")
    (tmp_path / "loose").mkdir()
    with pytest.raises(InputError, match=said):
        opened(tmp_path, **settings)


def test_partners_that_are_missing_are_counted_and_named(tmp_path: Path) -> None:
    lay_out(tmp_path, "{part}/{name}.png", "{part}annot/{name}.png")
    (tmp_path / "trainannot" / "000.png").unlink()
    (tmp_path / "train" / "001.png").unlink()
    source = opened(tmp_path)
    assert "16 images paired with a mask, 1 image without a mask, 1 mask without an image" in source.notes
    assert {each.path: each.reason for each in source.skipped} == {
        "train/000.png": "has no mask of its name in trainannot",
        "trainannot/001.png": "a mask without an image",
    }


def test_colors_from_a_table_beside_or_from_the_settings(tmp_path: Path) -> None:
    write_pairs(tmp_path, "RGB", None)
    named = [f"{name} {r} {g} {b}" for name, (r, g, b) in zip(("sky", "road", "tree"), COLORS, strict=True)]
    by_setting = opened(tmp_path, class_names=named)
    (tmp_path / "class_dict.csv").write_text("name,r,g,b\n" + "\n".join(named).replace(" ", ","))
    by_table = opened(tmp_path)
    for source in (by_setting, by_table):
        assert source.classes == ("sky", "road", "tree")
        assert np.array_equal(source.read(torch.tensor([0]))[0, ..., 3].numpy(), sample(0)[1])
    with pytest.raises(InputError, match=r"dataset\.class_names, number 2: names sky a second time"):
        opened(tmp_path, class_names="sky, sky")


def test_check_tells_what_was_paired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(tmp_path / "data", "{part}/{name}.png", "{part}annot/{name}.png")
    (tmp_path / "data" / "trainannot" / "000.png").unlink()
    (tmp_path / "c.toml").write_text(
        '[dataset]\nkind = "segmentation"\npath = "data"\n[model]\nkind = "unet"\ndepth = 1\nwidth = 4\n'
    )
    assert main(["check", str(tmp_path / "c.toml")]) == 0
    said = capsys.readouterr().err
    assert "17 images paired with a mask, 1 image without a mask" in said
    assert "train/000.png: has no mask of its name in trainannot" in said
    both = {"kind": "segmentation", "path": str(tmp_path), "class_names": "a", "class_list": "b"}
    with pytest.raises(ConfigError, match="empty one of them"):
        parse_config({"dataset": both})
