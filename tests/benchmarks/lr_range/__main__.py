"""The learning-rate range test against whole grids of rates: ``python -m tests.benchmarks.lr_range [JOB ...] --data FOLDER``.

Eight small jobs (``jobs``). Each is trained at seven rates on three seeds, to its end. Then the study is carried out on each of these
seeds, and the job trained at the rate it proposes; and at the one that its valley alone, fastai's valley and Lightning's suggestion
say of the same curve (``peers``, where ``--peers-python`` names a Python that has both; they know one curve, the first). Told is the regret:
by how much the metric at the end is worse than at the grid's best rate, seed by seed. What is done already in the folder of ``--out``
is not done again: remove ``JOB/studies`` there to try the study anew against the same runs.

All runs are made in this process, one thread each; nothing here depends on the time it takes.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from tests.benchmarks.kept import keep
from tests.benchmarks.lr_range.jobs import HELD_OUT, JOBS, Job
from training.config import RunConfig
from training.config.files import config_data
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import resume_run, start_run
from training.errors import TrainingError
from training.laboratory.child import Ended, Interrupt, Say
from training.metric_names import metric, show_metric
from training.runs.folder import RunFolder
from training.studies.cost import measure_cost
from training.studies.folder import create_study, make_plan
from training.studies.lr_range import study as lr_range
from training.studies.lr_range.ramp import choose_band, read_losses, with_rate
from training.studies.records import Cost
from training.studies.trainer import Trainer

SEEDS: Final = (0, 10, 20)
"""Of the runs, and the first of a study's, which takes those that follow, too."""
PEERS: Final = Path(__file__).with_name("peers.py")
WAYS: Final = {"adopted": "adopted", "valley": "our valley", "fastai": "fastai's valley", "lightning": "Lightning"}


def train(config: RunConfig) -> dict[str, float]:
    """The metrics at the end of a run; none where it diverged."""
    with tempfile.TemporaryDirectory() as place:
        record = start_run(config, Path(place))
        return dict(record.metrics) if record.status == "completed" else {}


def train_here(
    run: RunFolder, _say: Say, _interrupt: Interrupt, kill_it: bool = False, look: Callable[[], None] = lambda: None
) -> Ended:
    """A run of a study in this process: what it comes to is the same."""
    hooks = Hooks(flushed=lambda _row, _newest: look(), followed=False)
    record = resume_run(str(run.path), run.path.parent.parent, hooks=hooks)
    return Ended({"completed": 0, "stopped": 130}.get(record.status, 1), record.reason or "")


def carry_out(config: RunConfig) -> dict[str, Any]:
    """The study of ``config`` as ``python -m training study lr-range`` does it: the rate, the details, and each replicate's losses."""
    cost = Cost.model_validate(measure_cost(config_data(config)))
    draft = lr_range.plan(config, {}, cost)
    place = Path(tempfile.mkdtemp())
    began = time.process_time()
    with patch("training.studies.trainer.train", train_here):
        study = create_study(place, make_plan("lr-range", config, {}, cost, draft))
        try:
            result = lr_range.carry_out(study.plan(), Trainer(study, lambda _line: None, Interrupt()))
        except TrainingError as error:
            raise SystemExit(f"{config.name}, seed {config.seed}: {error}; look into {place}") from error
    names: Any = result.details["runs"]
    losses = [
        read_losses(RunFolder(place / "runs" / names[key])).tolist() for key in sorted(names) if key.startswith("ramp")
    ]
    shutil.rmtree(place)
    return {
        "adopted": next(iter(result.adopt.values()), math.nan),
        "sentence": result.sentence,
        "notes": list(result.notes),
        "details": dict(result.details),
        "losses": losses,
        "rates": choose_band(config, None, lr_range.USUAL_STEPS).rates().tolist(),
        "seconds": time.process_time() - began,
    }


def ask_peers(python: Path | None, study: Mapping[str, Any]) -> dict[str, list[float]]:
    """What others suggest of each replicate's curve; nothing without a Python that has them."""
    if python is None:
        return {}
    curves = json.dumps([{"rates": study["rates"], "losses": losses} for losses in study["losses"]])
    done = subprocess.run([python, PEERS], input=curves, capture_output=True, text=True, check=True)
    answer: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return answer


class Bench:
    """A job with all that is known of it in its folder."""

    def __init__(self, job: Job, data: Path, out: Path, peers: Path | None) -> None:
        self.job, self.place, self.peers = job, out / job.name, peers
        self.config = job.configure(data, self.place)
        self.sign = -1.0 if metric(self.config.monitor).maximize else 1.0

    def final(self, rate: float, seed: int) -> float:
        """The monitored metric at the end of a run; NaN where it diverged."""
        config = with_rate(self.config, rate).model_copy(update={"seed": seed})
        metrics = keep(self.place / "finals" / f"{rate:.2g}-{seed}.json", partial(train, config))
        return float(metrics.get(self.config.monitor, math.nan))

    def grid(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Of each rate on each seed."""
        return np.array([[self.final(rate, seed) for seed in SEEDS] for rate in self.job.rates()])

    def studies(self) -> list[dict[str, Any]]:
        """Of each seed, with what others suggest."""
        found = []
        for seed in SEEDS:
            config = self.config.model_copy(update={"seed": seed})
            study = keep(self.place / "studies" / f"{seed}.json", partial(carry_out, config))
            if self.peers is not None:
                asked = keep(self.place / "studies" / f"{seed}-peers.json", partial(ask_peers, self.peers, study))
                study |= asked
            found.append(study)
        return found

    def suggestions(self, way: str) -> list[float]:
        """The rates in the order of the seeds."""
        if way == "adopted":
            return [study["adopted"] for study in self.studies()]
        if way == "valley":
            return [study["details"]["valley"] for study in self.studies()]
        return [study[way][0] for study in self.studies() if way in study]

    def report(self) -> list[str]:
        """A line for the grid, and one for each way to choose."""
        values, rates = self.grid(), self.job.rates()
        means = np.where(np.isfinite(values).all(axis=1), values.mean(axis=1), self.sign * math.inf)
        best = int(np.argmin(self.sign * means))
        error = measure_error(values, best)
        name = self.config.monitor
        swept = ", ".join(f"{rate:g}: {show(name, mean)}" for rate, mean in zip(rates, means, strict=True))
        lines = [
            f"{self.job.name}: {name}, {swept}",
            f"  best {rates[best]:g}: {show(name, means[best])}; standard error of a difference {error:.2g}",
        ]
        for way, title in WAYS.items():
            chosen = self.suggestions(way)
            if not chosen:
                continue
            finals = [
                self.final(rate, seed) if math.isfinite(rate) else math.nan
                for rate, seed in zip(chosen, SEEDS, strict=True)
            ]
            regrets = self.sign * (np.array(finals) - values[best])
            regret = float(regrets.mean())
            spread = float(regrets.std(ddof=1)) / math.sqrt(len(regrets))
            within = "within 1 SE" if regret <= error else f"{regret / error:.1f} SE"
            lines.append(
                f"  {title:16} {', '.join(f'{rate:.2g}' for rate in chosen):28} regret {regret:.3g} ± {spread:.2g}, {within}"
            )
        return lines


def show(name: str, value: float) -> str:
    """ "97.1%"."""
    return show_metric(name, value) if math.isfinite(value) else "diverged"


def measure_error(values: np.ndarray[Any, np.dtype[np.float64]], best: int) -> float:
    """The standard error of the difference of two rates' means over the seeds: from what is left of the best rate and its neighbours when
    each rate's and each seed's mean is taken off. A single difference's own would rest on three numbers."""
    near = values[max(best - 1, 0) : best + 2]
    near = near[np.isfinite(near).all(axis=1)]
    left = near - near.mean(axis=1, keepdims=True) - near.mean(axis=0) + near.mean()
    freedom = max((len(near) - 1) * (near.shape[1] - 1), 1)
    return math.sqrt(float(np.square(left).sum()) / freedom * 2.0 / near.shape[1])


def main() -> None:
    """Do what is not done yet, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "jobs", nargs="*", metavar="JOB", help=f"of {', '.join(JOBS)} (all of these), {', '.join(HELD_OUT)}"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with mnist, tables, text and camvid-small.tar.xz"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/benchmarks/lr_range"), help="where the results are kept"
    )
    parser.add_argument("--peers-python", type=Path, help="a Python that has fastai and Lightning")
    parser.add_argument("--grid-only", action="store_true", help="no studies")
    arguments = parser.parse_args()
    chosen: Sequence[str] = arguments.jobs or list(JOBS)
    for name in chosen:
        bench = Bench({**JOBS, **HELD_OUT}[name], arguments.data, arguments.out, arguments.peers_python)
        if arguments.grid_only:
            bench.grid()
        else:
            print("\n".join(bench.report()), flush=True)


if __name__ == "__main__":
    main()
