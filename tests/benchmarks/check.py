"""What a check takes: CPU seconds of all its processes and the memory they hold at the most, of 50,000 images and of a table of 500,000 rows.

``python -m tests.benchmarks.check [--images FOLDER] [--set section.key=value ...]`` checks a folder of images (without one: the table alone),
with a cache of decoded images that is empty, then full.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import psutil

from training.streams import say

ROWS = 500_000
_EVERY = 0.2


class Taken(NamedTuple):
    """CPU seconds and the most megabytes (proportional set size) of a process and its children, and the seconds it took."""

    cpu: float
    megabytes: float
    wall: float


def measure(arguments: list[str], environment: dict[str, str]) -> Taken:
    """A check in a process of its own."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "training", "check", *arguments],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    process, cpu, most = psutil.Process(child.pid), dict[int, float](), 0.0
    while child.poll() is None:
        held = 0.0
        for each in (process, *_children(process)):
            try:
                held += each.memory_full_info().pss / 2**20
                times = each.cpu_times()
                cpu[each.pid] = times.user + times.system
            except psutil.Error:
                continue
        most = max(most, held)
        time.sleep(_EVERY)
    return Taken(sum(cpu.values()), most, time.perf_counter() - began)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def write_table(folder: Path) -> Path:
    """Twelve columns, of which three tell the class."""
    numbers = np.random.default_rng(0)
    columns = {f"c{place}": numbers.normal(size=ROWS).round(4) for place in range(12)}
    label = np.where(columns["c0"] + columns["c1"] * columns["c2"] > 0, "yes", "no")
    pl.DataFrame({**columns, "y": label}).write_csv(folder / "table.csv")
    return folder / "table.csv"


def main() -> None:
    """Measure, and say what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = [("table", "table", write_table(folder), "tabular")]
        if given.images is not None:
            image = ("image_folder", given.images, "small_cnn")
            cases = [("images, no cache", *image), ("images, cached", *image), *cases]
        for title, kind, path, model in cases:
            config = folder / f"{kind}.toml"
            config.write_text(f'[dataset]\nkind = "{kind}"\npath = "{path}"\n[model]\nkind = "{model}"\n')
            settings = [word for setting in given.settings for word in ("--set", setting)]
            cache = ["--set", f"loader.cache_folder={folder / 'cache'}"]
            taken = measure([str(config), *settings, *cache, "--workspace", str(folder / "w")], {})
            say(f"{title}: {taken.cpu:.1f} s of CPU, {taken.megabytes:,.0f} MB, {taken.wall:.1f} s")


if __name__ == "__main__":
    main()
