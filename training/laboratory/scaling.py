"""How much faster a run is in several processes than in one: some seconds of its own steps, timed in each way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from training.config import RunConfig
from training.control import Command, send
from training.errors import InputError, TrainingError
from training.events import Finding
from training.findings.machine import ENOUGH_GAIN, SCALING
from training.laboratory.child import Interrupt, Say, train
from training.runs.folder import RunFolder, create_run
from training.runs.records.history import History
from training.runs.records.series import FLUSH_ROW, count_rows, read_series

SECONDS = 5.0
"""Of steps, that are timed in each way."""
_WARM_ROWS = 5
_PATIENCE = 300.0  # seconds until the first step
_ENDLESS = 10**6


@dataclass(frozen=True)
class Scaling:
    """Samples a second of one process, whose batches are not cut, and of ``count``; ``on_gpus``: each has a GPU of its own, else they share
    the CPU that one process has for itself."""

    count: int
    one: float
    all: float
    on_gpus: bool

    @property
    def factor(self) -> float:
        """How many times as fast as one process."""
        return self.all / self.one

    @property
    def share(self) -> float:
        """Of what there is to be gained: as many times one process as there are devices."""
        return self.factor / (self.count if self.on_gpus else 1)

    @property
    def is_poor(self) -> bool:
        """Whether it is to be warned of."""
        return self.share < ENOUGH_GAIN

    def __str__(self) -> str:
        rates = f"{self.all:,.0f} against {self.one:,.0f} samples/s"
        text = f"{self.factor:.1f} x of one process ({rates})"
        if not self.is_poor:
            return f"{text}."
        if self.on_gpus:
            return f"{text}: {self.share:.0%} of what {self.count} GPUs could do. Larger batches, or fewer processes, waste less."
        return f"{text}: they are slower than one process that has all cores."

    def find(self) -> Finding:
        """What a run that begins so is told."""
        numbers = {"processes": self.count, "one": self.one, "all": self.all}
        title = f"{self.count} processes: {self}"
        if not self.is_poor:
            return SCALING.find("info", title, evidence=numbers)
        advice = "" if self.on_gpus else "Stop the run, and begin it without --ranks."
        return SCALING.find("warning", title, advice, evidence=numbers)


def estimate_cost(startup: float) -> float:
    """Seconds that ``measure_scaling`` takes of a run that needs ``startup`` of them until its first step, and that begins once more after it."""
    return 3 * startup + 2 * SECONDS


def measure_scaling(
    config: RunConfig,
    count: int,
    interrupt: Interrupt,
    say: Say = lambda words: None,
    place: Path | None = None,
    look: Callable[[], object] = lambda: None,
) -> Scaling:
    """Train the model of ``config`` for some seconds in one process and in ``count``, each in a folder in ``place`` (the system's for temporary
    files where there is none) that is gone afterwards; ``look`` is called all the while. Raises TrainingError where it cannot be trained so,
    or ``interrupt`` asks for an end."""
    slots = config.loop.slots if config.loop.slots > 1 else count
    one, _ = _time(config, 1, 1, interrupt, say, place, look)
    together, device = _time(config, slots, count, interrupt, say, place, look)
    return Scaling(count, one, together, on_gpus="CPU" not in device)


def _time(
    config: RunConfig,
    slots: int,
    count: int,
    interrupt: Interrupt,
    say: Say,
    place: Path | None,
    look: Callable[[], object],
) -> tuple[float, str]:
    """Samples a second, and on what."""
    processes = "one process" if count == 1 else f"{count} processes"
    say(f"Timing {processes} …")
    with TemporaryDirectory(prefix="trainwright-", dir=place, ignore_cleanup_errors=True) as folder:
        run = create_run(Path(folder), _let_go_on(config, slots))
        watch = _Watch(run)

        def look_at_both() -> None:
            watch.look()
            look()

        options = ("--made", "--ranks", str(count))
        ended = train(run, lambda words: None, interrupt, look=look_at_both, options=options)
        if interrupt.asked:
            raise InputError("The timing was ended before it was done.")
        rates = watch.read_rates()
        if not watch.is_done or not rates:
            words = ended.words.splitlines()[-1].strip() if ended.words else f"It ended with exit code {ended.code}."
            raise TrainingError(f"It could not be timed in {processes}: {words}")
        return median(rates), watch.device


def _let_go_on(config: RunConfig, slots: int) -> RunConfig:
    """The same steps without an end, and no more written than has to be."""
    loop = {
        "slots": slots, "epochs": _ENDLESS, "max_steps": None, "validate_every_steps": None, "early_stopping_patience": None,
        "stopping_threshold": None, "swa_start": None, "keep_predictions": False,
    }  # fmt: skip
    saved = {"every_steps": 10**9, "keep_last": 1}
    return config.model_copy(
        update={
            "loop": config.loop.model_copy(update=loop),
            "checkpoints": config.checkpoints.model_copy(update=saved),
        }
    )


class _Watch:
    """Lets a run go on until enough of its steps are timed."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._began = time.monotonic()
        self._due: float | None = None
        self.is_done = False

    @property
    def device(self) -> str:
        """What it is computed on."""
        history = History(self._run.events_file)
        history.poll()
        return history.attempts[-1].device if history.attempts else ""

    def look(self) -> None:
        """Ask for its end, when that is due."""
        now = time.monotonic()
        if self._due is None and count_rows(self._run.telemetry_file, FLUSH_ROW) > _WARM_ROWS:
            self._due = now + SECONDS
        if not self.is_done and now >= (self._due or self._began + _PATIENCE):
            self.is_done = True
            send(self._run.path, Command.STOP_NOW)

    def read_rates(self) -> list[float]:
        """Samples a second, look by look, once it was warm."""
        rows = read_series(self._run.telemetry_file, FLUSH_ROW)[_WARM_ROWS:]
        return [float(rate) for rate in rows["samples_per_second"]]
