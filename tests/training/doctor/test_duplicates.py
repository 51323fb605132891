"""Samples on both sides of the split: found, named, and left out on request."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance

from tests.training.data.pairs_of_images import save_mask, write_pairs
from training.config import RunConfig, parse_config
from training.data import prepare
from training.data.duplicates import find_duplicates
from training.doctor.preflight import preflight
from training.errors import InputError
from training.events import Finding


def detailed(seed: int) -> Image.Image:
    """An image of (96, 80) with coarse and fine structure, as photographs have it: amplitude falls as frequency rises."""
    generator = np.random.default_rng(seed)
    whole = np.zeros((80, 96, 3))
    for cells in (2, 4, 8, 16, 32):
        small = generator.normal(0, 200 / cells, (cells, cells, 3)).astype(np.float32)
        for channel in range(3):
            layer = Image.fromarray(small[..., channel]).resize((96, 80), Image.Resampling.BICUBIC)
            whole[..., channel] += np.asarray(layer)
    return Image.fromarray(np.clip(whole + 128, 0, 255).astype(np.uint8))


def jpeg(image: Image.Image, quality: int) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=quality)
    return stream.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve training and six validation images of either class, each another."""
    for part, count in (("train", 12), ("val", 6)):
        for number, name in enumerate(("cat", "dog")):
            (tmp_path / part / name).mkdir(parents=True)
            for each in range(count):
                seed = 1000 * number + each + (500 if part == "val" else 0)
                detailed(seed).save(tmp_path / part / name / f"{each:02}.png")
    return tmp_path


def made(**sections: Any) -> RunConfig:
    return parse_config(sections)


def config_of(folder: Path, **settings: Any) -> RunConfig:
    dataset = {"kind": "image_folder", "path": str(folder), "image_size": 40} | settings
    return made(dataset=dataset, model={"kind": "mlp", "hidden": [4]}, loop={"batch_size": 4, "epochs": 1})


def warnings(config: RunConfig, workspace: Path) -> list[Finding]:
    found = preflight(config, workspace)
    return [each for each in found if "trained on" in each.title and each.level != "info"]


def test_different_images_are_no_duplicates(folder: Path, tmp_path: Path) -> None:
    assert warnings(config_of(folder), tmp_path) == []


def test_the_same_file_on_both_sides_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "val" / "cat" / "01.png").write_bytes((folder / "train" / "cat" / "07.png").read_bytes())
    (folder / "val" / "dog" / "02.png").write_bytes((folder / "train" / "cat" / "08.png").read_bytes())
    (found,) = warnings(config_of(folder), tmp_path)
    assert found.level == "warning"
    assert found.title == (
        "2 of 12 held-out samples are trained on, too, 1 of them with another target: val/cat/01.png and train/cat/07.png; "
        "val/dog/02.png and train/cat/08.png."
    )
    assert found.fix == {"dataset.duplicates": "drop_from_validation"}


@pytest.mark.parametrize("change", ["quality", "size", "brightness"])
def test_images_that_look_alike_are_found(folder: Path, tmp_path: Path, change: str) -> None:
    copy = detailed(7)
    if change == "size":
        copy = copy.resize((192, 160), Image.Resampling.BICUBIC)
    if change == "brightness":
        copy = ImageEnhance.Brightness(copy).enhance(0.8)
    (folder / "val" / "cat" / "copy.jpg").write_bytes(jpeg(copy, 60))
    (found,) = warnings(config_of(folder), tmp_path)
    assert found.title == (
        "1 of 13 held-out samples look almost like one that is trained on: val/cat/copy.jpg and train/cat/07.png."
    )
    assert (found.level, found.fix) == ("warning", {})


def test_blank_images_look_like_nothing(folder: Path, tmp_path: Path) -> None:
    Image.new("RGB", (96, 80), (200, 200, 200)).save(folder / "train" / "cat" / "blank.png")
    Image.new("RGB", (96, 80), (90, 90, 90)).save(folder / "val" / "cat" / "blank.png")
    assert warnings(config_of(folder), tmp_path) == []
    blank = (folder / "train" / "cat" / "blank.png").read_bytes()
    for place in ("val/cat/blank.png", "train/dog/blank.png"):
        (folder / place).write_bytes(blank)
    assert warnings(config_of(folder), tmp_path) == [], "nor are two of one color copies"


def test_a_validation_part_that_is_trained_on_is_replaced(folder: Path, tmp_path: Path) -> None:
    for path in (folder / "val").rglob("*.png"):
        path.write_bytes((folder / "train" / path.parent.name / path.name).read_bytes())
    (found,) = warnings(config_of(folder), tmp_path)
    assert found.fix == {"dataset.validation": "split"}
    assert warnings(config_of(folder, validation="split"), tmp_path) == []


def test_streamed_or_resident_the_same_is_found(folder: Path, tmp_path: Path) -> None:
    (folder / "val" / "cat" / "01.png").write_bytes((folder / "train" / "cat" / "07.png").read_bytes())
    (folder / "val" / "cat" / "copy.jpg").write_bytes(jpeg(detailed(9), 60))
    config = config_of(folder)
    streamed = config.model_copy(update={"loader": config.loader.model_copy(update={"mode": "streamed", "workers": 0})})
    assert [each.title for each in warnings(streamed, tmp_path)] == [each.title for each in warnings(config, tmp_path)]
    assert len(warnings(config, tmp_path)) == 2


def test_a_image_with_another_mask_is_a_duplicate_all_the_same(tmp_path: Path) -> None:
    root = write_pairs(tmp_path / "pairs")
    (root / "val" / "images" / "012.png").write_bytes((root / "train" / "images" / "003.png").read_bytes())
    save_mask(root / "val" / "masks" / "012.png", np.zeros((20, 26), np.uint8))
    config = made(
        dataset={"kind": "segmentation", "path": str(root)},
        model={"kind": "unet", "depth": 1, "width": 4},
        objective={"kind": "segmentation"},
        loop={"batch_size": 4},
    )
    (found,) = warnings(config, tmp_path)
    assert "val/images/012.png and train/images/003.png" in found.title


def test_rows_of_a_table_that_are_alike(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = [f"{x:.6f},{y:.6f},{'ab'[number % 2]},train" for number, (x, y) in enumerate(generator.normal(size=(40, 2)))]
    held = [f"{x:.6f},{y:.6f},{'ab'[number % 2]},val" for number, (x, y) in enumerate(generator.normal(size=(8, 2)))]
    held[2] = rows[6].replace("train", "val")
    held[5] = rows[8].replace(",a,train", ",b,val")
    kept = [*held]
    (tmp_path / "table.csv").write_text("\n".join(["x,y,kind,part", *rows, *held]))
    dataset = {"kind": "table", "path": str(tmp_path / "table.csv"), "targets": ["kind"], "split_column": "part"}
    (found,) = warnings(made(dataset=dataset, model={"kind": "mlp"}), tmp_path)
    assert found.title == (
        "2 of 8 held-out samples are trained on, too, 1 of them with another target: row 43 and row 7; row 46 and row 9."
    )
    for number in range(8):
        held[number] = rows[number].replace("ab"[number % 2] + ",train", "ba"[number % 2] + ",val")
    (tmp_path / "table.csv").write_text("\n".join(["x,y,kind,part", *rows, *held]))
    config = made(dataset=dataset, model={"kind": "mlp"})
    told = [
        each for each in preflight(config, tmp_path) if each.code in ("data.conflicting_labels", "split.duplicates")
    ]
    assert [each.title.partition(":")[0] for each in told] == [
        "8 of 8 held-out samples are equal to a training sample with another target"
    ]
    codes = [
        f"{x},{y},{'ab'[(x + y) % 2]},{part}"
        for part, n in (("train", 40), ("val", 8))
        for x, y in generator.integers(0, 4, (n, 2))
    ]
    (tmp_path / "table.csv").write_text("\n".join(["x,y,kind,part", *codes]))
    assert warnings(made(dataset=dataset, model={"kind": "mlp"}), tmp_path) == [], "few rows can be told apart"
    (tmp_path / "table.csv").write_text("\n".join(["x,y,kind,part", *rows, *kept]))
    config = made(dataset=dataset | {"duplicates": "drop_from_validation"}, model={"kind": "mlp"})
    with prepare(config, torch.device("cpu")) as data:
        assert data.splits["validation"].tolist() == [40, 41, 43, 44, 46, 47]
        assert data.splits["train"].tolist() == list(range(40))


def test_on_request_they_judge_nothing(folder: Path, tmp_path: Path) -> None:
    (folder / "val" / "cat" / "01.png").write_bytes((folder / "train" / "cat" / "07.png").read_bytes())
    config = config_of(folder, duplicates="drop_from_validation")
    assert warnings(config, tmp_path) == []
    with prepare(config, torch.device("cpu")) as data:
        assert len(data.splits["train"]) == 24
        assert "val/cat/01.png" not in {data.source.name(int(number)) for number in data.splits["validation"]}
        assert data.report.samples["validation"] == 11
        assert "1 held-out sample removed, since they are trained on, too" in data.report.notes
    for path in (folder / "val").rglob("*.png"):
        path.write_bytes((folder / "train" / "cat" / "07.png").read_bytes())
    with pytest.raises(InputError, match=r"dataset\.duplicates: every validation sample is also trained on"):
        prepare(config, torch.device("cpu"))


def test_of_many_samples_some_are_drawn_the_same_each_time(folder: Path) -> None:
    (folder / "val" / "cat" / "copy.jpg").write_bytes(jpeg(detailed(7), 60))
    with prepare(config_of(folder), torch.device("cpu")) as data:
        first, again = (find_duplicates(data.source, data.splits, data.raw, False, most=8) for _ in range(2))
        whole = find_duplicates(data.source, data.splits, data.raw, False, whole=True, most=8)
    assert (first.held, first.trained, first.partial) == (8, 8, True)
    assert first == again
    assert (whole.held, whole.trained, whole.partial, len(whole.near)) == (13, 24, False, 1)


def test_many_small_versions_are_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "val" / "cat" / "copy.jpg").write_bytes(jpeg(detailed(7), 60))
    with prepare(config_of(folder), torch.device("cpu")) as data:
        kept = find_duplicates(data.source, data.splits, data.raw, False)
        monkeypatch.setattr("training.data.images.alike._MOST_KEPT", 4)
        again = find_duplicates(data.source, data.splits, data.raw, False)
    assert len(kept.near) == 1
    assert again == kept
