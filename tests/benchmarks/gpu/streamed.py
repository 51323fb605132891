"""A folder of JPEG files that is read while training: the share of a step that waits for samples."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.contestants.ours import complete
from tests.benchmarks.compare.rounds import in_turn
from tests.benchmarks.gpu.images import folder_of
from tests.benchmarks.gpu.part import Order, Part
from training.config import parse_config
from training.runs.step_profile import read_profile

BAR = 0.05
CACHED = {"cache": "on"}
WAYS = {"decoded in every epoch": {"cache": "off"}, "decoded once, then from the cache": CACHED}
"""What is measured, and what of ``[loader]`` each asks for."""


def measure(order: Order) -> Part:
    """Each way once a round, each in a process of its own, watched by its own profile."""
    folder = folder_of(order, "photos", order.size.photos)
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    _profile(order, folder, CACHED)  # not measured: it fills the cache
    for number in range(order.rounds):
        for way in in_turn(list(WAYS), number):
            found[way].append(_profile(order, folder, WAYS[way]))
            order.say(f"  round {number + 1}  {way:<36}{found[way][-1]['wait']:8.2%} of a step waits")
    rows, verdicts = [], []
    for way, profiles in found.items():
        waits = [profile["wait"] for profile in profiles]
        middle = statistics.median(waits)
        rows.append(
            (
                way,
                f"{middle:.2%}",
                f"{min(waits):.2%} to {max(waits):.2%}",
                f"{statistics.median(profile['samples_per_second'] for profile in profiles):,.0f}",
                str(profiles[0]["workers"]),
            )
        )
        verdicts.append((f"{way}: {middle:.2%} of a step waits (bar {BAR:.0%}).", middle < BAR))
    size = order.size
    return Part(
        f"JPEG files streamed: {size.photos[0]:,} of 160 x 160 trained at {size.photo_side}, {size.resnet}, bf16",
        ("", "waiting for samples", "lowest to highest", "images per second", "workers"),
        rows,
        verdicts,
        {"rounds": found},
        [f"{order.rounds} rounds of {size.photo_epochs} epochs; the first steps of each run are not counted."],
    )


def _profile(order: Order, folder: Path, loader: Mapping[str, str]) -> dict[str, Any]:
    size, kept = order.size, order.place / "pictures"
    config = parse_config(
        {
            "name": "streamed",
            "dataset": {"kind": "image_folder", "path": str(folder), "image_size": size.photo_side},
            "model": {"kind": "torchvision", "name": size.resnet},
            "precision": {"compute": "bf16", "device": order.device},
            "loop": {"epochs": size.photo_epochs, "batch_size": size.batch},
            "loader": {"mode": "streamed", "cache_folder": str(kept), **loader},
        }
    )
    run = complete(config, order.place / "workspace", "--profile")
    profile = read_profile(run)
    assert profile is not None, f"{run.path} has no profile"
    shutil.rmtree(run.path)
    return {"wait": profile.share("wait"), **profile.model_dump(mode="json")}
