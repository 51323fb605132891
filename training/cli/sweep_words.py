"""What may be typed after ``python -m training sweep``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from training.arguments import Parser

SAMPLERS, PRUNERS = ("tpe", "gp", "random", "grid"), ("median", "hyperband", "wilcoxon", "none")
"""As ``sweeps.folder`` has them, which this file does not load."""


def add_sweep(command: Parser, shared: Mapping[str, Mapping[str, Any]]) -> None:
    """Give ``command`` its actions; ``shared`` are options that other commands have, too."""
    actions = command.add_subparsers(required=True, metavar="ACTION")

    def add(name: str, help_: str, *options: str) -> Callable[..., Any]:
        action = actions.add_parser(name, help=help_)
        for option in (*options, "--workspace", "--json"):
            action.add_argument(option, **shared[option])
        action.set_defaults(command=f"training.cli.sweep:{name}_sweep")
        return action.add_argument

    option = add(
        "new",
        "make a sweep of a configuration: what to vary, by whom, and what it may take",
        "config",
        "--set",
        "--trust",
    )
    varied = (
        "a setting to try other values of: section.key=LOW:HIGH, =LOW:HIGH:log, =LOW:HIGH:step=STEP, =A|B|C, or section.key alone for the bounds that it is "
        "declared with; a grid takes N values of LOW:HIGH:N"
    )
    option("--vary", action="append", default=[], metavar="SETTING", help=varied)
    option("--sampler", choices=SAMPLERS, default="tpe", help="who proposes the values (tpe)")
    option(
        "--pruner", choices=PRUNERS, default="median", help="who stops a trial early that others are ahead of (median)"
    )
    option("--trials", type=int, metavar="N", help="how many trials (20, or all of a grid, where no limit is given)")
    option("--hours", type=float, metavar="H", help="no trial begins after so many hours of training in all")
    option("--disk", type=float, metavar="GB", help="no trial begins that its runs might not fit into")
    option(
        "--storage", default="", metavar="URL", help="a PostgreSQL database; by default a journal in the sweep's folder"
    )
    option(
        "--repeat",
        type=int,
        default=1,
        metavar="N",
        help="each trial trains N runs, of N seeds, and counts by their mean; --pruner wilcoxon compares them in pairs (1)",
    )
    option("--seed", type=int, default=0, metavar="S", help="the same seed proposes the same trials (0)")

    option = add("work", "train the trials of a sweep, one after the other; several may work on one")
    option("sweep", metavar="SWEEP", help="a sweep's id, the beginning of it, or its folder")
    option("--while-held", action="store_true", help=argparse.SUPPRESS)
    option = add("show", "tell a sweep's trials, the best, which settings matter, and what it took")
    option("sweep", metavar="SWEEP")
    option = add("add", "add a trial by hand", "--set")
    option("sweep", metavar="SWEEP")
    option = add("stop", "end a trial before its time; its run is kept")
    option("sweep", metavar="SWEEP")
    option("trial", metavar="TRIAL", help="its number, as show lists it")
    add("list", "list the sweeps of the workspace")
