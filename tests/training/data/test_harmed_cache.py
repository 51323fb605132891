"""A cache of decoded images that is damaged, cut short or full of something else: no such image is ever used."""

from __future__ import annotations

import os
import signal
import sys
import time
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cases import first_of
from tests.training.data.conftest import MakeConfig
from tests.training.data.test_image_cache import FROM_CACHE, NEW, folder, opened, part, same, wish
from training.config.sections.data.dataset import ImageFolderDataset
from training.data.batching.processes import worker_context
from training.data.batching.resident import Notice
from training.data.images import decode_many, image_file
from training.data.images.cache_room import CacheWish
from training.data.images.decoded import DAMAGED
from training.data.prepared import PreparedData
from training.data.source import Opening, silent
from training.data.sources import open_source

__all__ = ["folder", "wish"]


def turn_a_bit(path: Path, place: int) -> None:
    with path.open("r+b") as stream:
        stream.seek(place)
        byte = stream.read(1)[0]
        stream.seek(place)
        stream.write(bytes([byte ^ 1]))


def decode_and_die(folder: Path, home: Path, last: int, share: float) -> None:
    """In a process of its own: killed after ``share`` of the ``last``-th write."""
    decode_many._PIECE_BYTES = 5 * 768  # pieces of five images
    write, written = image_file._write, list[memoryview]()

    def write_and_die(stream: FileIO, offset: int, data: memoryview) -> None:
        written.append(data)
        if len(written) == last:
            write(stream, offset, data[: int(len(data) * share)])
            os.kill(os.getpid(), signal.SIGKILL)
        write(stream, offset, data)

    image_file._write = write_and_die
    open_source(ImageFolderDataset(path=str(folder)), Opening(cache=CacheWish("on", home, 10**9)))


def kill_while_decoding(folder: Path, wish: CacheWish, last: int, share: float) -> None:
    process = worker_context().Process(target=decode_and_die, args=(folder, wish.home, last, share))  # type: ignore[attr-defined]
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
@pytest.mark.parametrize(
    ("last", "share", "kept", "keep"),
    [
        pytest.param(1, 0.5, 0, True, id="half a piece of pixels, no record"),
        pytest.param(1, 0.2, 0, True, id="one whole row, no record"),
        pytest.param(1, 0.2, 0, False, id="one whole row, no record, streamed"),
        pytest.param(2, 0.5, 2, False, id="half the first records, streamed"),
        pytest.param(6, 0.5, 12, True, id="half the third records"),
    ],
)
def test_what_a_kill_leaves_behind_is_gone_on_with(
    folder: Path, wish: CacheWish, last: int, share: float, kept: int, keep: bool
) -> None:
    kill_while_decoding(folder, wish, last, share)
    preview = open_source(ImageFolderDataset(path=str(folder)), Opening(check=False, cache=wish))
    assert torch.equal(preview.read(torch.arange(36)), opened(folder, None).read(torch.arange(36)))
    resumed = opened(folder, wish, keep=keep)
    assert resumed.supply.startswith(f"{36 - kept} of 36 were decoded" if kept else NEW)
    assert same(resumed, folder)
    again = opened(folder, wish, keep=keep)
    assert again.supply == FROM_CACHE
    assert same(again, folder)


@pytest.mark.parametrize("keep", [True, False])
def test_damaged_pixels_are_never_used(folder: Path, wish: CacheWish, keep: bool) -> None:
    opened(folder, wish)
    turn_a_bit(part(wish, "pixels-*"), 10_000)
    told: list[Notice] = []
    source = opened(folder, wish, told, keep=keep)
    assert same(source, folder)
    assert {*told, *source.take_notices()} == {DAMAGED}
    assert not source.take_notices()
    told.clear()
    assert opened(folder, wish, told, keep=keep).supply == (FROM_CACHE if keep else NEW)
    assert opened(folder, wish, told, keep=keep).supply == FROM_CACHE
    assert not told


def test_pixels_cut_off_while_they_are_read(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    source = opened(folder, wish)
    source.read(torch.arange(5))
    os.truncate(part(wish, "pixels-*"), 5000)
    assert same(source, folder)


@pytest.mark.parametrize("workers", first_of([0, 1]))
def test_each_run_hears_of_the_damage_it_meets(
    folder: Path, wish: CacheWish, make_config: MakeConfig, workers: int
) -> None:
    """Also one that takes the data of the run before, and of what happened in a worker process."""
    loader = {"mode": "streamed", "workers": workers, "cache": "on", "cache_folder": str(wish.home)}
    dataset = {"kind": "image_folder", "path": str(folder)}
    config = make_config(dataset=dataset, loader=loader, loop={"batch_size": 4})
    kept = PreparedData(clock=lambda: time.time() + 60)  # so that no file was written just now

    def heard() -> list[Notice]:
        with kept.prepare(config, torch.device("cpu"), silent) as data:
            for window in data.steps(1):
                list(window)
            return data.take_notices()

    assert heard() == []
    cut(wish)
    assert heard() == [DAMAGED]
    assert heard() == [DAMAGED]
    kept.drop()


def cut(wish: CacheWish) -> None:
    os.truncate(part(wish, "pixels-*"), 5000)


def no_pixels(wish: CacheWish) -> None:
    part(wish, "pixels-*").unlink()


def no_records(wish: CacheWish) -> None:
    part(wish, "index-*").unlink()


def a_wrong_record(wish: CacheWish) -> None:
    turn_a_bit(part(wish, "index-*"), 300)


def endless_records(wish: CacheWish) -> None:
    os.truncate(part(wish, "index-*"), 1 << 40)


def a_wrong_manifest(wish: CacheWish) -> None:
    part(wish, "manifest.json").write_text('{"format": 1, "generation": "../../../../etc/passwd"}')


def no_manifest_at_all(wish: CacheWish) -> None:
    part(wish, "manifest.json").write_bytes(b"\xff[[[[")


def a_pipe_for_pixels(wish: CacheWish) -> None:
    path = part(wish, "pixels-*")
    path.unlink()
    os.mkfifo(path)


def a_link_for_pixels(wish: CacheWish) -> None:
    path = part(wish, "pixels-*")
    path.rename(wish.home / "elsewhere")
    path.symlink_to(wish.home / "elsewhere")


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes among files, and links only for the few")
@pytest.mark.parametrize(
    "harm",
    [
        cut,
        no_pixels,
        no_records,
        a_wrong_record,
        endless_records,
        a_wrong_manifest,
        no_manifest_at_all,
        a_pipe_for_pixels,
        a_link_for_pixels,
    ],
)
def test_a_harmed_cache_is_made_anew(folder: Path, wish: CacheWish, harm: Any) -> None:
    opened(folder, wish)
    harm(wish)
    assert same(opened(folder, wish), folder)
    again = opened(folder, wish)
    assert again.supply == FROM_CACHE
    assert same(again, folder)
