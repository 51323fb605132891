"""The one button of a page that goes on with a run: from its last checkpoint, or from the selected one."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QWidget

from studio.actions.runs import resume_from
from studio.engine.state import ENDED, RunState
from studio.state.context import AppContext
from studio.state.runs.way_on import LONGER, RESUME, START_OVER, way_on
from studio.theme import Variant, icon, set_property
from studio.widgets import button, dress_button, hand_keyboard_on, hbox
from training.runs.folder import RunFolder
from training.runs.records.manifest import CheckpointInfo


class ResumeButton(QWidget):
    """``main`` says what it does; ``more`` opens both ways. Hidden while a run has not ended. Of a run that left no checkpoint
    it is *Start over*; one that completed goes on from an older checkpoint only."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._folder: RunFolder | None = None
        self._chosen: CheckpointInfo | None = None
        self._from_chosen = False  # what `main` does
        self._longer_from: CheckpointInfo | None = None  # the end of a complete run, from which a branch goes on
        self.main = button(RESUME.verb, clicked=self._go_on)
        self.more = button("")
        self.more.setAccessibleName("Choose where to resume from")
        self.more.setToolTip("From the last checkpoint, or from the selected one")
        menu = QMenu(self.more)
        self.last = menu.addAction(icon("resume"), "")
        self.selected = menu.addAction(icon("clock"), "")
        self.last.triggered.connect(self._go_on_from_last)
        self.selected.triggered.connect(self._go_on_from_chosen)
        self.more.setMenu(menu)
        set_property(self.main, "split", "left")
        set_property(self.more, "split", "right")
        hbox(self.main, self.more, parent=self, spacing=0)
        hand_keyboard_on(self, self.main)
        self.set_primary(False)
        self.hide()

    def set_primary(self, on: bool) -> None:
        """Whether it is what a person most likely wants next."""
        variant: Variant = "primary" if on else "secondary"
        dress_button(self.main, "resume", variant)
        dress_button(self.more, "chevron-down", variant)

    def show_ways(
        self,
        folder: RunFolder | None,
        state: RunState,
        done_at: int | None,
        last: CheckpointInfo | None,
        chosen: CheckpointInfo | None,
    ) -> None:
        """Say what can be done with the run in ``folder``; ``done_at``: the step at which it completed."""
        self._folder, self._chosen = folder, chosen
        self.setVisible(folder is not None and state in ENDED)
        if self.isHidden():
            return
        way, problem = way_on(folder), self._context.start_problem()
        completed = state is RunState.COMPLETED
        older = chosen is not None and chosen.step != done_at and (completed or chosen != last)
        self._from_chosen = completed and older
        self._longer_from = last if completed and not older and way is RESUME else None
        self.main.setEnabled(not problem and (older or not completed or self._longer_from is not None))
        self.more.setVisible(way is RESUME)
        self.more.setEnabled(not problem and (older or not completed))
        self.last.setEnabled(not completed)
        self.selected.setEnabled(older)
        at_last = f", step {last.step:,}" if last else ""
        at_chosen = f"step {chosen.step:,}" if chosen else ""
        self.last.setText(f"From the last checkpoint{at_last}" + (": the run is complete" if completed else ""))
        self.selected.setText(
            f"From the selected checkpoint, {at_chosen} …"
            if older
            else "From the selected checkpoint: select an older one in the list"
        )
        if way is START_OVER:
            text, tip = way.verb, way.tooltip
        elif self._from_chosen:
            text, tip = f"Resume from {at_chosen} …", "Continue this run from the selected checkpoint"
        elif completed:
            reached = f" at step {done_at:,}" if done_at is not None else ""
            text, tip = "Train longer …", f"The run is complete{reached}. {LONGER}"
        else:
            text, tip = "Resume from last", f"{way.tooltip}{at_last}"
        self.main.setText(text)
        self.main.setToolTip(problem or tip)
        set_property(self.main, "split", "left" if way is RESUME else "")

    def _go_on(self) -> None:
        if self._from_chosen:
            self._go_on_from_chosen()
        elif self._longer_from is not None and self._folder is not None:
            self._context.branch_from(self._folder, self._longer_from)
        else:
            self._go_on_from_last()

    def _go_on_from_last(self) -> None:
        if self._folder is not None:
            self._context.resume(self._folder.path)

    def _go_on_from_chosen(self) -> None:
        if self._folder is not None and self._chosen is not None:
            resume_from(self._context, self, self._folder, self._chosen)
