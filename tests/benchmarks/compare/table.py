"""Results as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmarks.compare.jobs import Job
from tests.benchmarks.compare.results import Ratio, contestants, disagreements, of, ratio, ratios
from tests.benchmarks.compare.rounds import Round

Outcome = tuple[Job, Sequence[Round], Mapping[str, str]]
"""A job, its rounds, and who was left out why."""
BUSY = 0.5
"""A load average above this share of the cores before a measurement: something else was at work."""


def table(outcomes: Sequence[Outcome], facts: Mapping[str, Any]) -> str:
    """The whole report."""
    machine = facts["machine"]
    lines = [
        "# Ours beside the others",
        "",
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']:g} GB; {machine['system']}; "
        f"Python {machine['python']}; " + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
        "",
        *_bars(outcomes),
    ]
    for outcome in outcomes:
        lines += ["", *_job(outcome, machine["usable_cores"])]
    return "\n".join(lines) + "\n"


def _bars(outcomes: Sequence[Outcome]) -> list[str]:
    lines = [
        "Medians of the ratios of the same round (in brackets: lowest to highest), and the bar.",
        "",
        "| job | ours / floor | own network / floor | ours / textbook | ours / fastest other engine |",
        "|---|---|---|---|---|",
    ]
    for job, rounds, _ in outcomes:
        found = ratios(job, rounds)
        cells = [_cell(found.get(column), column == "peer") for column in ("floor", "own", "textbook", "peer")]
        lines.append(f"| {job.name} | {' | '.join(cells)} |")
    return lines


def _cell(found: Ratio | None, named: bool) -> str:
    if found is None:
        return "not measured"
    text = f"{found.median:.2f} ({min(found.values):.2f} to {max(found.values):.2f})"
    if named:
        text += f" {found.against}"
    if found.bar is None:
        return text
    return f"{text}; bar {found.bar:.2f}: {'held' if found.held else '**missed**'}"


def _job(outcome: Outcome, cores: int) -> list[str]:
    job, rounds, left_out = outcome
    lines = [
        f"## {job.name}: {job.title}",
        "",
        f"{len(rounds)} rounds. Seconds from the first step"
        + (f" after {job.warm_up_epochs} epochs" if job.warm_up_epochs else "")
        + " to the last validation.",
        "",
        "| | seconds | lowest to highest | times the floor | loss | accuracy | steps | load before |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in contestants(rounds):
        seconds = of(rounds, name, "seconds")
        times = ratio(rounds, name, job.floor)
        values = (
            name,
            f"{statistics.median(seconds):.2f}",
            f"{min(seconds):.2f} to {max(seconds):.2f}",
            "" if times is None else f"{times.median:.2f}",
            f"{statistics.median(of(rounds, name, 'loss')):.4f}",
            f"{statistics.median(of(rounds, name, 'accuracy')):.4f}",
            f"{statistics.median(of(rounds, name, 'steps')):.0f}",
            f"{statistics.median(of(rounds, name, 'load')):.2f}",
        )
        lines.append(f"| {' | '.join(values)} |")
    lines.append("")
    lines += _remarks(job, rounds, left_out, cores)
    return lines


def _remarks(job: Job, rounds: Sequence[Round], left_out: Mapping[str, str], cores: int) -> list[str]:
    found = disagreements(job, rounds)
    lines = [f"* **Not the same work:** {sentence}" for sentence in found]
    if not found:
        lines.append(
            f"* All agree in loss within {job.loss_tolerance:.0%}, in accuracy within "
            f"{100 * job.accuracy_tolerance:.1f} points and in the number of steps."
        )
    lines += [f"* {name} was left out: {reason}" for name, reason in left_out.items()]
    first = [next(iter(results.values()))["load"] for results in rounds if results]
    if first and statistics.median(first) > BUSY * cores:
        # A contestant's own work is in the next one's figure, so the machine's own share shows only roughly.
        lines.append(f"* Load averages before a round were {min(first):.1f} to {max(first):.1f} on {cores} cores.")
    return lines
