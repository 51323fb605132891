"""Preferences of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QListWidget, QStackedWidget, QWidget

from studio.services.app_settings import TEXT_SIZES
from studio.state.context import AppContext
from studio.state.engines import engines_of
from studio.state.moving import find_workspace
from studio.theme import SPACING, theme
from studio.widgets import (
    STRETCH,
    Card,
    PathEdit,
    Segmented,
    Switch,
    button,
    hbox,
    in_widget,
    label,
    resize_within_parent,
    scroll_area,
    vbox,
)
from studio.window.copies import CopyForm
from studio.window.device_choice import DeviceChoice
from studio.window.engine_notice import ENGINES
from studio.window.engines import EngineForms
from studio.window.moving import move_by_dialog
from studio.window.storage import CacheCard
from studio.window.trackers import TrackerForms
from studio.window.tray import has_tray
from studio.window.update_notice import UPDATES
from studio.window.updates import UpdateForm
from training.errors import InputError
from training.runs.workspace import choose_workspace

# For text of the designed size; a screen of 640 lines has room for it, with the frame of a window.
_WIDTH, _HEIGHT = 800, 560
_LIST_WIDTH = 136
_ROW_HEIGHT = 32
_WIDEST = 720  # no line of a section is longer, however wide the dialog is made


@runtime_checkable
class Restartable(Protocol):
    """A window that can have the program started again."""

    def restart(self) -> None:
        """Close, and have that done."""


class PreferencesDialog(QDialog):
    """Sections, with a list of them at the left. What is said of engines, the cache and updates counts at once, the rest is taken over when Save is pressed; another size of the text can be seen at once."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        settings = context.settings.get()
        self.setWindowTitle("Preferences")
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
        self.device = DeviceChoice(context)
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
        self.cache, self.updates = CacheCard(context), UpdateForm(context)
        self.problem = label("", "problem", wrap=True)
        self.problem.hide()
        self._lay_out()

    def _lay_out(self) -> None:
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self._on_accepted)
        buttons.rejected.connect(self.reject)
        scale = theme().font_scale
        self.sections, stack = QListWidget(), QStackedWidget()
        self.sections.setAccessibleName("Sections")
        self.sections.setFixedWidth(round(_LIST_WIDTH * scale))
        for title, area in (
            ("General", self._make_general()),
            ("Training", self._make_training()),
            (ENGINES, self.engines),
            ("Storage", self._make_storage()),
            ("Trackers", self.trackers),
            ("Copies", self.copies),
            (UPDATES, self.updates),
        ):
            self.sections.addItem(title)
            self.sections.item(self.sections.count() - 1).setSizeHint(QSize(0, round(_ROW_HEIGHT * scale)))
            area.setMaximumWidth(round(_WIDEST * scale))
            stack.addWidget(scroll_area(in_widget(hbox((area, _WIDEST), STRETCH, spacing=0)), title))
        self.sections.currentRowChanged.connect(stack.setCurrentIndex)
        self.sections.setCurrentRow(0)
        both = hbox(self.sections, (stack, 1), spacing=SPACING.l)
        vbox((both, 1), self.problem, buttons, parent=self, spacing=SPACING.m, margins=SPACING.l)
        self.finished.connect(engines_of(self._context).forget_problem)
        self.finished.connect(self.trackers.give_up)
        self.finished.connect(self.copies.give_up)
        resize_within_parent(self, round(_WIDTH * scale), round(_HEIGHT * scale))

    def _make_general(self) -> QWidget:
        look = Card("Appearance", "sun")
        look.add(self.theme, self.high_contrast, label("Text size", "field"), self.text_size)
        desktop = Card("Desktop", "system")
        desktop.add(self.keep_awake, self.notify, self.tray)
        return in_widget(vbox(look, desktop, STRETCH, spacing=SPACING.m))

    def _make_training(self) -> QWidget:
        device = Card("Device", "cpu")
        device.add(
            label("New configurations begin with", "field"),
            hbox(self.device, STRETCH),
            label(
                "Presets, from the next one that is chosen or given at the start, and “Reset all settings”. Files, runs and what is on the Setup page now keep theirs.",
                "help",
                wrap=True,
            ),
        )
        window = Card("Engine and window", "activity")
        window.add(
            self.in_process,
            label(
                "For machines that may start no process, and for debugging. Slower beside live curves, and a crash takes the window along.",
                "help",
                wrap=True,
            ),
            label("If the window ends unexpectedly", "field"),
            self.if_window_ends,
            label(
                "What becomes of a run when the window crashes or is killed. Either way the next start finds it again.",
                "help",
                wrap=True,
            ),
        )
        return in_widget(vbox(device, window, STRETCH, spacing=SPACING.m))

    def _make_storage(self) -> QWidget:
        folders = Card("Runs", "folder")
        folders.add(
            label("Workspace", "field"),
            hbox((self.workspace, 1), self.move_workspace),
            label("Another folder is used after restart, as it is. “Move …” takes all runs along.", "help", wrap=True),
        )
        return in_widget(vbox(folders, self.cache, STRETCH, spacing=SPACING.m))

    def show_section(self, title: str) -> None:
        """Bring the section of this title to the front."""
        titles = [self.sections.item(row).text() for row in range(self.sections.count())]
        self.sections.setCurrentRow(titles.index(title))

    def reject(self) -> None:
        """Leave all as it was, the size of the text included, which was shown at once."""
        self._context.settings.update(text_size=self._text_size_before)
        super().reject()

    def _refuse_workspace(self, text: str) -> str:
        """What is wrong with it; a folder that was chosen before may be on a drive that is away."""
        if text and text != self._context.settings.get().workspace:
            try:
                choose_workspace(text)
            except InputError as error:
                self.show_section("Storage")
                return str(error)
        return ""

    def _save_far_ends(self) -> str:
        """Write what is said of trackers and copies; returns what is wrong with it, with nothing written where that is a setting."""
        far_ends: dict[str, TrackerForms | CopyForm] = {"Trackers": self.trackers, "Copies": self.copies}
        steps: list[tuple[str, Callable[[], object]]] = [(title, forms.settings) for title, forms in far_ends.items()]
        steps += [(title, forms.save) for title, forms in far_ends.items()]
        for title, step in steps:
            try:
                step()
            except InputError as error:
                self.show_section(title)
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
        problem = self._refuse_workspace(workspace) or self._save_far_ends()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if problem:
            return
        self._context.settings.update(
            theme=self.theme.current(),
            high_contrast=self.high_contrast.isChecked(),
            device=self.device.device(),
            engine_in_process=self.in_process.isChecked(),
            keep_awake=self.keep_awake.isChecked(),
            notify=self.notify.isChecked(),
            tray=self.tray.isChecked(),
            keep_training=self.if_window_ends.current() == "keep",
            workspace=workspace,
        )
        self.accept()


def open_preferences(context: AppContext, parent: QWidget, section: str = "") -> None:
    """Show them until they are closed, at a section where one is named."""
    dialog = PreferencesDialog(context, parent)
    if section:
        dialog.show_section(section)
    before = context.settings.get().workspace
    dialog.exec()
    dialog.deleteLater()
    if not isinstance(parent, Restartable):
        return
    if dialog.is_restart_asked:
        parent.restart()
    elif context.settings.get().workspace != before and find_workspace(context.settings) != context.workspace:
        words = f"Until the next start the workspace is {context.workspace}."
        context.notifier.notify(words, "info", title="Another workspace", action_text="Restart", action=parent.restart)
