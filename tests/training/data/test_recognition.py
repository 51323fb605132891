"""Files known again by their content: touched, copied, renamed or put back, they are not decoded once more."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.training.data.conftest import image
from tests.training.data.test_harmed_cache import kill_while_decoding, turn_a_bit
from tests.training.data.test_image_cache import FROM_CACHE, NEW, folder, opened, part, same, settle, wish
from training.caches.decoded import LOCK
from training.data.batching.resident import Notice
from training.data.images import image_cache as picture_cache
from training.data.images.cache_room import CacheWish
from training.data.images.decoded import DAMAGED
from training.data.images.image_file import RECORD

__all__ = ["folder", "wish"]


def touch(folder: Path) -> None:
    for path in folder.glob("*/*.png"):
        path.touch()


def copy_anew(folder: Path) -> None:
    """As a backup gives it back, or a clone."""
    shutil.copytree(folder, folder.parent / "copy")
    shutil.rmtree(folder)
    (folder.parent / "copy").rename(folder)


def rename(folder: Path) -> None:
    for path in folder.glob("*/*.png"):
        path.rename(path.with_name(f"renamed {path.name}"))


def change_classes(folder: Path) -> None:
    (folder / "apple").rename(folder / "x")
    (folder / "bear").rename(folder / "apple")
    (folder / "x").rename(folder / "bear")


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(
    ("change", "count"),
    [(touch, 36), (copy_anew, 36), (rename, 36), (change_classes, 24)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_the_same_content_is_not_decoded_again(
    folder: Path, wish: CacheWish, change: Callable[[Path], None], count: int, keep: bool
) -> None:
    opened(folder, wish)
    change(folder)
    settle()
    pixels = part(wish, "pixels-*").read_bytes()
    source = opened(folder, wish, keep=keep)
    assert source.supply == f"{FROM_CACHE}, {count} of them known by content"
    assert same(source, folder)
    again = opened(folder, wish, keep=keep)
    assert again.supply == FROM_CACHE
    assert same(again, folder)
    assert part(wish, "pixels-*").read_bytes() == pixels


def test_one_of_the_same_length_is_another_image(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    path = folder / "apple" / "000.png"
    image(900).save(path.with_suffix(".bmp"))
    opened(folder, wish)
    image(901).save(path.with_suffix(".bmp"))  # which is as long: nothing in it is compressed
    settle()
    source = opened(folder, wish)
    assert source.supply.startswith("1 of 37 were decoded now")
    assert same(source, folder)


@pytest.mark.parametrize("keep", [True, False])
def test_damaged_pixels_are_not_used_for_a_known_content(folder: Path, wish: CacheWish, keep: bool) -> None:
    opened(folder, wish)
    turn_a_bit(part(wish, "pixels-*"), 10_000)
    touch(folder)
    settle()
    told: list[Notice] = []
    source = opened(folder, wish, told, keep=keep)
    assert same(source, folder)
    assert {*told, *source.take_notices()} == {DAMAGED}
    assert opened(folder, wish, told, keep=keep).supply == (FROM_CACHE if keep else NEW)


def test_the_records_of_a_folder_that_is_touched_ever_again_stay_few(
    folder: Path, wish: CacheWish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_cache, "_SPARE", 0)
    opened(folder, wish)
    pixels = part(wish, "pixels-*")
    sizes = []
    for _ in range(9):
        touch(folder)
        settle()
        assert opened(folder, wish).supply == f"{FROM_CACHE}, 36 of them known by content"
        sizes.append(part(wish, "index-*").stat().st_size)
    assert max(sizes) == max(sizes[:4])
    assert part(wish, "pixels-*") == pixels
    again = opened(folder, wish)
    assert again.supply == FROM_CACHE
    assert same(again, folder)


@pytest.mark.parametrize("known", [0, 4])
def test_images_that_are_added_to_many_records_make_no_cache_unreadable(
    folder: Path, wish: CacheWish, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    """``known`` of those that were touched last are known by content, so that it is written to already."""
    monkeypatch.setattr(picture_cache, "_SPARE", 0)  # 36 images may have 144 records
    opened(folder, wish)
    files = sorted(folder.glob("*/*.png"))
    for count in (36, 36, 36 - known):
        for path in files[:count]:
            path.touch()
        settle()
        opened(folder, wish)
    for path in files[36 - known :]:
        path.touch()
    image(902).save(files[0])
    settle()
    assert opened(folder, wish).supply.startswith("1 of 36 were decoded now and are kept")
    again = opened(folder, wish)
    assert again.supply == FROM_CACHE
    assert same(again, folder)


def test_where_no_room_is_left_for_new_images_known_ones_are_noted_all_the_same(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    pixels = part(wish, "pixels-*").read_bytes()
    full = CacheWish("on", wish.home, 36 * (768 + RECORD.itemsize))
    (folder / "apple" / "000.png").touch()
    image(903).save(folder / "apple" / "new.png")
    settle()
    source = opened(folder, full)
    assert source.supply.startswith("they are not kept in the cache: they take ")
    assert same(source, folder)
    assert part(wish, "pixels-*").read_bytes() == pixels
    assert opened(folder, wish).supply == "1 of 37 were decoded now and are kept in the cache for the next run"


def test_a_cache_nobody_can_add_to_is_read_all_the_same(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    touch(folder)
    settle()
    with FileLock(part(wish, LOCK)):
        for _ in range(2):
            source = opened(folder, wish)
            assert source.supply == f"{FROM_CACHE}, 36 of them known by content"
            assert same(source, folder)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_kill_amid_the_records_of_known_files(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    touch(folder)
    settle()
    kill_while_decoding(folder, wish, 1, 0.5)
    source = opened(folder, wish)
    assert source.supply == f"{FROM_CACHE}, 18 of them known by content"
    assert same(source, folder)
    assert opened(folder, wish).supply == FROM_CACHE
