"""From seconds to ratios, and whether everybody did the same work."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.compare.jobs import Job
from tests.benchmarks.compare.rounds import PEERS, Round


@dataclass(frozen=True)
class Ratio:
    """Ours to another, round by round; ``bar`` is the most that will do."""

    against: str
    values: tuple[float, ...]
    bar: float | None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def held(self) -> bool | None:
        """None where there is no bar."""
        return None if self.bar is None else self.median <= self.bar


def of(rounds: Sequence[Round], name: str, key: str) -> list[float]:
    """``key`` of a contestant in each round that it ended."""
    return [results[name][key] for results in rounds if name in results]


def contestants(rounds: Sequence[Round]) -> list[str]:
    """Who ended at least one round, fastest first."""
    names = {name for results in rounds for name in results}
    return sorted(names, key=lambda name: statistics.median(of(rounds, name, "seconds")))


def ratio(rounds: Sequence[Round], first: str, second: str, bar: float | None = None) -> Ratio | None:
    """Seconds of ``first`` to those of ``second`` in the same round; None where no round has both."""
    values = [
        results[first]["seconds"] / results[second]["seconds"]
        for results in rounds
        if first in results and second in results
    ]
    return Ratio(second, tuple(values), bar) if values else None


def ratios(job: Job, rounds: Sequence[Round]) -> dict[str, Ratio]:
    """Of ours to the job's "floor", to "textbook" and to "peer", the fastest engine of another maker; "own" is that of ours with the
    network in a person's file to the floor."""
    fastest = next((name for name in contestants(rounds) if name in PEERS), None)
    opponents = {"floor": job.floor, "textbook": "textbook", "peer": fastest}
    found = {
        column: ratio(rounds, "ours", name, job.bars.get(column))
        for column, name in opponents.items()
        if name is not None
    } | {"own": ratio(rounds, "ours-own", job.floor, job.bars.get("floor"))}
    return {column: value for column, value in found.items() if value is not None}


def disagreements(job: Job, rounds: Sequence[Round]) -> list[str]:
    """A sentence for each contestant whose results are not those of the others; empty when all did the same work."""
    names = contestants(rounds)
    if not names:
        return []
    middle = {
        key: {name: statistics.median(of(rounds, name, key)) for name in names} for key in ("loss", "accuracy", "steps")
    }
    usual = {key: statistics.median(values.values()) for key, values in middle.items()}
    sentences = []
    for name in names:
        loss, accuracy, steps = (middle[key][name] for key in ("loss", "accuracy", "steps"))
        off = abs(loss - usual["loss"]) / max(abs(usual["loss"]), 1e-12)
        if not math.isfinite(loss) or off > job.loss_tolerance:
            sentences.append(
                f"{name} ends with a validation loss of {loss:.4f}, the others with about {usual['loss']:.4f} "
                f"(allowed: {job.loss_tolerance:.0%})."
            )
        if not abs(accuracy - usual["accuracy"]) <= job.accuracy_tolerance:
            sentences.append(
                f"{name} ends with an accuracy of {accuracy:.2%}, the others with about {usual['accuracy']:.2%} "
                f"(allowed: {100 * job.accuracy_tolerance:.1f} points)."
            )
        if steps != usual["steps"]:
            sentences.append(f"{name} made {steps:.0f} steps, the others {usual['steps']:.0f}.")
    return sentences


def summary(job: Job, rounds: Sequence[Round], left_out: Mapping[str, str]) -> dict[str, Any]:
    """All of it for one job, raw numbers included, as JSON can hold it."""
    return {
        "job": job.name,
        "title": job.title,
        "floor": job.floor,
        "ratios": {
            column: {"against": found.against, "median": found.median, "values": found.values, "bar": found.bar}
            for column, found in ratios(job, rounds).items()
        },
        "disagreements": disagreements(job, rounds),
        "left_out": dict(left_out),
        "rounds": list(rounds),
    }
