"""Several processes at one cache of decoded images: nobody is given other pixels, and nobody decodes in vain."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

from tests.training.data.conftest import fill_class, image
from tests.training.data.test_image_cache import FROM_CACHE, NEW, folder, opened, part, same, settle, wish
from training.caches.decoded import LOCK
from training.config.sections.data.dataset import ImageFolderDataset
from training.data.batching.resident import Notice
from training.data.images import image_cache as picture_cache
from training.data.images.cache_room import CacheWish
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.errors import TrainingError

__all__ = ["folder", "wish"]


def test_another_process_that_makes_it_is_waited_for(
    folder: Path, wish: CacheWish, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(folder, wish)
    image(505).save(folder / "apple" / "extra.png")
    settle()
    monkeypatch.setattr(picture_cache, "_NO_WAIT", 0)
    other = FileLock(part(wish, LOCK))
    other.acquire()
    told: list[str] = []

    def hear(text: str, fraction: float | None) -> None:
        told.append(text)
        if "another run" in text:
            other.release()

    opening = Opening(cache=wish, report_progress=hear)
    source = open_source(ImageFolderDataset(path=str(folder)), opening)
    assert "waiting for another run that decodes these images" in told
    assert source.supply.startswith("1 of 37 were decoded now")


def test_one_that_hangs_is_not_waited_for(folder: Path, wish: CacheWish, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_cache, "_NO_WAIT", 0)
    monkeypatch.setattr(picture_cache, "_STUCK", 0.3)
    opened(folder, wish)
    part(wish, "index-*").unlink()
    with FileLock(part(wish, LOCK)):
        source = opened(folder, wish)
        assert "another process is making the same cache" in source.supply
        assert same(source, folder)


def test_two_at_once(tmp_path: Path, wish: CacheWish) -> None:
    for name in ("a", "b"):
        fill_class(tmp_path / "many" / name, 300, size=(8, 8))
    settle()
    found: list[Source] = []
    threads = [threading.Thread(target=lambda: found.append(opened(tmp_path / "many", wish))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [same(source, tmp_path / "many") for source in found] == [True] * 3
    assert sorted(source.supply for source in found) == [FROM_CACHE, FROM_CACHE, NEW]


def meanwhile(monkeypatch: pytest.MonkeyPatch, work: Any) -> None:
    """Do ``work`` after the cache was looked into and before the right to add is got."""
    todo = [work]

    def lock(path: Path, timeout: float) -> FileLock:
        if todo:
            todo.pop()()
        return FileLock(path, timeout)

    monkeypatch.setattr(picture_cache, "FileLock", lock)


def test_what_another_added_in_the_last_moment_is_neither_overwritten_nor_decoded_again(
    folder: Path, wish: CacheWish, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(folder, wish)
    for number in range(3):
        image(60 + number).save(folder / "apple" / f"{number}-new.png")
    settle()
    others: list[Source] = []
    told: list[Notice] = []

    def add() -> None:  # all but the first of the new ones, so that its rows are not those which come next here
        (folder / "apple" / "0-new.png").rename(folder.parent / "0-new.png")
        others.append(opened(folder, wish, told))
        others[0].read(torch.arange(38))
        (folder.parent / "0-new.png").rename(folder / "apple" / "0-new.png")

    meanwhile(monkeypatch, add)
    source = opened(folder, wish, told)
    assert source.supply.startswith("1 of 39 were decoded now")
    assert same(source, folder)
    (folder / "apple" / "0-new.png").unlink()
    assert same(others[0], folder)
    assert not told


def test_what_another_made_in_the_last_moment_is_taken(
    folder: Path, wish: CacheWish, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[Source] = []
    meanwhile(monkeypatch, lambda: others.append(opened(folder, wish)))
    source = opened(folder, wish)
    assert (others[0].supply, source.supply) == (NEW, FROM_CACHE)
    assert others[0].reading == source.reading == "cache"
    assert same(source, folder)
    assert same(others[0], folder)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
def test_a_cache_that_others_may_write_is_made_anew_and_closed(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    place = part(wish, LOCK).parent
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    place.chmod(0o775)
    preview = open_source(ImageFolderDataset(path=str(folder)), Opening(check=False, cache=wish))
    (folder / "apple" / "000.png").unlink()
    with pytest.raises(TrainingError, match=r"000\.png"):
        preview.read(torch.arange(1))  # it was in the cache
    source = opened(folder, wish)
    assert source.supply == NEW
    assert same(source, folder)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert opened(folder, wish).supply == FROM_CACHE


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives files to others")
def test_a_cache_of_somebody_else_is_left_alone(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    place = part(wish, LOCK).parent
    os.chown(place, 12345, 12345)
    before = {path: path.stat().st_mtime_ns for path in place.iterdir()}
    told: list[Notice] = []
    source = opened(folder, wish, told)
    assert source.supply.startswith("they are not kept in the cache")
    assert "belongs to somebody else" in source.supply
    assert same(source, folder)
    assert ["belongs to somebody else" in notice.title for notice in told] == [True]
    assert {path: path.stat().st_mtime_ns for path in place.iterdir()} == before


@pytest.mark.skipif(sys.platform == "win32", reason="has links only for the few")
def test_no_file_behind_a_link_is_touched(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    manifest = part(wish, "manifest.json")
    elsewhere = manifest.rename(folder.parent / "elsewhere.json")
    manifest.symlink_to(elsewhere)
    os.utime(elsewhere, (1, 1))
    assert same(opened(folder, wish), folder)
    assert elsewhere.stat().st_mtime == 1
