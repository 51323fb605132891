"""The main window: a rail, a stack of pages, a status strip. A shell; what is shown is the pages' business."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, Signal, Slot
from PySide6.QtGui import QCloseEvent, QIcon
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMainWindow, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from studio import identity
from studio.actions.build import ActionSet
from studio.actions.files import reveal
from studio.engine.messages import EngineDeath
from studio.engine.state import LIVE, RunState
from studio.panels.run_words import STATE_WORDS
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.state.progress import Progress
from studio.widgets import NavigationRail, Segmented, ToastArea, icon_button, separator
from studio.window.closing import CloseChoice, Closing, ask_about_run
from studio.window.crash_notices import CrashNotices
from studio.window.dialogs import AboutDialog
from studio.window.navigation import PAGES
from studio.window.preferences import PreferencesDialog
from studio.window.start_notices import StartNotices
from studio.window.status_strip import StatusStrip
from training.errors import TrainingError

_TOML = "Run configuration (*.toml)"


class MainWindow(QMainWindow):
    """Signals: `closed()` when nothing holds the process any more."""

    closed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self._pages: dict[str, QWidget] = {}
        self._last_state = RunState.IDLE
        self.closing = Closing(context, self)
        self.rail = NavigationRail()
        self.stack = QStackedWidget()
        self.notices = StartNotices(context)
        self.crashes = CrashNotices(self.notices, self)
        self.status = StatusStrip(context)
        self.actions_ = ActionSet(
            context,
            self,
            {
                "open_config": self._open_config,
                "save_config": self._save_config,
                "open_workspace": self._open_workspace,
                "preferences": self.show_preferences,
                "about": lambda: AboutDialog(self).exec(),
                "quit": self.close,
            },
        )
        self._lay_out()
        self.toasts = ToastArea(self)
        self._connect()
        self.setMinimumSize(900, 600)
        self._restore_size()
        self._show_title()

    def _lay_out(self) -> None:
        self.rail.set_header(QIcon(str(identity.APP_ICON)).pixmap(28, 28), identity.APP_NAME)
        for entry in PAGES:
            self.rail.add_item(entry.key, entry.icon, entry.title, tooltip=entry.tooltip)
        self.theme_choice = Segmented()
        for key, picture, name in (
            ("system", "system", "Follow the system"),
            ("light", "sun", "Light"),
            ("dark", "moon", "Dark"),
        ):
            self.theme_choice.add_option(key, "", picture, name)
        self.theme_choice.setAccessibleName("Appearance")
        self.theme_choice.set_current(self.context.settings.get().theme)
        self.menu_button = icon_button("menu", "All commands")
        self.menu_button.setMenu(self.actions_.menu(self.menu_button))
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        foot = QWidget()
        foot_row = QHBoxLayout(foot)
        foot_row.setContentsMargins(0, 0, 0, 0)
        foot_row.addWidget(self.theme_choice)
        foot_row.addStretch(1)
        foot_row.addWidget(self.menu_button)
        self.rail.add_footer(foot)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.notices)
        column.addWidget(self.stack, 1)
        column.addWidget(separator())
        column.addWidget(self.status)
        center = QWidget()
        row = QHBoxLayout(center)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addWidget(right, 1)
        self.setCentralWidget(center)

    def _connect(self) -> None:
        context = self.context
        self.rail.current_changed.connect(self.show_page)
        context.page_requested.connect(self.show_page)
        context.notifier.notified.connect(self._on_notified)
        context.live.state_changed.connect(self._on_run_state)
        context.live.progress_changed.connect(self._on_progress)
        context.settings.changed.connect(lambda settings: self.theme_choice.set_current(settings.theme))
        self.theme_choice.current_changed.connect(lambda mode: context.settings.update(theme=mode))
        context.engine.run_started.connect(self.toasts.dismiss_all)
        self.closing.ready.connect(self._on_ready_to_close)
        self.closing.failed.connect(self._on_not_handed_over)

    # ---------------------------------------------------------------------------------------------- pages

    @Slot(str)
    def show_page(self, key: str) -> None:
        """Bring a page to the front, building it at the first time."""
        entry = next(entry for entry in PAGES if entry.key == key)
        if key not in self._pages:
            self._pages[key] = entry.make(self.context)
            self.stack.addWidget(self._pages[key])
        self.stack.setCurrentWidget(self._pages[key])
        self.rail.set_current(key)
        self.context.settings.update(page=key)

    def page(self, key: str) -> QWidget:
        """A page, built if need be."""
        self.show_page(key)
        return self._pages[key]

    # ------------------------------------------------------------------------------------------- commands

    @Slot()
    def show_preferences(self) -> None:
        """Open the preferences."""
        PreferencesDialog(self.context, self).exec()

    @Slot()
    def _open_config(self) -> None:
        chosen, _filter = QFileDialog.getOpenFileName(self, "Open configuration", str(Path.home()), _TOML)
        if chosen and self.context.open_config(chosen):
            self.show_page("setup")

    @Slot()
    def _save_config(self) -> None:
        config = self.context.draft.config()
        suggested = f"{config.name if config else 'run'}.toml"
        chosen, _filter = QFileDialog.getSaveFileName(self, "Save configuration", str(Path.home() / suggested), _TOML)
        if not chosen:
            return
        try:
            self.context.draft.save_file(Path(chosen))
        except TrainingError as error:
            self.context.notifier.notify(str(error), "danger")

    @Slot()
    def _open_workspace(self) -> None:
        self.context.workspace.mkdir(parents=True, exist_ok=True)
        reveal(self.context.workspace)

    # -------------------------------------------------------------------------------------------- showing

    @Slot(object)
    def _on_notified(self, notice: Notification) -> None:
        seconds = 0.0 if notice.tone == "danger" else 8.0
        self.toasts.show_message(
            notice.text,
            notice.tone,
            title=notice.title,
            details=notice.details,
            seconds=seconds,
            action_text=notice.action_text,
            action=notice.action,
        )

    @Slot(object)
    def _on_run_state(self, state: RunState) -> None:
        self.rail.set_dot("train", STATE_WORDS[state][1] if state is not RunState.IDLE else None)
        if state is RunState.INTERRUPTED and self._last_state in LIVE and self.rail.current() != "train":
            self._tell_of_interruption()
        self._last_state = state
        self._show_title()

    def _tell_of_interruption(self) -> None:
        live = self.context.live
        config = live.config()
        self.context.notifier.notify(
            live.death.sentence if live.death else "Its process ended without a word.",
            "danger",
            title=f"“{config.name if config else live.title}” was interrupted",
            action_text="Look at it",
            action=lambda: self.context.show_page("train"),
        )

    @Slot(object)
    def _on_progress(self, _progress: Progress) -> None:
        self._show_title()

    def _show_title(self) -> None:
        live = self.context.live
        share = live.progress.fraction
        working = live.live and share is not None
        self.setWindowTitle(
            f"{share:.0%} – {identity.APP_NAME}" if working and share is not None else identity.APP_NAME
        )

    def _restore_size(self) -> None:
        geometry = self.context.settings.get().geometry
        if not geometry or not self.restoreGeometry(QByteArray.fromBase64(geometry.encode())):
            self.resize(1280, 800)

    # -------------------------------------------------------------------------------------------- closing

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.closing.done:
            event.accept()
            return
        event.ignore()
        if self.closing.begun:
            self._offer_to_end_now()
            return
        if self.closing.must_ask:
            live = self.context.live
            config = live.config()
            choice = ask_about_run(self, config.name if config else live.title)
            if choice is CloseChoice.CANCEL:
                return
            if choice is CloseChoice.BACKGROUND and self.closing.must_ask:
                self.hide()
                self._remember()
                self.closing.leave_in_background()
                return
            if self.closing.must_ask:
                self.context.show_page("train")
                self.context.notifier.notify(
                    "The window closes when the checkpoint is written.", "info", title="Stopping"
                )
        self._remember()
        self.closing.stop_and_close()

    def _offer_to_end_now(self) -> None:
        self.context.notifier.notify(
            "The run is being saved. Ending the engine now loses the steps since the last checkpoint.",
            "warning",
            title="Still stopping",
            action_text="End now",
            action=self.closing.end_now,
        )

    def _remember(self) -> None:
        geometry = bytes(self.saveGeometry().toBase64().data()).decode()
        self.context.settings.update(geometry=geometry)
        self.context.remember()

    @Slot(object)
    def _on_not_handed_over(self, death: EngineDeath) -> None:
        self.show()
        self.context.show_page("train")
        self.context.notifier.notify(
            f"{death} The run is stopped and kept.", "danger", title="Not moved to the background", details=death.log
        )

    @Slot()
    def _on_ready_to_close(self) -> None:
        self.close()
        self.closed.emit()
