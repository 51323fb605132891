"""``python -m tests.doctor.zoo run`` writes and trains the zoo; ``validate`` measures each case against its twin.

Both go on where they were left: what was trained in the folder, from the very same files, is not trained again.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.doctor.zoo.animals import every_animal
from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.trial import run_trial, trials
from tests.doctor.zoo.validate import HEAD, validate


def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit code: 1 where a fault does no harm, or a healthy run does not learn."""
    parser = argparse.ArgumentParser(prog="python -m tests.doctor.zoo", description=__doc__)
    parser.add_argument("command", choices=("run", "validate", "list"))
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this one; * stands for anything")
    parser.add_argument(
        "--half", choices=("builders", "judged", "all"), default="all", help="which half (default: all)"
    )
    parser.add_argument("--out", type=Path, default=Path("zoo"), help="folder of all runs (default: zoo)")
    parser.add_argument("--table", type=Path, help="validate: write the table to this file, too")
    arguments = parser.parse_args(argv)
    wanted = arguments.only or ["*"]
    chosen = [
        animal
        for animal in every_animal(arguments.half)
        if any(fnmatch.fnmatchcase(animal.name, pattern) for pattern in wanted)
    ]
    if not chosen:
        parser.error(f"no case is called {', '.join(wanted)}")
    if arguments.command == "list":
        for animal in chosen:
            tell(f"{animal.name:32} {animal.kind if isinstance(animal, Case) else 'healthy'}")
        return 0
    out = arguments.out.resolve()
    return run(chosen, out) if arguments.command == "run" else show_verdicts(chosen, out, arguments.table)


def run(chosen: Sequence[Case | Healthy], out: Path) -> int:
    """Train all parts of ``chosen``, one after the other."""
    for number, animal in enumerate(chosen, start=1):
        for part, _ in trials(animal):
            trial = run_trial(animal, part, out)
            how = "completed" if trial.completed else f"exit code {trial.outcome['code']}"
            tell(f"{number:3}/{len(chosen)} {animal.name:32} {part:8} {how} in {trial.outcome['seconds']:.1f} s")
    return 0


def show_verdicts(chosen: Sequence[Case | Healthy], out: Path, table: Path | None) -> int:
    """A row for each of ``chosen`` that was trained."""
    verdicts = []
    tell(HEAD)
    for animal in chosen:
        verdict = validate(animal, out)
        if verdict is not None:
            verdicts.append(verdict)
            tell(verdict.row())
    missing = len(chosen) - len(verdicts)
    wrong = [verdict.name for verdict in verdicts if not verdict.harmful]
    end = f"\n{len(verdicts)} measured, {missing} not trained yet; not as meant: {', '.join(wrong) or 'none'}\n"
    tell(end)
    if table is not None:
        table.write_text("\n".join([HEAD, *(verdict.row() for verdict in verdicts), end]))
    return 1 if wrong or missing else 0


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
