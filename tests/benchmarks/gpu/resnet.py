"""ResNet-50 at 224, bf16, channels-last, compiled, samples resident: ours against a loop written by hand."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.compare.jobs import Job
from tests.benchmarks.compare.results import contestants, disagreements, of, ratio, summary
from tests.benchmarks.compare.rounds import Failed, Place, Round, run_rounds
from tests.benchmarks.gpu.part import Order, Part
from tests.benchmarks.gpu.sizes import Size

BAR = 0.97
HAND = {"hand": "default", "hand-autotuned": "max-autotune-no-cudagraphs", "hand-graphs": "reduce-overhead"}
"""The loops written by hand, and the mode in which each compiles its network."""
MODULE = "tests.benchmarks.gpu.contestant"


def job(size: Size, device: str) -> Job:
    """The work: a step of SGD as ResNets are trained, an epoch left out for the compiling, validation after each."""
    rate = 0.1 * size.batch / 256  # Goyal et al., "Accurate, Large Minibatch SGD", arXiv 1706.02677
    return Job(
        "resnet50",
        f"{size.resnet} at {size.side}, bf16, channels-last, compiled, batch {size.batch}, samples resident",
        "drawn",
        {
            "dataset": {
                "kind": "shapes",
                "samples": size.samples,
                "image_size": size.side,
                "validation_fraction": size.held_share,
            },
            "model": {"kind": "torchvision", "name": size.resnet},
            "optimizer": {
                "kind": "sgd",
                "lr": rate,
                "momentum": 0.9,
                "weight_decay": 1e-4,
                "decay_bias_and_norm": True,
            },
            "schedule": {"kind": "cosine"},
            "precision": {"compute": "bf16", "device": device, "compile": "model"},
            "loop": {"epochs": size.epochs, "batch_size": size.batch, "clip_norm": 0.0},
            "loader": {"mode": "resident"},
            "checkpoints": {"every_steps": 500},
        },
        # A few hundred steps at a high rate: two seeds differ by as much. What must agree exactly is the work.
        loss_tolerance=3.0,
        accuracy_tolerance=0.5,
        warm_up_epochs=1,
        floor="hand",
    )


def measure(order: Order) -> Part:
    """Rounds of ours and of each loop written by hand, in turn; the figure is against the fastest of those."""
    work = job(order.size, order.device)
    folder = _material(order)
    place, names = Place(module=MODULE), ["ours", *HAND]
    rounds: list[Round] = []
    left_out: dict[str, str] = {}
    order.say("  a first round, not measured: it fills the compilers' caches")
    for name in names[:]:
        try:
            place.measure(name, folder)
        except Failed as reason:
            left_out[name] = str(reason)
            names.remove(name)
            order.say(f"  {name} is left out: {reason}")

    def keep(done: list[Round], failed: dict[str, str]) -> None:
        rounds[:] = done
        left_out.update(failed)

    run_rounds(place, folder, names, order.rounds, order.say, keep)
    return _part(order, work, rounds, left_out)


def _material(order: Order) -> Path:
    """The job's folder, made by a process of its own: this one stays free of torch, so that it weighs on nobody."""
    size = "small" if order.size.side < 224 else "full"
    command = [sys.executable, "-m", "tests.benchmarks.gpu.material", size, order.device, str(order.place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip().splitlines()[-1])


def _part(order: Order, work: Job, rounds: list[Round], left_out: dict[str, str]) -> Part:
    images = 6 * order.size.trained * (order.size.epochs - work.warm_up_epochs)
    rows = []
    for name in contestants(rounds):
        seconds = of(rounds, name, "seconds")
        speeds = [images / each for each in seconds]
        rows.append(
            (
                name if name == "ours" else f"{name} ({HAND[name]})",
                f"{statistics.median(speeds):,.0f}",
                f"{min(speeds):,.0f} to {max(speeds):,.0f}",
                f"{statistics.median(of(rounds, name, 'loss')):.3f}",
                f"{statistics.median(of(rounds, name, 'steps')):.0f}",
            )
        )
    best = next((name for name in contestants(rounds) if name != "ours"), None)
    found = ratio(rounds, best, "ours") if best is not None else None  # of seconds, so this way round of speeds
    verdicts: list[tuple[str, bool | None]] = []
    if found is not None:
        low, high = min(found.values), max(found.values)
        sentence = f"ours / {best}: {found.median:.3f} of its images per second ({low:.3f} to {high:.3f}; bar {BAR})."
        verdicts.append((sentence, found.median >= BAR))
    return Part(
        work.title,
        ("", "images per second", "lowest to highest", "validation loss", "steps"),
        rows,
        verdicts,
        summary(work, rounds, left_out),
        [
            f"{len(rounds)} rounds of {images:,} images, validation after each epoch included; the first epoch, which "
            "holds the compiling, is not.",
            *(f"**Not the same work:** {sentence}" for sentence in disagreements(work, rounds)),
            *(f"{name} was left out: {reason}" for name, reason in left_out.items()),
        ],
    )
