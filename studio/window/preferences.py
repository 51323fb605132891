"""Preferences of the program."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QStackedWidget, QTabBar, QWidget

from studio.services.app_settings import TEXT_SIZES
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, Card, PathEdit, Segmented, Switch, button, hbox, in_widget, label, scroll_area, vbox
from studio.window.copies import CopyForm
from studio.window.engine_notice import ENGINES
from studio.window.engines import EngineForms
from studio.window.moving import move_by_dialog
from studio.window.trackers import TrackerForms
from studio.window.tray import has_tray
from studio.window.update_notice import UPDATES
from studio.window.updates import UpdateForm
from training.errors import InputError

_WIDTH = 600
_HIGHEST = 700
_FRAME = 140  # pixels of height for tabs and buttons


@runtime_checkable
class Restartable(Protocol):
    """A window that can have the program started again."""

    def restart(self) -> None:
        """Close, and have that done."""


class PreferencesDialog(QDialog):
    """Appearance, training, folders; engines; trackers; copies; updates. What is said of engines and updates counts at once, the rest is taken over when Save is pressed; another size of the text can be seen at once."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        settings = context.settings.get()
        self.setWindowTitle("Preferences")
        self.setMinimumWidth(_WIDTH)
        self.theme = Segmented((("system", "System"), ("light", "Light"), ("dark", "Dark")))
        self.theme.set_current(settings.theme)
        self.high_contrast = Switch("High contrast, even where the system does not ask for it")
        self.high_contrast.setChecked(settings.high_contrast)
        self._text_size_before = settings.text_size
        self.text_size = Segmented([(str(size), f"{size}%") for size in TEXT_SIZES])
        self.text_size.setAccessibleName("Text size")
        if settings.text_size in TEXT_SIZES:
            self.text_size.set_current(str(settings.text_size))
        self.text_size.current_changed.connect(lambda size: context.settings.update(text_size=int(size)))
        self.in_process = Switch("Run the engine inside the window")
        self.in_process.setChecked(settings.engine_in_process)
        self.if_window_ends = Segmented(
            (("keep", "Keep training in the background"), ("stop", "Stop && save checkpoint"))
        )
        self.if_window_ends.set_current("keep" if settings.keep_training else "stop")
        self.if_window_ends.setAccessibleName("If the window ends unexpectedly")
        self.keep_awake = Switch("Keep the computer awake while training")
        self.keep_awake.setChecked(settings.keep_awake)
        self.notify = Switch("Notify when work ends")
        self.notify.setChecked(settings.notify)
        self.notify.setToolTip(
            "By the desktop, when a run, a study, a sweep or the queue ends and another window is in front."
        )
        self.tray = Switch("Icon in the tray")
        self.tray.setChecked(settings.tray)
        self.tray.setToolTip(
            "Closing the window then leaves the program there, with all that is at work; “Quit” ends it."
            if has_tray()
            else "This desktop has no tray."
        )
        self.tray.setEnabled(has_tray() or settings.tray)
        self.workspace = PathEdit("folder", title="Choose the workspace")
        self.workspace.set_placeholder(str(context.workspace))
        self.workspace.line_edit.setAccessibleName("Workspace")
        self.workspace.set_path(settings.workspace)
        self.move_workspace = button(
            "Move …", tooltip="Move the workspace with all that is in it", clicked=self._on_move_workspace
        )
        self.is_restart_asked = False  # the workspace is elsewhere now
        self.engines, self.trackers, self.copies = EngineForms(context), TrackerForms(context), CopyForm(context)
        self.updates = UpdateForm(context)
        self.problem = label("", "problem", wrap=True)
        self.problem.hide()
        self._lay_out()

    def _lay_out(self) -> None:
        look = Card("Appearance", "sun")
        look.add(self.theme, self.high_contrast, label("Text size", "field"), self.text_size)
        engine = Card("Training", "cpu")
        engine.add(
            self.in_process,
            label(
                "For machines that may start no process, and for debugging. Slower beside live curves, and a crash takes the window along.",
                "help",
                wrap=True,
            ),
            self.keep_awake,
            self.notify,
            self.tray,
            label("If the window ends unexpectedly", "field"),
            self.if_window_ends,
            label(
                "What becomes of a run when the window crashes or is killed. Either way the next start finds it again.",
                "help",
                wrap=True,
            ),
        )
        folders = Card("Runs", "folder")
        folders.add(
            label("Workspace", "field"),
            hbox((self.workspace, 1), self.move_workspace),
            label("Another folder is used after restart, as it is. “Move …” takes all runs along.", "help", wrap=True),
        )
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self._on_accepted)
        buttons.rejected.connect(self.reject)
        general = in_widget(vbox(look, engine, folders, STRETCH, spacing=SPACING.m))
        stack, tabs = QStackedWidget(), QTabBar()
        areas = (
            ("General", general),
            (ENGINES, self.engines),
            ("Trackers", self.trackers),
            ("Copies", self.copies),
            (UPDATES, self.updates),
        )
        for title, area in areas:
            tabs.addTab(title)
            stack.addWidget(scroll_area(area, title))
        tabs.currentChanged.connect(stack.setCurrentIndex)
        self.tabs = tabs
        vbox(tabs, (stack, 1), self.problem, buttons, parent=self, spacing=SPACING.m, margins=SPACING.l)
        self.finished.connect(self.trackers.give_up)
        self.finished.connect(self.copies.give_up)
        # A window's own hint knows nothing of wrapped lines, and a scroll area's nothing of its content.
        # No more than small screens have; they are not asked, as QWidget.screen() of PySide6 6.11 may delete the QScreen with the widget.
        parent = self.parentWidget()
        highest = min(_HIGHEST, parent.window().height()) if parent is not None else _HIGHEST
        self.resize(_WIDTH, min(general.heightForWidth(_WIDTH - 2 * SPACING.l) + _FRAME, highest))

    def show_tab(self, title: str) -> None:
        """Bring the tab of this title to the front."""
        titles = [self.tabs.tabText(index) for index in range(self.tabs.count())]
        self.tabs.setCurrentIndex(titles.index(title))

    def reject(self) -> None:
        """Leave all as it was, the size of the text included, which was shown at once."""
        self._context.settings.update(text_size=self._text_size_before)
        super().reject()

    def _save_far_ends(self) -> str:
        """Write what is said of trackers and copies; returns what is wrong with it, with nothing written where that is a setting."""
        far_ends: tuple[TrackerForms | CopyForm, ...] = self.trackers, self.copies
        steps = [(forms, forms.settings) for forms in far_ends] + [(forms, forms.save) for forms in far_ends]
        for forms, step in steps:
            try:
                step()
            except InputError as error:
                self.tabs.setCurrentIndex(2 + far_ends.index(forms))
                return str(error)
        return ""

    @Slot()
    def _on_move_workspace(self) -> None:
        if move_by_dialog(self._context, self):
            self.is_restart_asked = True
            self.reject()

    @Slot()
    def _on_accepted(self) -> None:
        workspace = self.workspace.path().strip()
        problem = ""
        if workspace and Path(workspace).expanduser().is_file():
            problem = f"{workspace} is a file. Choose a folder for the runs."
        else:
            problem = self._save_far_ends()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if problem:
            return
        self._context.settings.update(
            theme=self.theme.current(),
            high_contrast=self.high_contrast.isChecked(),
            engine_in_process=self.in_process.isChecked(),
            keep_awake=self.keep_awake.isChecked(),
            notify=self.notify.isChecked(),
            tray=self.tray.isChecked(),
            keep_training=self.if_window_ends.current() == "keep",
            workspace=workspace,
        )
        self.accept()


def open_preferences(context: AppContext, parent: QWidget, tab: str = "") -> None:
    """Show them until they are closed, at a tab where one is named."""
    dialog = PreferencesDialog(context, parent)
    if tab:
        dialog.show_tab(tab)
    dialog.exec()
    if dialog.is_restart_asked and isinstance(parent, Restartable):
        parent.restart()
