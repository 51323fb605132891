"""Image folders as people have them: any layout, any rubbish, never a crash."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.training.data.conftest import fill_class, image
from training.config.sections.data.dataset import ImageFolderDataset
from training.data.images import decode_many, images
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.errors import InputError, TrainingError


def opened(folder: Path, *, keep: bool = True, workers: int | None = 0, check: bool = True, **settings: Any) -> Source:
    dataset = ImageFolderDataset.model_validate({"path": str(folder)} | settings)
    return open_source(dataset, Opening(check=check, keep=lambda size: keep, workers=workers))


def reasons(source: Source) -> dict[str, str]:
    return {skipped.path: skipped.reason for skipped in source.skipped}


def test_classes_images_and_order(image_folder: Path) -> None:
    source = opened(image_folder)
    assert source.classes == ("apple", "bear", "crow")
    assert source.shape == (3, 16, 16)
    assert source.targets.tolist() == [0] * 12 + [1] * 12 + [2] * 12
    assert list(source.parts) == ["train"]
    assert source.skipped == ()
    assert np.array_equal(source.read(torch.tensor([13]))[0].numpy(), np.asarray(image(101)))
    assert any("16 × 16" in note for note in source.notes)


def test_kept_or_read_again_the_pixels_are_the_same(image_folder: Path) -> None:
    (image_folder / "apple" / "005.png").write_bytes(b"broken")
    kept, read = opened(image_folder), opened(image_folder, keep=False)
    assert (kept.reading, read.reading) == ("memory", "files")
    assert kept.fingerprint == read.fingerprint
    some = torch.tensor([34, 0, 5, 5, 12])
    assert torch.equal(kept.read(some), read.read(some))
    assert torch.equal(kept.read_all(), read.read_all())
    assert kept.reading == "files"
    assert torch.equal(kept.read(some), read.read(some))


def test_it_travels_to_a_worker_without_its_images(image_folder: Path) -> None:
    source = opened(image_folder, image_size=256)
    sent = pickle.dumps(source)
    assert len(sent) < 10_000
    assert torch.equal(pickle.loads(sent).read(torch.arange(5)), source.read(torch.arange(5)))


def test_processes_find_the_same(image_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (image_folder / "bear" / "003.png").write_bytes(b"broken")
    alone = opened(image_folder)
    monkeypatch.setattr(decode_many, "_FIRST", 4)
    monkeypatch.setattr(decode_many, "_PIECE_BYTES", 3000)
    together = opened(image_folder, workers=2)
    assert together.fingerprint == alone.fingerprint
    assert together.skipped == alone.skipped
    assert torch.equal(together.read_all(), alone.read_all())


@pytest.mark.parametrize(("train", "val", "test"), [("train", "val", "test"), ("Training", "VALID", "Testing")])
def test_parts_are_recognized(tmp_path: Path, train: str, val: str, test: str) -> None:
    for part, n in ((train, 6), (val, 3), (test, 2)):
        fill_class(tmp_path / part / "cat", n)
        fill_class(tmp_path / part / "dog", n, seed=50)
    (tmp_path / "readme.txt").write_text("about")
    (tmp_path / "extra").mkdir()
    source = opened(tmp_path)
    assert {part: len(rows) for part, rows in source.parts.items()} == {"train": 12, "validation": 6, "test": 4}
    assert source.classes == ("cat", "dog")
    assert set(reasons(source)) == {"readme.txt", "extra"}
    assert source.targets[source.parts["validation"]].tolist() == [0, 0, 0, 1, 1, 1]


def test_parts_that_lie_elsewhere(image_folder: Path, tmp_path: Path) -> None:
    """In folders of any name: the same samples as below one folder, and the same fingerprint wherever they lie."""
    whole = tmp_path / "whole"
    shutil.copytree(image_folder, whole / "train")
    for part, name in (("val", "held"), ("test", "for testing")):
        for each in ("apple", "bear", "crow"):
            fill_class(whole / part / each, 2, seed=500)
        shutil.copytree(whole / part, tmp_path / part / name)
    below = opened(whole)
    places: dict[str, Any] = {
        "validation_path": str(tmp_path / "val" / "held"),
        "test_path": str(tmp_path / "test" / "for testing"),
    }
    source = opened(image_folder, **places)
    assert {part: rows.tolist() for part, rows in source.parts.items()} == {
        part: rows.tolist() for part, rows in below.parts.items()
    }
    every = torch.arange(48)
    assert torch.equal(source.read(every), below.read(every))
    assert source.targets.tolist() == below.targets.tolist()
    assert source.name(36) == (tmp_path / "val" / "held" / "apple" / "000.png").as_posix()
    assert f"validation images in {(tmp_path / 'val' / 'held').as_posix()}" in source.notes
    shutil.move(tmp_path / "val" / "held", tmp_path / "moved")
    assert (
        opened(image_folder, **places | {"validation_path": str(tmp_path / "moved")}).fingerprint == source.fingerprint
    )
    odd = tmp_path / os.fsdecode(b"v\xe4l")  # no UTF-8, and found all the same
    shutil.copytree(tmp_path / "moved", odd)
    (tmp_path / "link").symlink_to(odd)
    assert (
        opened(image_folder, **places | {"validation_path": str(tmp_path / "link")}).fingerprint == source.fingerprint
    )
    # With the training part of a folder that has others, and where it would be trained on as well.
    shutil.rmtree(whole / "test")
    assert len(opened(whole, test_path=str(image_folder)).parts["test"]) == 36
    assert "has a validation part of its own, val" in refused(whole, validation_path=str(tmp_path / "moved"))
    assert "held is not a folder" in refused(image_folder, **places)
    assert "is dataset.path" in refused(image_folder, validation_path=str(image_folder))
    assert "lies inside of dataset.path" in refused(image_folder, test_path=str(image_folder / "apple"))
    assert "holds dataset.path" in refused(image_folder, test_path=str(tmp_path))


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    for name in ("train", "bus", "test"):
        fill_class(tmp_path / name, 3)
    assert opened(tmp_path).classes == ("bus", "test", "train")


def test_everything_people_leave_in_folders(image_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apple, bear = image_folder / "apple", image_folder / "bear"
    (image_folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    (apple / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    (apple / "Thumbs.db").write_bytes(b"\xd0\xcf")
    (apple / "._001.png").write_bytes(b"resource fork")
    (apple / "empty.jpg").write_bytes(b"")
    (apple / "text.jpg").write_text("not an image")
    (apple / "notes.txt").write_text("notes")
    whole = apple / "whole.jpg"
    image(3, (16, 16)).save(whole)
    (apple / "cut.jpg").write_bytes(whole.read_bytes()[:300])
    (image_folder / "loose.png").write_bytes((apple / "001.png").read_bytes())
    (image_folder / "hollow").mkdir()
    (image_folder / ".git").mkdir()
    (bear / "loop").symlink_to(image_folder)
    (bear / "itself").symlink_to(bear / "itself")
    (bear / "lost.png").symlink_to("nowhere.png")
    os.mkfifo(bear / "pipe.png")
    fill_class(image_folder / "single ñandú", 1)
    image(9).save(bear / "name with späces and accénts.gif")
    image(9).convert("CMYK").save(bear / "cmyk.jpg")
    fill_class(bear / "deeper" / "still", 2)
    source = opened(image_folder)
    assert source.classes == ("apple", "bear", "crow", "single ñandú")
    assert torch.bincount(source.targets).tolist() == [13, 16, 12, 1]
    expected = {
        ".DS_Store": "hidden",
        ".git": "hidden",
        "apple/.DS_Store": "hidden",
        "apple/._001.png": "hidden",
        "apple/Thumbs.db": "system",
        "apple/empty.jpg": "empty",
        "apple/text.jpg": "not an image",
        "apple/notes.txt": r"(.txt)",
        "apple/cut.jpg": "damaged",
        "loose.png": "not inside a class folder",
        "hollow": "without an image",
        "bear/loop": "link back",
        "bear/itself": "link that leads nowhere",
        "bear/lost.png": "link that leads nowhere",
        "bear/pipe.png": "not an ordinary file",
    }
    found = reasons(source)
    assert set(found) == set(expected)
    for path, part in expected.items():
        assert part in found[path]
    assert len(opened(image_folder, check=False).targets) == len(source.targets)  # so few are decoded by a preview, too
    monkeypatch.setattr(images, "is_quick", lambda listing: False)
    listed = opened(image_folder, check=False)
    assert len(listed.targets) == len(source.targets) + 2  # text.jpg and cut.jpg are found by decoding only


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files_and_folders(image_folder: Path) -> None:
    (image_folder / "apple" / "001.png").chmod(0)
    fill_class(image_folder / "closed", 2)
    (image_folder / "closed").chmod(0)
    try:
        found = reasons(opened(image_folder))
    finally:
        (image_folder / "closed").chmod(0o700)
    assert "ermission" in found["apple/001.png"]
    assert "closed" in found


def test_a_name_that_is_no_text(image_folder: Path) -> None:
    try:
        shutil.copy(image_folder / "apple" / "001.png", image_folder / "apple" / os.fsdecode(b"\xff\xfe.png"))
    except OSError:
        pytest.skip("this file system takes only text as names")
    (image_folder / "apple" / os.fsdecode(b"\xfe.png")).write_bytes(b"broken")
    source = opened(image_folder)
    assert len(source.targets) == 37
    assert [skipped.path.encode() for skipped in source.skipped] == ["apple/\ufffd.png".encode()]


def test_different_sizes_become_128_squares(image_folder: Path) -> None:
    image(5, (40, 20)).save(image_folder / "crow" / "011.png")
    source = opened(image_folder)
    assert source.shape == (3, 128, 128)
    assert any("scaled and center-cropped to 128 × 128" in note for note in source.notes)


def test_an_odd_one_that_the_probe_missed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "is_quick", lambda listing: False)
    fill_class(tmp_path / "a", 150)
    fill_class(tmp_path / "b", 3)
    image(5, (40, 20)).save(tmp_path / "a" / "001.png")
    source = opened(tmp_path, check=False)
    assert source.shape == (3, 16, 16)
    assert opened(tmp_path).shape == (3, 128, 128)


def test_size_and_color_as_asked(image_folder: Path) -> None:
    source = opened(image_folder, image_size=24, color="grey")
    assert source.shape == (1, 24, 24)
    assert source.read_all().shape == (36, 24, 24, 1)


@pytest.mark.parametrize("side", [7, 600])
def test_tiny_and_huge_images_do_not_keep_their_size(tmp_path: Path, side: int) -> None:
    for name in ("a", "b"):
        fill_class(tmp_path / name, 1, size=(side, side))
    assert opened(tmp_path).shape == (3, 128, 128)


def test_own_size_need_not_be_square(tmp_path: Path) -> None:
    for name in ("a", "b"):
        fill_class(tmp_path / name, 2, size=(24, 16))
    assert opened(tmp_path).shape == (3, 16, 24)


def test_the_fingerprint_sees_content_names_and_classes(image_folder: Path) -> None:
    before = opened(image_folder).fingerprint
    shutil.copytree(image_folder, image_folder.with_name("copy"))
    assert opened(image_folder.with_name("copy")).fingerprint == before
    (image_folder / "apple" / "notes.txt").write_text("left out, so no change")
    assert opened(image_folder).fingerprint == before
    Image.new("RGB", (16, 16), "red").save(image_folder / "apple" / "003.png")
    changed = opened(image_folder).fingerprint
    (image_folder / "apple" / "003.png").rename(image_folder / "crow" / "moved.png")
    moved = opened(image_folder).fingerprint
    assert len({before, changed, moved}) == 3


def test_the_same_name_written_in_two_ways(tmp_path: Path) -> None:
    """macOS writes é as e and an accent; both are one class."""
    fill_class(tmp_path / "train" / "caf\u00e9", 3)
    fill_class(tmp_path / "train" / "bar", 3)
    fill_class(tmp_path / "val" / "cafe\u0301", 2)
    source = opened(tmp_path)
    assert source.classes == ("bar", "caf\u00e9")
    assert len(source.parts["validation"]) == 2


def refused(folder: Path, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        opened(folder, **settings)
    assert caught.value.advice
    return caught.value.message


def test_folders_that_are_no_dataset(tmp_path: Path) -> None:
    assert "not a folder" in refused(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "no image" in refused(tmp_path / "empty")
    fill_class(tmp_path / "one" / "cat", 3)
    assert "one class only (cat)" in refused(tmp_path / "one")
    fill_class(tmp_path / "flat", 3)
    assert "no class folders" in refused(tmp_path / "flat")
    fill_class(tmp_path / "two" / "cat", 2)
    (tmp_path / "two" / "dog").mkdir()
    (tmp_path / "two" / "dog" / "a.jpg").write_bytes(b"broken")
    assert "one class only (cat)" in refused(tmp_path / "two")


def test_parts_that_do_not_fit_together(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        fill_class(tmp_path / "foreign" / "train" / name, 2)
        fill_class(tmp_path / "untrained" / "test" / name, 2)
        fill_class(tmp_path / "twice" / "train" / name, 2)
        fill_class(tmp_path / "twice" / "val" / name, 2)
        fill_class(tmp_path / "twice" / "valid" / name, 2)
    fill_class(tmp_path / "foreign" / "val" / "bird", 2)
    assert "bird" in refused(tmp_path / "foreign")
    assert "no folder train" in refused(tmp_path / "untrained")
    assert "val and valid" in refused(tmp_path / "twice")


def test_a_file_that_vanishes_later_is_named(image_folder: Path) -> None:
    source = opened(image_folder, keep=False)
    (image_folder / "bear" / "004.png").unlink()
    with pytest.raises(TrainingError, match=r"bear/004\.png"):
        source.read(torch.arange(36))


def test_progress_is_told(image_folder: Path) -> None:
    told: list[tuple[str, float | None]] = []
    dataset = ImageFolderDataset(path=str(image_folder))
    open_source(dataset, Opening(report_progress=lambda text, fraction: told.append((text, fraction))))
    assert told[0] == ("listing the images", None)
    assert told[-1] == ("decoding 36 of 36 images", 1.0)
