"""The cache of decoded images: the same pixels with it and without, whatever happens to it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import features

from tests.reports import inspect
from tests.training.data.conftest import fill_class, image
from tests.training.small_files import files_no_larger_than
from training.caches.decoded import LOCK
from training.cli import main
from training.config.sections.data.dataset import ImageFolderDataset
from training.data.batching.resident import Notice
from training.data.images import images as pictures
from training.data.images.cache_room import CacheWish
from training.data.images.decode import Form, outcome
from training.data.images.folder import list_folder
from training.data.images.image_file import RECORD
from training.data.source import Opening, Source
from training.data.sources import image_folder, open_source

FROM_CACHE = "they came decoded from the cache"
NEW = "they were decoded now and are kept in the cache for the next run"


@pytest.fixture
def folder(image_folder: Path) -> Path:
    settle()
    return image_folder


@pytest.fixture
def wish(tmp_path: Path) -> CacheWish:
    return CacheWish("on", tmp_path / "cache", 10**9)


def settle() -> None:
    """Files that were written this very moment are not trusted to stay as they are."""
    time.sleep(0.1)


def opened(folder: Path, wish: CacheWish | None, told: list[Notice] | None = None, *, keep: bool = False) -> Source:
    tell = [] if told is None else told
    opening = Opening(keep=lambda size: keep, workers=0, cache=wish, tell=tell.append)
    return open_source(ImageFolderDataset(path=str(folder)), opening)


def same(source: Source, folder: Path) -> bool:
    """Pixels, names and fingerprint are those that decoding every file gives."""
    plain = opened(folder, None)
    order = torch.randperm(len(plain.targets), generator=torch.Generator().manual_seed(1))
    return (
        source.fingerprint == plain.fingerprint
        and source.skipped == plain.skipped
        and torch.equal(source.targets, plain.targets)
        and torch.equal(source.read(order), plain.read(order))
    )


def part(wish: CacheWish, pattern: str) -> Path:
    (path,) = wish.home.glob(f"*/{pattern}")
    return path


@pytest.mark.parametrize("keep", [True, False])
def test_the_second_opening_decodes_nothing(folder: Path, wish: CacheWish, keep: bool) -> None:
    (folder / "apple" / "005.png").write_bytes(b"broken")
    settle()
    assert opened(folder, wish, keep=keep).supply == NEW
    before = {path: path.stat().st_size for path in wish.home.rglob("*")}
    again = opened(folder, wish, keep=keep)
    assert again.supply == FROM_CACHE
    assert again.reading == ("memory" if keep else "cache")
    assert same(again, folder)
    assert {path: path.stat().st_size for path in wish.home.rglob("*")} == before


def test_a_changed_folder_is_noticed_and_only_what_changed_is_decoded(folder: Path, wish: CacheWish) -> None:
    opened(folder, wish)
    stamp = (folder / "bear" / "003.png").stat()
    content = bytearray((folder / "bear" / "003.png").read_bytes())
    image(77).save(folder / "apple" / "001.png")
    image(78).save(folder / "apple" / "new.png")
    (folder / "crow" / "002.png").unlink()
    (folder / "crow" / "003.png").write_bytes((folder / "crow" / "004.png").read_bytes())
    # Its size and its time say that it is as it was.
    content[-20] ^= 1
    (folder / "bear" / "003.png").write_bytes(content)
    os.utime(folder / "bear" / "003.png", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    settle()
    changed = opened(folder, wish)
    assert changed.supply.startswith("3 of 36") or changed.supply.startswith("2 of 35")  # bear/003 may be broken now
    assert changed.supply.endswith("of the others 1 was known by content")  # crow/003
    assert same(changed, folder)
    assert opened(folder, wish).supply == FROM_CACHE


def test_a_file_written_this_moment_is_looked_at_again(image_folder: Path, wish: CacheWish) -> None:
    (image_folder / "apple" / "000.png").touch()
    assert same(opened(image_folder, wish), image_folder)
    settle()
    assert opened(image_folder, wish).supply != FROM_CACHE
    assert opened(image_folder, wish).supply == FROM_CACHE


def test_a_file_dated_tomorrow_is_kept_like_any_other(folder: Path, wish: CacheWish) -> None:
    tomorrow = time.time() + 86400
    for path in (folder / "apple").iterdir():
        os.utime(path, (tomorrow, tomorrow))
    settle()
    assert opened(folder, wish).supply == NEW
    again = opened(folder, wish)
    assert again.supply == FROM_CACHE
    assert same(again, folder)


def test_what_was_written_after_now_is_known_by_content(
    folder: Path, wish: CacheWish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock was set back: such files are read at each run but decoded at the first, and the cache does not grow."""
    opened(folder, wish)
    for number in range(3):
        image(60 + number).save(folder / "apple" / f"{number}-new.png")

    def list_and_set_back(*given: Any) -> Any:
        listing = list_folder(*given)
        new = [path.endswith("-new.png") for path in listing.paths[:]]
        assert sum(new) == 3
        for row, is_new in enumerate(new):
            listing.changed[row] += is_new * 3600 * 10**9
        return listing

    monkeypatch.setattr(image_folder, "list_folder", list_and_set_back)
    source = opened(folder, wish)
    assert source.supply == "3 of 39 were decoded now and are kept in the cache for the next run"
    size = part(wish, "index-*").stat().st_size
    for _ in range(3):
        source = opened(folder, wish)
        assert source.supply == f"{FROM_CACHE}, 3 of them known by content"
        assert same(source, folder)
    assert part(wish, "index-*").stat().st_size == size


def test_training_goes_on_from_the_cache_when_the_images_are_gone(folder: Path, wish: CacheWish) -> None:
    source = opened(folder, wish)
    before = source.read(torch.arange(36))
    shutil.rmtree(folder)
    assert torch.equal(source.read(torch.arange(36)), before)


def test_size_and_color_have_caches_of_their_own(folder: Path, wish: CacheWish) -> None:
    def read(**settings: Any) -> Source:
        dataset = ImageFolderDataset.model_validate({"path": str(folder)} | settings)
        return open_source(dataset, Opening(cache=wish))

    for settings in ({}, {"image_size": 24}, {"color": "grey"}):
        assert read(**settings).supply == NEW
        assert read(**settings).supply == FROM_CACHE


@pytest.mark.parametrize("codec", ["jpg", "libjpeg_turbo", "jpg_2000", "webp", "avif"])
def test_another_decoder_has_another_cache(
    folder: Path, wish: CacheWish, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """It may give other pixels: a system's Pillow takes the system's codecs, which are updated without it."""
    opened(folder, wish)
    version = features.version
    monkeypatch.setattr(features, "version", lambda name: "0.0" if name == codec else version(name))
    assert opened(folder, wish).supply == NEW
    assert opened(folder, wish).supply == FROM_CACHE


def test_the_longest_unused_make_way(tmp_path: Path) -> None:
    names = ("first", "second", "third")
    for name in names:
        for label in ("a", "b"):
            fill_class(tmp_path / name / label, 10)
    settle()
    wish = CacheWish("on", tmp_path / "cache", 2 * 20 * (768 + RECORD.itemsize) + 100)  # bytes of two of them
    for name in ("first", "second", "first", "third"):
        opened(tmp_path / name, wish)
        time.sleep(0.02)
    assert len(list(wish.home.iterdir())) == 2
    assert opened(tmp_path / "first", wish).supply == FROM_CACHE
    assert opened(tmp_path / "third", wish).supply == FROM_CACHE
    assert opened(tmp_path / "second", wish).supply == NEW


def test_what_a_killed_writer_left_behind_goes_with_its_cache(tmp_path: Path) -> None:
    for name in ("first", "second"):
        for label in ("a", "b"):
            fill_class(tmp_path / name / label, 10)
    settle()
    wish = CacheWish("on", tmp_path / "cache", 20 * (768 + RECORD.itemsize))  # bytes of one of them
    opened(tmp_path / "first", wish)
    for name in (part(wish, "index-*").name, "manifest.json"):
        (part(wish, "manifest.json").parent / f".{name}.0123abcd.tmp").write_bytes(b"half of it")
    opened(tmp_path / "second", wish)
    assert len(list(wish.home.iterdir())) == 1


def test_one_that_is_still_read_from_is_not_unused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may read its cache for days after it was opened."""
    monkeypatch.setattr(pictures, "_NOTED_EVERY", 0.0)
    for name in ("first", "second", "third"):
        for label in ("a", "b"):
            fill_class(tmp_path / name / label, 10)
    settle()
    wish = CacheWish("on", tmp_path / "cache", 2 * 20 * (768 + RECORD.itemsize) + 100)  # bytes of two of them
    reading = opened(tmp_path / "first", wish)
    opened(tmp_path / "second", wish)
    time.sleep(0.02)
    reading.read(torch.arange(5))
    opened(tmp_path / "third", wish)
    assert opened(tmp_path / "first", wish).supply == FROM_CACHE


def test_only_caches_make_way(tmp_path: Path, folder: Path) -> None:
    """Whoever keeps the caches beside other data keeps that data, whatever it is called."""
    home = tmp_path / "cache"
    others = [
        home / "faiss" / "index-train.bin",
        home / "faiss" / "pixels-0123456789abcdef.bin",
        home / "faiss" / "manifest.json",
        home / "faiss" / LOCK,
        home / ("c" * 32) / "index-words.bin",
        home / "index-0123456789abcdef.bin",
    ]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"mine" * 1000)
    wish = CacheWish("on", home, 2 * 36 * (768 + RECORD.itemsize) - 1)  # bytes of less than two caches
    assert opened(folder, wish).supply == NEW
    settings = ImageFolderDataset(path=str(folder), image_size=16)
    assert open_source(settings, Opening(cache=wish)).supply == NEW
    assert len(list(home.glob("*/pixels-*.bin"))) == 1 + 1  # one cache made way for the other, and what is not ours
    assert {path.read_bytes() for path in others} == {b"mine" * 1000}


def test_a_limit_that_is_too_small_is_said(folder: Path, tmp_path: Path) -> None:
    source = opened(folder, CacheWish("auto", tmp_path / "cache", 1000))
    assert source.supply == ""  # so few images are not worth a cache, so there is nothing to say
    told: list[Notice] = []
    source = opened(folder, CacheWish("on", tmp_path / "cache", 1000), told)
    assert "loader.cache_limit_gb allows 1e+03 bytes" in source.supply or "1 kB" in source.supply
    assert told
    assert same(source, folder)


def trained(folder: Path, capsys: pytest.CaptureFixture[str], *settings: str) -> tuple[str, dict[str, Any], list[str]]:
    """Digest of the weights, what was said about the batches, and the findings of a run of the command line."""
    config = folder.parent / "config.toml"
    config.write_text(
        f'[dataset]\nkind = "image_folder"\npath = "{folder.as_posix()}"\n[loop]\nepochs = 2\nbatch_size = 8\n'
        '[model]\nkind = "mlp"\nhidden = [8]\n[precision]\ndevice = "cpu"\nthreads = 1\n'
    )
    arguments = [word for setting in settings for word in ("--set", setting)]
    assert main(["run", str(config), "--json", *arguments]) == 0
    record = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    events = [json.loads(line) for line in (Path(record["folder"]) / "events.jsonl").read_text().splitlines()]
    (report,) = (event["report"] for event in events if "report" in event)
    weights = (Path(record["last_checkpoint"]) / "model.safetensors").read_bytes()
    titles = [event["title"] for event in events if "title" in event]
    return hashlib.sha256(weights).hexdigest(), report["batches"], titles


@pytest.mark.slow
def test_the_weights_are_the_same_with_it_and_without(
    folder: Path, wish: CacheWish, capsys: pytest.CaptureFixture[str]
) -> None:
    cached = ("loader.cache=on", f"loader.cache_folder={wish.home}")
    weights, batches, usual = trained(folder, capsys, "loader.cache=off")
    assert "cache" not in batches["reason"]
    for mode in ("resident", "streamed"):
        shutil.rmtree(wish.home, ignore_errors=True)
        for supply in (NEW, FROM_CACHE):
            found, batches, titles = trained(folder, capsys, *cached, f"loader.mode={mode}")
            assert (found, batches["mode"], titles) == (weights, mode, usual)
            assert batches["reason"].endswith(supply)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_the_weights_are_the_same_with_workers(
    folder: Path, wish: CacheWish, capsys: pytest.CaptureFixture[str], workers: int
) -> None:
    asked = ("loader.mode=streamed", f"loader.workers={workers}")
    cached = ("loader.cache=on", f"loader.cache_folder={wish.home}")
    weights, _, usual = trained(folder, capsys, *asked, "loader.cache=off")
    for supply in (NEW, FROM_CACHE):
        found, batches, titles = trained(folder, capsys, *asked, *cached)
        assert (found, batches["workers"], titles) == (weights, workers, usual)
        assert batches["reason"].endswith(supply)


@pytest.mark.slow
def test_two_runs_make_it_and_one_is_killed(
    tmp_path: Path, wish: CacheWish, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "large"
    for name in ("a", "b"):
        fill_class(folder / name, 200, size=(96, 96))
    settle()
    cached = ("loader.cache=on", f"loader.cache_folder={wish.home}", "loop.max_steps=3")
    weights, _, usual = trained(folder, capsys, "loader.cache=off", "loop.max_steps=3")
    words = [word for setting in cached for word in ("--set", setting)]
    command = [sys.executable, "-m", "training", "run", str(tmp_path / "config.toml"), *words]
    runs = [subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(2)]
    try:
        end = time.monotonic() + 120
        while not any(path.stat().st_size for path in wish.home.glob("*/index-*")):
            assert time.monotonic() < end
            time.sleep(0.01)
        runs[0].kill()
        assert runs[1].wait(180) == 0
    finally:
        for run in runs:
            run.kill()
            run.wait()
    found, batches, titles = trained(folder, capsys, *cached)
    assert (found, titles) == (weights, usual)
    assert batches["reason"].endswith(FROM_CACHE)


def test_a_full_disk_and_a_closed_folder_end_no_run(
    folder: Path, wish: CacheWish, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ("loader.cache=on", "loader.mode=streamed")
    weights, _, _ = trained(folder, capsys, "loader.cache=off")
    wish.home.parent.joinpath("file").write_text("no folder")
    found, batches, titles = trained(
        folder, capsys, *settings, f"loader.cache_folder={wish.home.parent / 'file' / 'cache'}"
    )
    assert found == weights
    assert "not kept in the cache" in batches["reason"]
    assert any("not kept in a cache" in title for title in titles)
    told: list[Notice] = []
    with files_no_larger_than(10_000):
        source = opened(folder, wish, told)
    assert same(source, folder)
    assert [notice.title.startswith("The decoded images are not kept in a cache") for notice in told] == [True]
    assert not list(wish.home.glob("*/pixels-*"))  # a full disk needs the room


@pytest.mark.skipif(sys.platform != "linux", reason="has no /proc")
def test_a_place_where_no_folder_can_be_is_not_taken_for_a_busy_cache(folder: Path, wish: CacheWish) -> None:
    told: list[Notice] = []
    assert same(opened(folder, replace(wish, home=Path("/proc/nope")), told), folder)
    assert "cannot be written" in told[0].title


def test_the_preview_looks_into_the_cache(
    folder: Path, wish: CacheWish, make_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "is_quick", lambda listing: False)
    config = make_config(
        dataset={"kind": "image_folder", "path": str(folder)}, loader={"cache": "on", "cache_folder": str(wish.home)}
    )
    plain = inspect(config)
    assert not wish.home.exists()  # a preview makes none
    opened(folder, wish)
    image(5).save(folder / "apple" / "000.png")
    decoded: list[Path] = []

    def note_and_decode(path: Path, form: Form) -> Any:
        decoded.append(path)
        return outcome(path, form)

    monkeypatch.setattr(pictures, "outcome", note_and_decode)
    cached = inspect(config, samples=36)
    assert decoded == [folder / "apple" / "000.png"]
    seen = {one["index"]: one["original_base64"] for one in cached["first_page"]["samples"]}
    assert all(seen[one["index"]] == one["original_base64"] for one in plain["first_page"]["samples"] if one["index"])
