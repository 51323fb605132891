"""Proofs beside full runs: ``python -m tests.benchmarks.proofs [--out FOLDER] [NAME ...]``.

Ten faults with what mends them, and ten changes that matter to nobody, on small runs of points, images, rows and text. Each run is trained
to its end; then its change is proved as ``python -m training prove`` does it, and by the same arms from step 0 to the end of the run, which
is what the few steps stand for. Told are both verdicts, where the proof began, its steps, and what it cost: of the steps of one run,
and of those that the full comparison takes. What is done already in FOLDER is not done again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import JsonValue

from training.config import apply_overrides, parse_config
from training.control import Control
from training.engine.runs.run import start_run
from training.events import Finding
from training.prove.plan import ProofPlan, plan_proof
from training.prove.runner import prove
from training.runs.folder import RunFolder
from training.runs.records.history import EventLog, read_history
from training.runs.records.proofs import Proof, Verdict

_CODE = "schedule.length"  # any that a run can tell
_SIGN: Mapping[Verdict, int] = {"cures": 1, "helps": 1, "no difference": 0, "harms": -1}


@dataclass(frozen=True)
class Case:
    """``kind`` of data; ``given`` is what the run has, ``change`` what is proved; ``since`` is the share of the run behind which the fault
    is noticed, None for a change that nobody proposed."""

    name: str
    kind: str
    given: Sequence[str]
    change: Mapping[str, JsonValue]
    since: float | None = None


CASES = (
    Case("points-lr-tiny", "points", ("optimizer.lr=1e-5",), {"optimizer.lr": 1e-2}, 0.2),
    Case("points-lr-huge", "points", ("optimizer.kind=sgd", "optimizer.lr=30"), {"optimizer.lr": 0.1}, 0.0),
    Case("points-decay", "points", ("optimizer.weight_decay=10",), {"optimizer.weight_decay": 0.01}, 0.1),
    Case("points-dropout", "points", ("model.dropout=0.9",), {"model.dropout": 0.0}, 0.2),
    Case("images-lr-huge", "images", ("optimizer.lr=0.5",), {"optimizer.lr": 2e-3}, 0.0),
    Case(
        "images-clip",
        "images",
        ("optimizer.kind=sgd", "optimizer.lr=0.05", "loop.clip_norm=1e-4"),
        {"loop.clip_norm": 1.0},
        0.1,
    ),
    Case(
        "images-decays-at-once",
        "images",
        ("schedule.kind=exponential", "schedule.gamma=0.01"),
        {"schedule.gamma": 0.95},
        0.3,
    ),
    Case(
        "rows-lr-huge",
        "rows",
        ("optimizer.kind=sgd", "optimizer.lr=5", "loop.clip_norm=0"),
        {"optimizer.lr": 0.02},
        0.0,
    ),
    Case("rows-one-unit", "rows", ("model.hidden=[1]",), {"model.hidden": [32, 32]}, 0.2),
    Case("text-lr-huge", "text", ("optimizer.lr=0.5",), {"optimizer.lr": 3e-3}, 0.1),
    Case("points-lr-a-little", "points", (), {"optimizer.lr": 0.0102}),
    Case("points-one-unit-more", "points", (), {"model.hidden": [33, 32]}),
    Case("points-decay-a-little", "points", (), {"optimizer.weight_decay": 0.012}),
    Case("images-smoothing", "images", (), {"objective.label_smoothing": 0.005}),
    Case("images-clip-a-little", "images", (), {"loop.clip_norm": 1.05}),
    Case("images-dropout-a-little", "images", ("model.dropout=0.1",), {"model.dropout": 0.11}),
    Case("rows-batch-a-little", "rows", (), {"loop.batch_size": 33}),
    Case("rows-decay-a-little", "rows", (), {"optimizer.weight_decay": 0.012}),
    Case("text-decay-a-little", "text", (), {"optimizer.weight_decay": 0.012}),
    Case("text-lr-a-little", "text", (), {"optimizer.lr": 3.05e-3}),
)

_BASES: Mapping[str, Mapping[str, Mapping[str, JsonValue]]] = {
    "points": {
        "dataset": {"kind": "spiral", "samples": 1000, "validation_fraction": 0.4},
        "model": {"kind": "mlp", "hidden": [32, 32]},
        "optimizer": {"kind": "adamw", "lr": 1e-2},
        "loop": {"epochs": 20, "batch_size": 32},
    },
    "images": {
        "dataset": {"kind": "shapes", "samples": 1500, "image_size": 16, "validation_fraction": 0.4},
        "model": {"kind": "small_cnn", "channels": [8, 16], "hidden": 32},
        "optimizer": {"kind": "adamw", "lr": 2e-3},
        "loop": {"epochs": 12, "batch_size": 32},
    },
    "rows": {
        "dataset": {"kind": "table", "targets": ["y"], "validation_fraction": 0.4},
        "model": {"kind": "mlp", "hidden": [32, 32]},
        "objective": {"kind": "regression"},
        "optimizer": {"kind": "adamw", "lr": 3e-3},
        "loop": {"epochs": 20, "batch_size": 32},
    },
    "text": {
        "dataset": {"kind": "text", "context": 32},
        "model": {"kind": "gpt", "width": 32, "layers": 2, "heads": 2, "dropout": 0.0},
        "optimizer": {"kind": "adamw", "lr": 3e-3},
        "loop": {"epochs": 3, "batch_size": 16},
    },
}


def write_rows(file: Path) -> None:
    """1,000 rows whose target is a smooth function of five columns, and some noise."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(1000, 5))
    target = np.sin(2 * columns[:, 0]) + columns[:, 1] * columns[:, 2] + 0.1 * rng.normal(size=1000)
    lines = [",".join(f"{value:.5f}" for value in (*row, y)) for row, y in zip(columns, target, strict=True)]
    file.write_text("\n".join(["a,b,c,d,e,y", *lines]) + "\n")


def write_text(file: Path) -> None:
    """Some 60,000 characters of sums, which a small network can learn to write."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 50, (6000, 2)).tolist()
    file.write_text("".join(f"{one}+{other}={one + other}\n" for one, other in pairs))


def begin(case: Case, folder: Path) -> RunFolder:
    """Train the run of a case, and let it tell its fault."""
    data: dict[str, Any] = {name: dict(section) for name, section in _BASES[case.kind].items()}
    data |= {"name": case.name, "schedule": {"kind": "constant"}, "precision": {"threads": 1}}
    data |= {"checkpoints": {"every_steps": 30, "keep_last": 100}}
    file = folder / ("rows.csv" if case.kind == "rows" else "text.txt")
    if case.kind in ("rows", "text"):
        (write_rows if case.kind == "rows" else write_text)(file)
        data["dataset"] = {**_BASES[case.kind]["dataset"], "path": str(file)}
    apply_overrides(data, case.given)
    run = RunFolder(Path(start_run(parse_config(data), folder).folder))
    if case.since is not None:
        step = max(round(case.since * run.status().step), 1)
        log = EventLog(run.events_file)
        log.emit(Finding(level="warning", title=case.name, code=_CODE, fix=case.change, since=step, step=step))
        log.close()
    return run


def plan_case(case: Case, run: RunFolder) -> ProofPlan:
    """As ``python -m training prove`` would."""
    if case.since is not None:
        return plan_proof(run, _CODE)
    return plan_proof(run, overrides=[f"{path}={json.dumps(value)}" for path, value in case.change.items()])


def carry_out(plan: ProofPlan) -> Proof:
    """Without a word."""
    proof = prove(plan, lambda line: None, lambda phase, reached: None, Control())
    assert proof is not None
    return proof


class Result(NamedTuple):
    """Both verdicts on a case, and what the proof cost."""

    name: str
    fault: bool
    proof: Verdict
    sentence: str
    full: Verdict
    full_sentence: str
    start: int
    steps: int
    total: int
    seconds: float
    full_seconds: float

    @property
    def agrees(self) -> bool:
        """Whether both say better, or worse, or neither."""
        return _SIGN[self.proof] == _SIGN[self.full]


def measure(case: Case) -> Result:
    """Both verdicts on a case, and what the proof cost."""
    with tempfile.TemporaryDirectory() as place:
        run = begin(case, Path(place))
        total = read_history(run.events_file).attempts[-1].total_steps
        short = plan_case(case, run)
        began = time.perf_counter()
        proof = carry_out(short)
        seconds = time.perf_counter() - began
        began = time.perf_counter()
        whole = carry_out(replace(short, checkpoint=None, start=0, steps=total))
        full_seconds = time.perf_counter() - began
        return Result(
            case.name,
            case.since is not None,
            proof.verdict,
            proof.sentence,
            whole.verdict,
            whole.sentence,
            proof.start,
            proof.steps,
            total,
            round(seconds, 1),
            round(full_seconds, 1),
        )


def report(results: Sequence[Result]) -> None:
    """A line for each, and how often both verdicts agree."""
    for each in results:
        where = f"from {each.start}, {each.steps} of {each.total} steps ({each.steps / each.total:.0%})"
        print(
            f"{'' if each.agrees else 'X':1} {each.name:24} proof: {each.proof:14} full: {each.full:14} {where}, {each.seconds} s for "
            f"{each.full_seconds} s"
        )
    for kind, fault in (("faults", True), ("harmless changes", False)):
        some = [each for each in results if each.fault is fault]
        print(f"{kind}: {sum(each.agrees for each in some)} of {len(some)} verdicts are those of full runs")
    if results:
        share = float(np.median([each.steps / each.total for each in results]))
        times = float(np.median([each.seconds / each.full_seconds for each in results]))
        print(f"steps of a proof: {share:.0%} of the full runs', seconds {times:.0%} (medians)")


def main() -> None:
    """Do what is not done yet, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases (all)")
    parser.add_argument("--out", type=Path, default=Path("proofs-benchmark"), help="where the results are kept")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = []
    for case in CASES:
        if arguments.names and case.name not in arguments.names:
            continue
        file = arguments.out / f"{case.name}.json"
        if not file.is_file():
            file.write_text(json.dumps(measure(case)._asdict(), indent=1) + "\n")
        results.append(Result(**json.loads(file.read_text())))
        print(f"{case.name}: {results[-1].sentence} Full: {results[-1].full_sentence}", flush=True)
    report(results)


if __name__ == "__main__":
    main()
