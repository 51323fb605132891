"""What a folder of very many images costs before the first of them is decoded: listed, split, looked up in the cache.

    python -m tests.benchmarks.files [--files 100000] [--classes 100] [--rounds 3] [--folder DIR]

Contestants, each in a process of its own, taking turns: ``walk`` (a bare ``os.walk`` that keeps every path in a list),
``status`` (the same with each file's size and times, which any program needs that wants to notice a change), ``listed``
(our listing: what is an image, whose class, in which order), ``split`` (listing, classes, targets and the held-out
samples, as the Setup page asks for them) and ``looked up`` (listing, and every file by name, size and times in a full
cache of decoded images). Seconds are medians, beside them the median ratio to ``status`` of the same round, and the
processor's own seconds, for a machine that is busy otherwise. Memory is what the peak adds to what the process held before.
The folder consists of hard links to a few images of 8 x 8; without ``--folder`` it is made in a temporary place.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

from training.config.sections.data.dataset import ImageFolderDataset
from training.data.images.cache_room import CacheWish
from training.data.images.decode import Form
from training.data.images.folder import list_folder
from training.data.images.image_cache import ImageCache
from training.data.source import Opening, silent
from training.data.sources.image_folder import open_image_folder
from training.data.splits import split
from training.errors import pluralize
from training.system.host_memory import forget_peak, peak_resident

_LINKS = 60_000  # a file system allows 65,000 names of one file
_FORM = Form(8, 8, 3, fit=False)
_AT_ONCE = 4096


def walk(root: Path) -> int:
    return len([os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names])  # noqa: PTH118


def status(root: Path) -> int:
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118
            state = os.stat(path)
            found.append((path, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
    return len(found)


def listed(root: Path) -> int:
    return len(list_folder(root, silent).paths)


def split_up(root: Path) -> int:
    dataset = ImageFolderDataset(path=str(root))
    source = open_image_folder(dataset, Opening(check=False))
    return sum(len(part) for part in split(source.targets, source.parts, dataset).values())


def looked_up(root: Path) -> int:
    return int((ImageCache(_wish(root), list_folder(root, silent), _FORM).find() >= 0).sum())


CONTESTANTS: dict[str, Callable[[Path], int]] = {
    "walk": walk,
    "status": status,
    "listed": listed,
    "split": split_up,
    "looked up": looked_up,
}


def make(root: Path, files: int, classes: int) -> None:
    """The folder, and a cache that holds all of it."""
    image = Image.new("RGB", (8, 8), "green")
    for number in range(files):
        if number % _LINKS == 0:
            original = root.parent / f"original-{number}.jpg"
            image.save(original)
        folder = root / f"class-{number % classes:06}"
        if number < classes:
            folder.mkdir(parents=True)
        os.link(original, folder / f"picture-{number:08}.jpg")
    time.sleep(0.2)  # files of this very moment are not trusted to stay
    listing = list_folder(root, silent)
    cache = ImageCache(_wish(root), listing, _FORM)
    cache.find()
    cache.wait_for_turn(files, silent)
    cache.begin(files)
    for first in range(0, files, _AT_ONCE):
        rows = np.arange(first, min(files, first + _AT_ONCE))
        cache.append(rows, np.zeros((len(rows), 32), np.uint8), np.zeros((len(rows), *_FORM.pixels), np.uint8))
    cache.close()
    if cache.trouble:
        sys.exit(f"No cache could be made: {cache.trouble}.")


def _wish(root: Path) -> CacheWish:
    return CacheWish("on", root.parent / "cache", 1 << 40)


def contest(name: str, root: Path) -> None:
    """One contestant's line."""
    before = psutil.Process().memory_info().rss
    forget_peak()
    began, busy = time.perf_counter(), time.process_time()
    found = CONTESTANTS[name](root)
    record = {"seconds": time.perf_counter() - began, "processor": time.process_time() - busy, "found": found}
    print(json.dumps(record | {"bytes": peak_resident() - before}))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.contestant:
        contest(asked.contestant, asked.folder / "pictures")
        return
    with tempfile.TemporaryDirectory() as temporary:
        home = (asked.folder or Path(temporary)).resolve()
        if not (home / "pictures").is_dir():
            make(home / "pictures", asked.files, asked.classes)
        rows: dict[str, list[dict[str, float]]] = {name: [] for name in CONTESTANTS}
        for _ in range(asked.rounds):
            for name in CONTESTANTS:
                command = [sys.executable, "-m", "tests.benchmarks.files", "--contestant", name, "--folder", str(home)]
                rows[name].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
        found = {row["found"] for records in rows.values() for row in records}
        if found != {rows["walk"][0]["found"]}:
            sys.exit(f"The contestants found {sorted(found)} files.")
        _show(rows)


def _show(rows: dict[str, list[dict[str, float]]]) -> None:
    print(f"{rows['walk'][0]['found']:,} files, {pluralize(len(rows['walk']), 'round')}")
    print(f"{'':10} {'seconds':>8} {'of status':>9} {'processor':>9} {'of status':>9} {'memory MB':>9} {'B/file':>7}")
    for name, records in rows.items():
        of = {
            key: statistics.median(mine[key] / base[key] for mine, base in zip(records, rows["status"], strict=True))
            for key in ("seconds", "processor")
        }
        middle = {key: statistics.median(record[key] for record in records) for key in records[0]}
        print(
            f"{name:10} {middle['seconds']:8.2f} {of['seconds']:9.2f} {middle['processor']:9.2f} {of['processor']:9.2f} "
            f"{middle['bytes'] / 1e6:9.0f} {middle['bytes'] / middle['found']:7.0f}"
        )


if __name__ == "__main__":
    main()
