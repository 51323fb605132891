"""One tracker of a run brought up to date."""

from __future__ import annotations

import time
from collections.abc import Callable

from training.errors import TrainingError
from training.runs.folder import RunFolder
from training.sidecars.faults import Away, Refused
from training.sidecars.keys import provide_keys
from training.tracking import facts
from training.tracking.cursor import Cursor, read_cursor
from training.tracking.ledger import Ledger
from training.tracking.settings import VARIABLES, Name, TrackerSettings, place_of
from training.tracking.target import Target
from training.tracking.to_mlflow import MLflowTarget
from training.tracking.to_tensorboard import TensorBoardTarget
from training.tracking.to_wandb import WandBTarget

_AT_ONCE = 2000  # steps
_LONGEST_REST = 60.0
_TARGETS: dict[Name, Callable[..., Target]] = {
    "tensorboard": TensorBoardTarget,
    "mlflow": MLflowTarget,
    "wandb": WandBTarget,
}


class Delivery:
    """Sends what a tracker does not have yet. ``problem`` says why it has not, "" while all goes well; ``given_up`` that trying again
    would not help."""

    def __init__(self, folder: RunFolder, ledger: Ledger, tracker: Name, settings: TrackerSettings) -> None:
        self.tracker, self.problem, self.given_up = tracker, "", False
        self._folder, self._ledger, self._settings = folder, ledger, settings
        self._cursor = read_cursor(folder, tracker)
        if self._cursor.place != place_of(
            getattr(settings, tracker), folder
        ):  # it was sent elsewhere: nothing of it is there
            self._cursor = Cursor(place=place_of(getattr(settings, tracker), folder))
        self._target: Target | None = None
        self._rest, self._next_try = 1.0, 0.0
        self._late = tracker == "wandb" and settings.wandb.mode == "offline"  # one run, from the complete points

    @property
    def waits(self) -> int:
        """How many steps are still to be sent."""
        return max(self._ledger.steps - self._cursor.steps, 0)

    def is_done(self, ended: str) -> bool:
        """Whether all is there, the end too, if there is one yet."""
        return self._cursor.ended == ended and not self.waits and self._measured_all()

    def _measured_all(self) -> bool:
        return self._cursor.measured >= len(self._ledger.measured)

    def forget_from(self, step: int, words: str) -> None:
        """Points from ``step`` on are not what was sent."""
        measured = next(
            (at for at, item in enumerate(self._ledger.measured) if item.step >= step), len(self._ledger.measured)
        )
        if step > self._cursor.steps and measured >= self._cursor.measured:
            return  # nothing of that was sent
        self._cursor.notes = [*self._cursor.notes, words]
        self._cursor.steps = min(self._cursor.steps, step - 1)
        self._cursor.measured = min(self._cursor.measured, measured)
        if self._target is not None:
            self._target.forget_from(step)
        else:
            self._cursor.sent = {**self._cursor.sent, "forget": str(step)}
        self._cursor.save(self._folder, self.tracker)

    def send(self, ended: str) -> None:
        """Send what is new; ``ended`` is how the run ended, "" while it is at work. Whatever goes wrong is kept as ``problem``."""
        nothing_new = not self.waits and self._measured_all() and not ended
        if self.given_up or self.is_done(ended) or time.monotonic() < self._next_try or nothing_new:
            return
        if self._late and not ended:
            self.problem = "W&B's offline files are written when the run ends."
            return
        try:
            self._send_all(ended)
            self.problem, self._rest = "", 1.0
        except Away as error:
            self.problem, self._target = str(error), None
            self._next_try = time.monotonic() + self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
        except (Refused, TrainingError) as error:
            self.problem, self.given_up = str(error), True
        self._cursor.problem = self.problem
        self._cursor.save(self._folder, self.tracker)

    def _send_all(self, ended: str) -> None:
        target = self._target or self._open()
        self._target = target
        while self.waits or not self._measured_all():
            rows = self._ledger.read_points(self._cursor.steps + 1, self._cursor.steps + _AT_ONCE)
            target.send_points(rows)
            reached = self._cursor.steps + len(rows)
            left = self._ledger.measured[self._cursor.measured :]
            # In the order of the steps: Weights & Biases drops what comes late.
            measured = [item for item in left if item.step <= reached] if len(rows) else left
            target.send_measured(measured)
            target.commit()
            self._cursor.steps += len(rows)
            self._cursor.measured += len(measured)
            self._cursor.save(self._folder, self.tracker)
        if ended:
            self._send_files(target)
            target.commit()
            target.end(facts.collect_final(self._folder))
            if self.tracker == "tensorboard":
                target.commit()
            self._cursor.ended = ended
            target.close()
            self._target = None

    def _open(self) -> Target:
        cursor = self._cursor
        note = provide_keys(VARIABLES[self.tracker])
        if note and note not in cursor.notes:
            cursor.notes = [*cursor.notes, note]
        target = _TARGETS[self.tracker](self._folder, getattr(self._settings, self.tracker), cursor)
        target.open(facts.collect_settings(self._folder), facts.collect_tags(self._folder))
        cursor.steps = min(cursor.steps, self._ledger.steps)
        if step := cursor.sent.pop("forget", ""):
            target.forget_from(int(step))
            cursor.sent = {name: digest for name, digest in cursor.sent.items() if " at step " not in name}
        cursor.ended = ""
        cursor.save(self._folder, self.tracker)
        return target

    def _send_files(self, target: Target) -> None:
        for name, content in facts.collect_files(self._folder).items():
            if self._cursor.sent.get(name) is None or self._cursor.take(name, content):
                target.send_file(name, content)
                self._cursor.take(name, content)
        for name, (step, png) in facts.draw_images(self._folder, self._ledger).items():
            if self._cursor.take(f"{name} at step {step}", png):
                target.send_image(name, step, png)
