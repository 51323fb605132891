"""``python -m tests.doctor.zoo run`` writes and trains the zoo; ``validate`` measures each case against its twin; ``judge`` asks the
program, and others, what is wrong with each, and tries what it proposes.

All go on where they were left: what was trained in the folder, from the very same files, is not trained again, and what the very same
program said of it is not asked again.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from tests.doctor.zoo.animals import GROUPS, every_animal
from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.first.larger_presets import LEFT_OUT
from tests.doctor.zoo.judge import Judgement, Opinion, judge_case, judge_healthy
from tests.doctor.zoo.opponents import ask_opponents, find_reasons
from tests.doctor.zoo.tables import describe_miss, write_tables
from tests.doctor.zoo.trial import run_trial, trials
from tests.doctor.zoo.validate import HEAD, validate

AT_A_TIME = 2
T = TypeVar("T")


def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit code. ``validate``: 1 where a fault does no harm, or a healthy run does not learn; ``judge``: 1
    where a fault is not noticed, or something is found in a twin or a healthy run."""
    parser = argparse.ArgumentParser(prog="python -m tests.doctor.zoo", description=__doc__)
    parser.add_argument("command", choices=("run", "validate", "judge", "list"))
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this one; * stands for anything")
    parser.add_argument("--group", action="append", default=[], choices=GROUPS, help="of this group (default: all)")
    parser.add_argument("--out", type=Path, default=Path("zoo"), help="folder of all runs (default: zoo)")
    parser.add_argument("--table", type=Path, help="validate, judge: write the table to this file, too")
    parser.add_argument("--no-cure", action="store_true", help="judge: do not train again with what is proposed")
    parser.add_argument(
        "--opponents", type=Path, metavar="VENV", help="judge: where runmedic and gradsnitch are installed"
    )
    arguments = parser.parse_args(argv)
    wanted = arguments.only or ["*"]
    chosen = [
        animal
        for animal in every_animal(*arguments.group)
        if any(fnmatch.fnmatchcase(animal.name, pattern) for pattern in wanted)
    ]
    for name, why in LEFT_OUT.items():
        tell(f"{name} is left out: {why}")
    if not chosen:
        parser.error(f"no case is called {', '.join(wanted)}")
    if arguments.command == "list":
        for animal in chosen:
            tell(f"{animal.name:32} {animal.kind if isinstance(animal, Case) else 'healthy'}")
        return 0
    out = arguments.out.resolve()
    if arguments.command == "judge":
        return judge(chosen, out, arguments.table, not arguments.no_cure, arguments.opponents)
    return run(chosen, out) if arguments.command == "run" else show_verdicts(chosen, out, arguments.table)


def each_of(work: Callable[[T], str], items: Sequence[T]) -> Iterator[str]:
    """What ``work`` answers for each of ``items``, some at a time, in the order in which they are done."""
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    with context.Pool(AT_A_TIME) as pool:
        yield from pool.imap_unordered(work, items)


def run(chosen: Sequence[Case | Healthy], out: Path) -> int:
    """Train all parts of ``chosen``."""
    for number, line in enumerate(each_of(partial(_train, out), [animal.name for animal in chosen]), start=1):
        tell(f"{number:3}/{len(chosen)} {line}")
    return 0


def _train(out: Path, name: str) -> str:
    animal = _by_name(name)
    ends = []
    for part, _ in trials(animal):
        outcome = run_trial(animal, part, out).outcome
        how = "completed" if outcome["code"] == 0 else f"exit code {outcome['code']}"
        ends.append(f"{part} {how} in {outcome['seconds']:.1f} s")
    return f"{name:32} {', '.join(ends)}"


def judge(chosen: Sequence[Case | Healthy], out: Path, table: Path | None, cure: bool, venv: Path | None) -> int:
    """Judge ``chosen``, and tell the tables."""
    began = time.monotonic()
    names = [animal.name for animal in chosen]
    for number, line in enumerate(each_of(partial(_judge, out, cure, venv), names), start=1):
        tell(f"{number:3}/{len(chosen)} {line}")
    cases = [judge_case(animal, out, cure) for animal in chosen if isinstance(animal, Case)]
    healthy = {animal.name: judge_healthy(animal, out) for animal in chosen if isinstance(animal, Healthy)}
    answers = {animal.name: ask_opponents(animal, out, venv) for animal in chosen}
    minutes = (time.monotonic() - began) / 60
    tables = write_tables(cases, healthy, answers, find_reasons(venv), minutes)
    tell(f"\n{tables}")
    if table is not None:
        table.write_text(tables)
    wrong = any(not case.noticed or case.alarms for case in cases) or any(each.findings for each in healthy.values())
    return int(wrong)


def _judge(out: Path, cure: bool, venv: Path | None, name: str) -> str:
    animal = _by_name(name)
    told: Judgement | Opinion = (
        judge_case(animal, out, cure) if isinstance(animal, Case) else judge_healthy(animal, out)
    )
    ask_opponents(animal, out, venv)
    return f"{name:32} {describe_miss(told) or 'as it should be'}"


def _by_name(name: str) -> Case | Healthy:
    return next(animal for animal in every_animal() if animal.name == name)


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
