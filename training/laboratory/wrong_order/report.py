"""The table of wrong orders: in the terminal, as a page, as text, as figures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic_core import to_jsonable_python

from training.laboratory.wrong_order.experiments import EXPERIMENTS, SEEDS, Result, run_experiment
from training.report.pages import render
from training.streams import print_json, say
from training.system.atomic import write_text

PAGE, TEXT, FIGURES = "wrong-order.html", "wrong-order.md", "wrong-order.json"


@dataclass(frozen=True)
class OrderRecord:
    """One row in ``wrong-order.json``; figures are those of each seed."""

    line: str
    place: str
    figure: str
    right: tuple[float, ...]
    wrong: tuple[float, ...]
    harmed: bool
    why: str


def show_wrong_orders(folder: Path, arguments: argparse.Namespace) -> int:
    """Run all, say what came out and write it into ``folder``; returns 0, or 1 where an order did no harm."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # so small steps are slowed down by a second one
    try:
        results = [_run(number) for number in range(len(EXPERIMENTS))]
    finally:
        torch.set_num_threads(before)
    write_page(folder, results)
    say(f"The table is {folder / PAGE}")
    if arguments.json:
        print_json({"folder": str(folder), "report": str(folder / PAGE), "rows": to_jsonable_python(_records(results))})
    return 0 if all(result.harmed for result in results) else 1


def _run(number: int) -> Result:
    experiment = EXPERIMENTS[number]
    result = run_experiment(experiment)
    right, wrong = result.format_median(result.right), result.format_median(result.wrong)
    harm = "" if result.harmed else " (no harm here)"
    say(f"{number + 1} {experiment.line} {experiment.place}: {experiment.figure.name} {wrong} instead of {right}{harm}")
    say(f"    {experiment.why}")
    return result


def write_page(folder: Path, results: Sequence[Result]) -> None:
    """Write the page, the text and the figures."""
    for name, template in ((PAGE, "wrong_order.html.jinja"), (TEXT, "wrong_order.md.jinja")):
        text = render(
            "training.laboratory",
            template,
            results=results,
            seeds=len(SEEDS),
        )
        write_text(folder / name, text)
    write_text(
        folder / FIGURES, json.dumps(to_jsonable_python(_records(results), inf_nan_mode="null"), indent=1) + "\n"
    )


def _records(results: Sequence[Result]) -> list[OrderRecord]:
    return [
        OrderRecord(
            line=result.experiment.line,
            place=result.experiment.place,
            figure=result.experiment.figure.name,
            right=result.right,
            wrong=result.wrong,
            harmed=result.harmed,
            why=result.experiment.why,
        )
        for result in results
    ]
