"""The short script of every preset beside its run: lines, what ruff has against it, and whether both come to the same metric.

    python -m tests.reliability.preset_scripts --tutorial [--only NAMES] [--steps 200] [--data FOLDER] [--first-seed 0]

The script draws other random numbers than the run and holds out other samples, so one number beside one says little: of two equal
programs, one lies outside three results of the other in every second case. Hence three runs and three scripts, with three seeds that
decide what is held out, too, and this rule: **the means of the two triples lie no farther apart than the wider of them reaches from
its least to its greatest** (or than 0.005, where all three are alike). For normal results, by simulation, equal programs fail it in 5
of 100 cases, those whose means are 3 standard deviations apart in 76, 4 apart in 93. Over 22 presets one failure is to be
expected: a preset that fails is asked again with ``--first-seed 3``, other samples altogether, and counts as failed if it fails
both times (equal programs: 1 of 400).

Presets that take minutes are cut to --steps steps, runs and scripts alike, and those of LIGHTER to what the table says; those of SHORT
are trained as they are. All compute on one thread. ``--data`` names a folder of real data (``preset_data`` says which); without it they
are made on the spot. Images are 32 x 32 or 64 x 64, and known weights (resnet) are not fetched. A row for each preset, in Markdown.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from tests.reliability.preset_data import make_data, take_real_data
from tests.training.tutorial.scripts import best_metric, complaints, run, write
from training.config import RunConfig
from training.engine.runs.run import start_run
from training.presets import load_preset, preset_text
from training.tutorial.script import write_short_script

HEAD = """| preset | steps, cut | lines | ruff | run, by seed | script, by seed | verdict | seconds |
|---|---|---|---|---|---|---|---|"""
SEEDS, MOST_LINES = 3, 150
LEAST = 0.005
"""Metrics that differ by less are the same to a reader."""
SHORT = ("spiral", "sample", "table-classes", "table-values", "ranking", "labels", "own-network", "pictures")
"""Whole: they take less than three minutes."""
LIGHTER = {
    "cifar10": (
        "loop.batch_size=16",
        "optimizer.lr=0.024",
        "precision.compute=fp32",
    ),  # the rate in proportion to the batch
    "resnet": ("loop.batch_size=8",),
    "segmentation": ("loop.batch_size=4", "dataset.image_size=[48, 64]"),
    "vit": ("loop.batch_size=16", "loop.ema_decay=0.98", "precision.compute=fp32"),
}
"""Those whose steps are slow on a CPU core, so that all of them can take --steps: smaller batches, fewer pixels, and no bf16, which
a CPU without it is ten times slower at. The average over 1000 steps of vit would be the random weights of its start."""


@dataclass(frozen=True)
class Row:
    """``runs`` and ``scripts``: their best metrics, by seed."""

    name: str
    steps: str
    lines: int
    ruff: str
    runs: list[float]
    scripts: list[float]
    seconds: float

    def find_faults(self) -> list[str]:
        """What is wrong with it; empty where nothing is."""
        apart = abs(mean(self.runs) - mean(self.scripts))
        allowed = max(LEAST, *(max(each) - min(each) for each in (self.runs, self.scripts)))
        faults = [f"{apart:.4f} apart, {allowed:.4f} allowed"] * (apart > allowed)
        faults += [f"more than {MOST_LINES} lines"] * (self.lines > MOST_LINES)
        return faults + ["ruff"] * bool(self.ruff)

    def __str__(self) -> str:
        runs, scripts = (", ".join(f"{value:.4f}" for value in each) for each in (self.runs, self.scripts))
        verdict = "; ".join(self.find_faults()) or "same"
        return (
            f"| {self.name} | {self.steps} | {self.lines} | {self.ruff.splitlines()[0] if self.ruff else 'clean'} | {runs} | {scripts} | "
            f"{verdict} | {self.seconds:.0f} |"
        )


def examine_tutorial(name: str, steps: int, first_seed: int, real: Path | None, folder: Path) -> Row:
    """Train the preset as run and as script, three times each. Raises AssertionError where one of them fails."""
    began = time.perf_counter()
    settings = [*(take_real_data(name, real, folder) if real else make_data(name, folder)), "precision.device=cpu"]
    lines = write_short_script(load_preset(name, settings, trust=True), "script.py").own  # a cut has lines of its own
    # Two threads that wait for each other take ten times as long on crowded cores.
    settings.append("precision.threads=1")
    whole = name in SHORT
    if not whole:
        settings += [f"loop.max_steps={steps}", "loop.epochs=1000", "checkpoints.every_steps=", *LIGHTER.get(name, ())]
        if (warmup := re.search(r"^warmup = (\d+)", preset_text(name), re.MULTILINE)) is not None:
            settings.append(f"schedule.warmup={min(int(warmup[1]), steps // 2)}")
    config = load_preset(name, settings, trust=True)
    runs, scripts, complained = [], [], ""
    for seed in range(first_seed, first_seed + SEEDS):
        dataset = config.dataset.model_copy(update={"split_seed": seed})
        seeded = config.model_copy(update={"seed": seed, "dataset": dataset})
        script = write(seeded, folder / f"tutorial {seed}")
        complained = complained or complaints(script)
        scripts.append(best_metric(run(script)))
        runs.append(_train(seeded, folder / f"runs {seed}"))
    return Row(
        name=name,
        steps="all" if whole else ", ".join([str(steps), *LIGHTER.get(name, ())]),
        lines=lines,
        ruff=complained,
        runs=runs,
        scripts=scripts,
        seconds=time.perf_counter() - began,
    )


def _train(config: RunConfig, folder: Path) -> float:
    record = start_run(config, folder)
    assert record.best is not None, record.reason
    return float(record.best.value)
