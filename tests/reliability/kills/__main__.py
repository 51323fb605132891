"""``python -m tests.reliability.kills --kills 100 --seed 7``: kill real runs at random moments until so many kills were done.

Exit code 0 only if no resumed run differs from one that nobody killed and no checkpoint was lost.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.reliability.kills.campaign import Outcome
from tests.reliability.kills.harness import kill_runs
from tests.reliability.kills.moments import KINDS

ENOUGH_FOR_ALL_KINDS = 5 * len(KINDS)


class Journal:
    """Lines for the person, one at a time from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def tell(self, text: str) -> None:
        """Print a line with the seconds since the beginning."""
        with self._lock:
            sys.stdout.write(f"{time.monotonic() - self._began:7.1f} s  {text}\n")
            sys.stdout.flush()


def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--seed", type=int, default=None, help="decides scenarios and moments (default: a new one)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--epochs", type=int, default=24, help="how long a run is (default: 24)")
    parser.add_argument("--every-steps", type=int, help="steps between two checkpoints (default: 7)")
    arguments = parser.parse_args(argv)
    overrides = [f"loop.epochs={arguments.epochs}"]
    if arguments.every_steps:
        overrides.append(f"checkpoints.every_steps={arguments.every_steps}")
    seed = arguments.seed if arguments.seed is not None else Random().randrange(10**6)
    journal = Journal()
    journal.tell(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="trainwright-kills-") as place:
        outcomes = kill_runs(arguments.kills, seed, arguments.jobs, overrides, Path(place), journal.tell)
    return summarize(outcomes, arguments.kills, journal)


def summarize(outcomes: list[Outcome], wanted: int, journal: Journal) -> int:
    """Tell what came of it; the exit code."""
    counts = Counter(kill.kind for outcome in outcomes for kill in outcome.kills)
    done = sum(counts.values())
    journal.tell("kills: " + ", ".join(f"{kind} {counts[kind]}" for kind in KINDS))
    never = [kind for kind in KINDS if not counts[kind]] if wanted >= ENOUGH_FOR_ALL_KINDS else []
    if never:
        journal.tell(f"WRONG: no kill came during {', '.join(never)}")
    compared = [outcome.compared for outcome in outcomes]
    differences = sum(len(outcome.differences) for outcome in outcomes)
    lost = sum(len(outcome.lost) for outcome in outcomes)
    journal.tell(
        f"{done} kills in {len(outcomes)} runs; compared {sum(c.tensors for c in compared):,} tensors, "
        f"{sum(c.numbers for c in compared):,} numbers, {sum(c.rows for c in compared):,} rows, "
        f"{sum(c.events for c in compared):,} validations and epochs: {differences} differences, {lost} lost checkpoints"
    )
    return 0 if done >= wanted and not differences and not lost and not never else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
