"""An image folder of very many files, before the first of them is decoded: listed, split, looked up in the cache."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks import files
from tests.benchmarks.scale.probe import Measurement, Probe

CLASSES = 100


def look(count: int, place: Path) -> list[Measurement]:
    """``count`` files in a hundred classes; each way of looking at them in a process of its own, the better of two."""
    files.make(place / "pictures", count, CLASSES)
    probe = Probe("files", count)
    for name in ("listed", "split", "looked up"):
        command = [sys.executable, "-m", "tests.benchmarks.files", "--contestant", name, "--folder", str(place)]
        lines = [subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2)]
        records = [json.loads(line) for line in lines]
        assert all(record["found"] == count for record in records)
        probe.note(name, 1000 * min(record["processor"] for record in records), "ms")
        probe.note(f"{name}, memory", min(record["bytes"] for record in records) / 2**20, "MB")
    return probe.taken
