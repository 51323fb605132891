"""The speed check's factors beside whole runs: ``python -m tests.benchmarks.speed_check [JOB ...] --data FOLDER``.

The study is carried out on three jobs of ``lr_range``, whose samples are streamed to begin with. Afterwards ordinary runs are trained with and without each setting that was
tried (``--kept``: that it keeps), on top of those that were kept before it, and with all that it proposes: in processes of their own, in turn
(ABBA), so that what else runs on the machine slows both alike. Told are the factor that the study stated with its interval, the one of
the runs (samples per second of training time behind the first fifth, by the pairs' logarithms), whether that lies in the stated interval or at least their
intervals overlap, and whether losses and weights at the end are the same to the bit where the study said so; and the factor that is stated of a configuration beside itself. What is done already in the
folder of ``--out`` is not done again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from pydantic import JsonValue

from tests.benchmarks.compare.machine import load
from tests.benchmarks.kept import keep
from tests.benchmarks.lr_range.jobs import JOBS
from training.config import RunConfig, save_config
from training.config.files import config_data, overrides_of
from training.laboratory.child import Interrupt
from training.runs.folder import RunFolder, make_slug
from training.runs.records.series import FLUSH_ROW, read_series
from training.statistics.intervals import LEVEL
from training.studies.cost import measure_cost
from training.studies.folder import create_study, make_plan
from training.studies.records import Cost
from training.studies.seeds import change
from training.studies.speed import study as speed
from training.studies.speed.measure import measure_pair, read_ratio
from training.studies.trainer import Trainer

GIVEN: Final[Mapping[str, Sequence[str]]] = {
    "classification": (
        "precision.threads=none",
        "loader.mode=streamed",
        "precision.channels_last=off",
        "model.channels=[16, 32]",
    ),
    "regression": ("precision.threads=none", "loader.mode=streamed"),
    "gpt": ("precision.threads=none", "loader.mode=streamed"),
}
"""What is otherwise than in ``lr_range``: there is something to be gained."""
SECONDS: Final = 3.0
"""Of the steps of the faster of two runs, about: in a run of a moment, what is done a few times in each run takes a larger share."""


class Pair(NamedTuple):
    """Two configurations, and what the study stated of the second beside the first; ``speed`` is how many times as fast as the configuration that
    the study began with the faster one is, by that."""

    name: str
    first: RunConfig
    second: RunConfig
    stated: tuple[float, float, float]
    same: bool
    speed: float


def carry_out(config: RunConfig, only: Sequence[str]) -> dict[str, Any]:
    """The study as ``python -m training study speed`` does it."""
    options: dict[str, JsonValue] = {"only": list(only)} if only else {}
    cost = Cost.model_validate(measure_cost(config_data(config)))
    with tempfile.TemporaryDirectory() as place:
        draft = speed.plan(config, options, cost)
        study = create_study(Path(place), make_plan("speed", config, options, cost, draft))
        result = speed.carry_out(study.plan(), Trainer(study, lambda line: print(f"  {line}", flush=True), Interrupt()))
        nothing = measure_pair(Trainer(study, print, Interrupt()), config, config)
    return {"step": cost.step, "load": load(), "nothing": nothing, **result.model_dump(mode="json")}


def list_pairs(config: RunConfig, study: Mapping[str, Any], kept_alone: bool) -> list[Pair]:
    """Each that was tried beside what was kept before it, and all that is proposed beside the configuration."""
    found, base, same, gain = [], config, True, 1.0
    for tried in study["details"]["tried"]:
        override = overrides_of({tried["setting"]: tried["value"]})[0]
        other = change(base, [override])
        if tried["kept"] or not kept_alone:
            stated = (tried["ratio"], tried["low"], tried["high"])
            faster = gain * max(1.0, tried["ratio"])
            found.append(Pair(override, base, other, stated, not tried["changes_results"], faster))
        if tried["kept"]:
            base, same, gain = other, same and not tried["changes_results"], gain * tried["ratio"]
    details = study["details"]
    if "ratio" in details:
        found.append(Pair("all", config, base, (details["ratio"], details["low"], details["high"]), same, gain))
    return found


def train(config: RunConfig) -> dict[str, Any]:
    """A run in a process of its own: samples per second, and what its losses and its weights come to."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "config.toml"
        save_config(config, file)
        words = ["-m", "training", "run", str(file), "--workspace", place, "--json"]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
        told = json.loads(done.stdout.splitlines()[-1])
        folder = RunFolder(Path(told["folder"]))
        rows = read_series(folder.telemetry_file, FLUSH_ROW)
        steps = np.diff(rows["step"], prepend=0)
        counted = rows["step"] > told["step"] / 5
        per_step = config.loop.batch_size
        seconds = steps[counted] * per_step / rows["samples_per_second"][counted]
        losses = read_series(folder.series_file)["loss"]
        weights = Path(told["last_checkpoint"]) / "model.safetensors"
        return {
            "rate": float(steps[counted].sum() * per_step / seconds.sum()),
            "losses": hashlib.sha256(losses.tobytes()).hexdigest(),
            "weights": hashlib.sha256(weights.read_bytes()).hexdigest(),
        }


def measure(pair: Pair, steps: int, rounds: int) -> dict[str, Any]:
    """Runs of both in turn, after one of each that is not counted: caches and compiled steps are made there."""
    both = [
        each.model_copy(update={"loop": each.loop.model_copy(update={"epochs": 10**6, "max_steps": steps})})
        for each in (pair.first, pair.second)
    ]
    ends = [train(each) for each in both]
    rates: tuple[list[list[float]], list[list[float]]] = ([], [])
    for number in range(rounds):
        for place in (0, 1) if number % 2 == 0 else (1, 0):
            rates[place].append([train(both[place])["rate"]])
    same = all(ends[0][name] == ends[1][name] for name in ("losses", "weights"))
    return {"rates": rates, "same": same, "load": load()}


def report(name: str, pair: Pair, measured: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    """Say it; answers whether the factor lies in the stated interval, whether the intervals overlap, and whether a change of results went unsaid."""
    value, low, high = pair.stated
    runs = read_ratio(measured, LEVEL).interval
    inside = low <= runs.value <= high
    overlap = runs.low <= high and low <= runs.high
    unsaid = pair.same and not measured["same"]
    said = "same" if pair.same else "changes"
    seen = "same" if measured["same"] else "differs"
    print(
        f"{name:15} {pair.name:28} stated {value:.3g} ({low:.3g} to {high:.3g}), runs {runs.value:.3g} ({runs.low:.3g} to {runs.high:.3g}) "
        f"{'inside' if inside else 'overlaps' if overlap else 'APART'}; results said {said}, {seen}{' UNSAID' if unsaid else ''}",
        flush=True,
    )
    return inside, overlap, unsaid


def main() -> None:
    """Do what is not done yet, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(GIVEN)} (all)")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with mnist, tables, text and camvid-small.tar.xz"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/benchmarks/speed_check"), help="where the results are kept"
    )
    parser.add_argument("--only", action="append", default=[], help="as the study takes it (all)")
    parser.add_argument("--kept", action="store_true", help="runs of the settings alone that the study keeps")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs (3)")
    arguments = parser.parse_args()
    found = []
    for name in arguments.jobs or GIVEN:
        place = arguments.out / name
        config = change(JOBS[name].configure(arguments.data, place), GIVEN[name])
        study = keep(place / "study.json", partial(carry_out, config, arguments.only))
        print(f"{name}: {study['sentence']}", flush=True)
        nothing = read_ratio(study["nothing"], LEVEL).interval
        print(
            f"{name:15} {'itself':28} stated {speed.show_ratio(nothing)}{'' if nothing.low <= 1.0 <= nothing.high else ' WRONG'}"
        )
        for pair in list_pairs(config, study, arguments.kept):
            steps = max(math.ceil(SECONDS / study["step"] * pair.speed), 50)
            file = place / "runs" / f"{make_slug(pair.name)}.json"
            measured = keep(file, partial(measure, pair, steps, arguments.rounds))
            found.append(report(name, pair, measured))
    inside, overlap, unsaid = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0, 0)
    print(
        f"of {len(found)} factors {inside} lie in the stated interval, {overlap} overlap; changes of results unsaid: {unsaid}"
    )


if __name__ == "__main__":
    main()
