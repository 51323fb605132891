"""The head of a study or a sweep: what it is called, how it stands, and what can be done with the whole of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.actions.files import reveal
from studio.actions.places import compare_runs, list_runs
from studio.actions.question import Answer, ask
from studio.actions.runs import throw_away_runs
from studio.pages.studies.words import name_state
from studio.state.context import AppContext
from studio.state.found_list import State
from studio.state.side_job import FolderJob
from studio.theme import SPACING
from studio.widgets import StatusPill, button, flow_box, hbox, icon_button, label, make_breakable, vbox
from training.errors import pluralize
from training.runs.folder import RunFolder
from training.runs.records.about import name_of, read_about

_ELSEWHERE = "Another process works on it."
_TO_BEGIN = ("planned", "stopped", "failed")


class SetHead(QWidget):
    """``one`` names what it is: a study, a sweep. ``more`` are buttons of that one alone; ``begin`` begins it, or says why that cannot be now.

    Signals: `removed(str)`: the one that is shown is about to be deleted.
    """

    removed = Signal(str)

    def __init__(
        self, context: AppContext, one: str, job: FolderJob, begin: Callable[[], str], more: Collection[QWidget] = ()
    ) -> None:
        super().__init__()
        self._context, self._one, self._job, self._begin = context, one, job, begin
        self._folder: Path | None = None
        self.title = label("", "title", wrap=True)
        self.pill = StatusPill()
        self.about = label("", "help", wrap=True)
        self.go_on = button("Go on", "play", "primary", clicked=self._go_on)
        self.stop = button("Stop", "stop", tooltip="What is done is kept; it goes on from there", clicked=job.stop)
        self.show_runs = button("Show its runs", "runs", clicked=lambda: self._list_runs(list_runs))
        self.compare = button("Compare them", "chart", clicked=lambda: self._list_runs(compare_runs))
        self.reveal = icon_button("folder", "Show its folder", clicked=self._reveal)
        self.delete = icon_button("trash", "")
        self.obstacle = label("", "help", wrap=True)
        acts = flow_box(self.go_on, self.stop, *more, self.show_runs, self.compare, self.reveal, self.delete)
        vbox(hbox((self.title, 1), self.pill), self.about, acts, self.obstacle, parent=self, spacing=SPACING.m)

    def show_one(self, folder: Path, title: str, about: str, state: State, fraction: float | None) -> None:
        """What it is and how it stands."""
        self._folder = folder
        self.title.setText(make_breakable(title))
        self.about.setText(make_breakable(about))
        self.pill.set_status(*name_state(state, fraction, folder, self._job))
        ours = self._job.is_at(folder)
        self.stop.setVisible(ours)
        self.stop.setEnabled(not self._job.is_stopping)
        at_work = ours or state == "working"
        self.delete.setEnabled(not at_work)
        self.delete.setToolTip("Stop it first" if at_work else f"Delete this {self._one} …")

    def show_way_on(self, state: State, obstacle: str) -> None:
        """Whether it can be begun or gone on with; ``obstacle`` says why not."""
        ours = self._folder is not None and self._job.is_at(self._folder)
        can = state in _TO_BEGIN and not ours
        said = obstacle if can else _ELSEWHERE if state == "working" and not ours else ""
        self.go_on.setVisible(can)
        self.go_on.setText(f"Start {self._one}" if state == "planned" else "Go on")
        self.go_on.setEnabled(not obstacle)
        self.go_on.setToolTip(obstacle or "Go on with what is missing")
        self.obstacle.setText(said)
        self.obstacle.setVisible(bool(said))

    def count_runs(self, count: int) -> None:
        """How many ordinary runs it has made."""
        for part in (self.show_runs, self.compare):
            part.setVisible(count > 0)
        self.compare.setEnabled(count > 1)
        tag = self._folder.name if self._folder is not None else ""
        self.show_runs.setToolTip(f"{pluralize(count, 'ordinary run')} with the tag {tag}")

    def ask_and_delete(self, what: str, goes: str, more: str, runs: Collection[RunFolder], remove: Remove) -> None:
        """Delete ``what``, once asked: ``goes`` names all that it consists of, ``more`` says what else is to be known."""
        folder = self._folder
        if folder is None:
            return
        answers = [Answer("set", f"Delete {self._one}")]
        text = f"{goes} are deleted for good."
        if runs:
            text += f" Its {pluralize(len(runs), 'run')} stay, unless you delete them, too: then they go to the trash."
            answers.append(Answer("runs", f"Delete {self._one} and runs", "danger"))
        answer = ask(self, f"Delete {what}?", f"{text} {more}".strip(), answers)
        if not answer:
            return
        if self._job.is_at(folder):
            self._context.notifier.notify(f"This {self._one} is at work. Stop it first.", "warning")
            return
        self.removed.emit(folder.name)
        remove(self._complain, lambda: self._throw_away(runs) if answer == "runs" else None)

    def _throw_away(self, runs: Collection[RunFolder]) -> None:
        """Of one that is gone: while another process works on it, it has to keep its runs."""
        context = self._context
        context.background.submit(
            lambda: {run: name_of(run.status(), read_about(run)) for run in runs if run.path.is_dir()},
            lambda names: throw_away_runs(context, names),
            self._complain,
        )

    def _complain(self, error: Exception) -> None:
        self._context.notifier.notify(str(error), "danger")

    @Slot()
    def _go_on(self) -> None:
        if problem := self._begin():
            self._context.notifier.notify(problem, "warning")

    def _list_runs(self, show: Callable[[AppContext, str], None]) -> None:
        if self._folder is not None:
            show(self._context, f'"{self._folder.name}" in tags')

    @Slot()
    def _reveal(self) -> None:
        if self._folder is not None:
            reveal(self._folder)


Remove = Callable[[Callable[[Exception], object], Callable[[], object]], None]
"""Removes it in the background; the first that it is given is told of a failure, the second is called once it is gone."""
