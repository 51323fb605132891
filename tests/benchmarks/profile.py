"""What being watched costs a run: our loop with a profile's watch against the same loop without.

    python -m tests.benchmarks.profile [--job spiral] [--rounds 60] [--seconds 0.1] [--clock cpu] [--threads N]

Both contestants have their own session of the same settings and take turns in short blocks of steps; the figure is the
median ratio of neighbouring blocks. "noise" is the plain loop against another plain one: what can be told apart here.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.step import CYCLE, JOBS, Ours, seconds_a_step, session_for
from training.config import apply_overrides, parse_config
from training.engine.profile import Watch
from training.engine.session import Session
from training.process import tune_process
from training.runs.profile_record import Lap


class Watched(Ours):
    """The loop with a watch, read at the end of each block, as a flush would."""

    def __init__(self, session: Session, workspace: Path) -> None:
        super().__init__(session, workspace)
        self.watch = Watch(session.data, session.device)
        hear, count = self.watch.lap, self._count

        def lap(part: Lap) -> None:
            hear(part)
            count(part)

        session.lap = lap

    def work(self, steps: int) -> None:
        super().work(steps)
        self.watch.fold()


def measure(job: str, options: argparse.Namespace, workspace: Path) -> None:
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    data: dict[str, Any] = {"name": "profile", "schedule": CYCLE, **{k: dict(v) for k, v in JOBS[job].items()}}
    if data["dataset"]["kind"] == "idx":
        data["dataset"]["path"] = str(options.mnist.resolve())
    apply_overrides(data, ["checkpoints.every_steps=1000000000", "loop.epochs=1000", "precision.device=cpu"])
    config = parse_config(data)
    contestants = {
        "plain": Ours(session_for(config, options.threads), workspace),
        "again": Ours(session_for(config, options.threads), workspace),
        "watched": Watched(session_for(config, options.threads), workspace),
    }
    pace = min(seconds_a_step(contestants["plain"], 3, clock) for _ in range(5))
    steps = max(2, round(options.seconds / pace))
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for contestant in contestants.values():
        contestant.work(steps)
    names = list(contestants)
    for turn in range(options.rounds):
        for name in names[turn % 3 :] + names[: turn % 3]:
            times[name].append(seconds_a_step(contestants[name], steps, clock))
    plain = statistics.median(times["plain"])
    print(f"\n{job}: {1e6 * plain:.1f} us a step, blocks of {steps} steps, {options.rounds} rounds")
    for name, title in (("again", "noise"), ("watched", "watched")):
        ratios = [one / other for one, other in zip(times[name], times["plain"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"  {title:<8} {middle:6.4f} of the plain loop (middle half {low:.4f} to {high:.4f})")
    for contestant in contestants.values():
        contestant.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--job", choices=list(JOBS), action="append", dest="jobs", help="the spiral, where none is named"
    )
    parser.add_argument("--mnist", type=Path, default=Path("../shared/data/mnist"), help="folder of the idx files")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a block")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    tune_process()
    with tempfile.TemporaryDirectory() as workspace:
        for job in options.jobs or ["spiral"]:
            measure(job, options, Path(workspace))


if __name__ == "__main__":
    main()
