"""One tracker of a run brought up to date."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile

from training.errors import TrainingError
from training.runs.folder import RunFolder
from training.sidecars.faults import Away, ClientFault, FolderFault, explain_client, explain_folder
from training.sidecars.keys import hide_keys, provide_keys
from training.tracking import facts
from training.tracking.cursor import Cursor, read_cursor
from training.tracking.ledger import Ledger
from training.tracking.settings import KEYS, TITLES, VARIABLES, Name, TrackerSettings, place_of
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
    would not help; ``fault`` is the traceback of an error that nobody foresaw."""

    def __init__(self, folder: RunFolder, ledger: Ledger, tracker: Name, settings: TrackerSettings) -> None:
        """Raises FolderFault where the run's folder cannot be written."""
        self.tracker, self.problem, self.given_up, self.fault = tracker, "", False, ""
        self._folder, self._ledger, self._settings = folder, ledger, settings
        self._cursor, place = read_cursor(folder, tracker), place_of(getattr(settings, tracker), folder)
        if self._cursor.place != place:  # it was sent elsewhere: nothing of it is there
            self._cursor = Cursor(place=place)
        self._target: Target | None = None
        self._rest, self._next_try = 1.0, 0.0
        self._late = tracker == "wandb" and settings.wandb.mode == "offline"  # one run, from the complete points
        self._keep()

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
        cursor = self._cursor
        measured = next(
            (at for at, item in enumerate(self._ledger.measured) if item.step >= step), len(self._ledger.measured)
        )
        if step > cursor.steps and measured >= cursor.measured:
            return  # nothing of that was sent
        cursor.notes = [*cursor.notes, words]
        cursor.steps, cursor.measured = min(cursor.steps, step - 1), min(cursor.measured, measured)
        cursor.forget = min(cursor.forget or step, step)
        self._keep()

    def send(self, ended: str) -> None:
        """Send what is new; ``ended`` is how the run ended, "" while it is at work. Whatever goes wrong is kept as ``problem``; only
        where the run's own folder cannot be written FolderFault is raised."""
        nothing_new = not self.waits and self._measured_all() and not ended
        if self.given_up or self.is_done(ended) or time.monotonic() < self._next_try or nothing_new:
            return
        if self._late and not ended:
            return
        try:
            with explain_client(TITLES[self.tracker]):
                self._send_all(ended)
        except FolderFault:
            raise
        except TrainingError as error:
            if isinstance(error, ClientFault):
                self.fault = self._hide("".join(traceback.format_exception(error.__cause__)))
            self._fail(self._hide(str(error)), isinstance(error, Away))
        else:
            self.problem, self._rest = "", 1.0
        if self._cursor.problem != self.problem:
            self._cursor.problem = self.problem
            self._keep()

    def _hide(self, words: str) -> str:
        return hide_keys(words, VARIABLES[self.tracker])

    def _fail(self, words: str, try_again: bool) -> None:
        """Go back to what is known to be there."""
        target, self._target = self._target, None
        if target is not None:
            with suppress(Exception):  # what went wrong is told already
                target.close()
        self._cursor = self._kept.model_copy(deep=True)
        self.problem, self.given_up = words, not try_again
        self._next_try = time.monotonic() + self._rest
        self._rest = min(2 * self._rest, _LONGEST_REST)

    def _send_all(self, ended: str) -> None:
        target, cursor = self._target or self._open(), self._cursor
        if cursor.forget:
            target.forget_from(cursor.forget)
            cursor.sent = {name: digest for name, digest in cursor.sent.items() if " at step " not in name}
            cursor.forget = 0
        while self.waits or not self._measured_all():
            rows = self._ledger.read_points(cursor.steps + 1, cursor.steps + _AT_ONCE)
            target.send_points(rows)
            reached = cursor.steps + len(rows)
            left = self._ledger.measured[cursor.measured :]
            # In the order of the steps: Weights & Biases drops what comes late.
            measured = [*takewhile(lambda item: item.step <= reached, left)] if len(rows) else left  # noqa: B023 - used at once
            target.send_measured(measured)
            cursor.steps += len(rows)
            cursor.measured += len(measured)
            self._commit(target)
        if ended:
            self._send_files(target)
            self._commit(target)
            target.end(facts.collect_final(self._folder))
            cursor.ended = ended
            self._commit(target)
            self._target = None
            target.close()

    def _open(self) -> Target:
        cursor = self._cursor
        note = provide_keys(KEYS[self.tracker])
        if note and note not in cursor.notes:
            cursor.notes = [*cursor.notes, note]
            self._keep()  # it may be why what follows fails
        target = _TARGETS[self.tracker](self._folder, getattr(self._settings, self.tracker), cursor)
        self._target = target  # to be closed, whatever comes
        target.open(facts.collect_settings(self._folder), facts.collect_tags(self._folder))
        cursor.steps = min(cursor.steps, self._ledger.steps)
        cursor.measured = min(cursor.measured, len(self._ledger.measured))
        cursor.ended = ""
        self._commit(target)
        return target

    def _commit(self, target: Target) -> None:
        """What was sent counts as sent from now on, not before: after a kill or a fault it is sent again from here."""
        target.commit()
        self._keep()

    def _keep(self) -> None:
        with explain_folder(self._folder.tracking, "track"):
            self._cursor.save(self._folder, self.tracker)
        self._kept = self._cursor.model_copy(deep=True)

    def _send_files(self, target: Target) -> None:
        for name, content in facts.collect_files(self._folder).items():
            if self._cursor.lacks(name, content):
                target.send_file(name, content)
                self._cursor.note(name, content)
        for name, (step, png) in facts.draw_images(self._folder, self._ledger).items():
            if self._cursor.lacks(f"{name} at step {step}", png):
                target.send_image(name, step, png)
                self._cursor.note(f"{name} at step {step}", png)
