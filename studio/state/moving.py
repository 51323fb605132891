"""The workspace moved from the window: looked at, moved and deleted in the background."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.services.app_settings import draft_file, read_object, write_object
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from training.errors import Canceled, InputError
from training.moving.kept_paths import Move, make_mover, move_all
from training.moving.move import MoveProgress, delete_old, finish_move, move_workspace
from training.moving.plan import MovePlan, make_plan
from training.runs.workspace import default_workspace
from training.typed_paths import parse_path

logger = logging.getLogger(__name__)

_TELL_SECONDS = 0.05


class Stage(StrEnum):
    """How far a move is."""

    CHOOSING = "choosing"
    LOOKING = "looking"
    MOVING = "moving"
    MOVED = "moved"
    DELETING = "deleting"
    OVER = "over"


class Moving(QObject):
    """One at a time. Once it is ``MOVED`` the settings name the new place, and the window has to be started again.

    Signals:
        changed(): the stage, the plan or the problem is another.
        progressed(): more was copied, or compared.
    """

    changed, progressed = Signal(), Signal()
    _reported = Signal(object)

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._context = context
        self._background = context.background.make_other()
        self.stage = Stage.CHOOSING
        self.plan: MovePlan | None = None
        self.progress = MoveProgress()
        self.problem = ""
        self.is_kept = False  # the old folder is there, too
        self._target = ""
        self._is_canceled = False
        self._reported.connect(self._on_reported)

    @property
    def is_canceling(self) -> bool:
        """Whether it is about to end."""
        return self._is_canceled and self.stage is Stage.MOVING

    def look(self, text: str) -> None:
        """Find out what it takes to move it to the folder ``text``; the last one that was asked for counts."""
        if self.stage not in (Stage.CHOOSING, Stage.LOOKING):
            return
        self._target = text.strip()
        self.plan, self.problem = None, ""
        self.stage = Stage.LOOKING if self._target else Stage.CHOOSING
        if self._target:
            work = partial(_look, self._context.workspace, self._target)
            self._background.submit(work, partial(self._on_looked, text), partial(self._on_refused, text))
        self.changed.emit()

    def begin(self) -> None:
        """Move it as planned."""
        if self.plan is None or self.stage is not Stage.CHOOSING:
            return
        self.stage, self.problem, self._is_canceled = Stage.MOVING, "", False
        self.progress = MoveProgress()
        if self.plan.same_disk:  # a rename cannot be done together with the setting: the next start has to know of it
            self._context.settings.update(workspace_target=str(self.plan.target))
        work = partial(move_workspace, self.plan, self._tell(), self._is_given_up)
        self._background.submit(work, self._on_moved, self._on_not_moved)
        self.changed.emit()

    def cancel(self) -> None:
        """Leave the workspace where it is."""
        self._is_canceled = True
        self.changed.emit()

    def delete_old(self) -> None:
        """Delete the folder that was copied."""
        if self.plan is not None and self.stage is Stage.MOVED and self.is_kept:
            self.stage = Stage.DELETING
            self._background.submit(partial(delete_old, self.plan), self._on_deleted, self._on_not_deleted)
            self.changed.emit()

    def _tell(self) -> Callable[[MoveProgress], None]:
        """Tells this thread now and then: small files are many in a moment."""
        last = 0.0

        def tell(progress: MoveProgress) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _TELL_SECONDS:
                last = now
                self._reported.emit(progress)

        return tell

    def _is_given_up(self) -> bool:
        """Asked by another thread."""
        return self._is_canceled or self._background.is_closed

    def _on_looked(self, text: str, plan: MovePlan) -> None:
        if self.stage is Stage.LOOKING and text.strip() == self._target:
            self.plan, self.stage = plan, Stage.CHOOSING
            self.changed.emit()

    def _on_refused(self, text: str, error: Exception) -> None:
        if self.stage is Stage.LOOKING and text.strip() == self._target:
            self.stage, self.problem = Stage.CHOOSING, _say(error)
            self.changed.emit()

    def _on_reported(self, progress: MoveProgress) -> None:
        self.progress = progress
        self.progressed.emit()

    def _on_moved(self, is_kept: bool) -> None:
        assert self.plan is not None
        move = make_mover(self.plan.workspace, self.plan.target)
        self._context.settings.update(workspace=str(self.plan.target), workspace_target="")
        _follow(self._context.settings, move)
        self._context.draft.replace(move_all(self._context.draft.settings(), move))
        self.stage, self.is_kept = Stage.MOVED, is_kept
        self.changed.emit()

    def _on_not_moved(self, error: Exception) -> None:
        self._context.settings.update(workspace_target="")
        self.stage = Stage.CHOOSING
        self.problem = "" if isinstance(error, Canceled) else _say(error)
        self.changed.emit()

    def _on_deleted(self, _: object) -> None:
        self.stage, self.is_kept = Stage.OVER, False
        self.changed.emit()

    def _on_not_deleted(self, error: Exception) -> None:
        self.stage, self.problem = Stage.MOVED, _say(error)
        self.changed.emit()


def moving_of(context: AppContext) -> Moving:
    """That of a window, made when it is asked for first."""
    return context.findChild(Moving) or Moving(context)


def find_workspace(settings: SettingsStore) -> Path:
    """The folder of all runs: chosen in the preferences, or the usual one; where a process was killed just after it had given it
    another name, that one."""
    said = settings.get()
    try:
        workspace = parse_path(said.workspace) if said.workspace else default_workspace()
    except InputError as error:
        logger.error("The usual workspace is used instead of the chosen one: %s", error)
        workspace = default_workspace()
    if not said.workspace_target:
        return workspace
    target = Path(said.workspace_target)
    if not workspace.exists() and target.is_dir():
        move = make_mover(workspace.absolute(), target)
        workspace = target
        settings.update(workspace=str(target))
        _follow(settings, move)
        write_object(draft_file(), move_all(read_object(draft_file()), move))
    try:
        finish_move(workspace)
    except InputError as error:
        logger.error("A move could not be finished: %s", error)
        return workspace
    settings.update(workspace_target="")
    return workspace


def _follow(settings: SettingsStore, move: Move) -> None:
    """Have the settings name what was moved as it is called now."""
    said = settings.get()
    recent = "\n".join(map(move, said.recent_files.split("\n")))
    settings.update(export_folder=move(said.export_folder), recent_files=recent)


def _look(workspace: Path, text: str) -> MovePlan:
    return make_plan(workspace.absolute(), parse_path(text).absolute())


def _say(error: Exception) -> str:
    if not isinstance(error, InputError):
        logger.error("The workspace could not be moved.", exc_info=error)
    return str(error)
