"""What the main window does: its commands, what it says about the run, how it closes. Made after the first paint."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMainWindow, QWidget

from studio import identity
from studio.actions.configurations import ask_and_open, ask_and_save
from studio.actions.curves import ask_and_save_curves
from studio.actions.files import reveal
from studio.actions.report import ask_and_save_report
from studio.actions.table import ActionSet, with_pages
from studio.actions.trash_dialog import TrashDialog
from studio.engine.messages import EngineDeath
from studio.engine.state import LIVE, RunState
from studio.forms.consent_editor import ask_to_run
from studio.panels.run_words import STATE_WORDS
from studio.services.logs import log_folder
from studio.services.notifier import Notification
from studio.state.context import SWEEPS, AppContext
from studio.state.drafts.kept_draft import remember_draft
from studio.state.drafts.setting_specs import Settings
from studio.state.opened_report import OpenedReport
from studio.state.runs.live_run import percent_of
from studio.widgets import NavigationRail, Toast, ToastArea
from studio.window.closing import CloseChoice, Closing, ask_about_job, ask_about_run
from studio.window.crash_notices import CrashNotices
from studio.window.dialogs import AboutDialog, ReportDialog, ShortcutsDialog, report_problem
from studio.window.door import bring_to_front
from studio.window.engine_notice import ENGINES, EngineNotice
from studio.window.help import HelpWindow
from studio.window.page_entries import PAGES
from studio.window.palette.keys import PaletteKeys
from studio.window.palette.palette import CommandPalette
from studio.window.palette.sources import Sources
from studio.window.queue_notice import QueueNotice
from studio.window.start_notices import StartNotices
from studio.window.tray import Tray
from studio.window.update_notice import UPDATES, notice_update
from studio.window.work_notice import notice_study, notice_sweep
from training.errors import InputError
from training.runs.folder import RunFolder
from training.system.untrusted import escape_unprintable

_OVERWRITTEN = "settings overwritten"


class MainController(QObject):
    """Ties a window to the objects behind it."""

    def __init__(
        self, context: AppContext, window: QMainWindow, rail: NavigationRail, find_topic: Callable[[], str]
    ) -> None:
        super().__init__(window)
        self.context, self._window = context, window
        self._rail, self._find_topic = rail, find_topic
        self._last_state = RunState.IDLE
        self.help: HelpWindow | None = None
        self.palette: CommandPalette | None = None
        self._palette_keys = PaletteKeys(self)
        self.closing = Closing(context, self)
        self.opened_report = OpenedReport(context)
        self.notices = StartNotices(context)
        self.engine_notice = EngineNotice(context, self.notices, self.show_preferences)
        self.queue_notice, self.crashes = QueueNotice(context, self.notices), CrashNotices(self.notices, window)
        notice_update(context, self.notices)
        self.left_work = notice_study(self.notices, context), notice_sweep(self.notices, context)
        self.actions = ActionSet(
            context,
            window,
            {
                "open_config": lambda: ask_and_open(context, window),
                "save_config": lambda: ask_and_save(context, window),
                "open_workspace": self._open_workspace,
                "save_curves": lambda: self._save_of_run(ask_and_save_curves),
                "save_report": lambda: self._save_of_run(ask_and_save_report),
                "trash": lambda: TrashDialog(context, window).exec(),
                "preferences": lambda: self.show_preferences(),
                "engines": lambda: self.show_preferences(ENGINES),
                "updates": lambda: self.show_preferences(UPDATES),
                "help": self._help_here,
                "getting_started": lambda: self.show_help("getting-started"),
                "glossary": lambda: self.show_help("glossary"),
                "shortcuts": lambda: ShortcutsDialog(self.actions.table, window).exec(),
                "report": self._report_problem,
                "log": lambda: reveal(log_folder()),
                "about": lambda: AboutDialog(context.settings.get().interpreter, window).exec(),
                "palette": self.show_palette,
                "rail": rail.fold_asked.emit,
                "quit": self.quit,
            },
            with_pages(PAGES),
        )
        self.tray, self._is_quitting = Tray(context, window, self.actions.actions), False
        center = window.centralWidget()
        assert center is not None
        self.toasts = ToastArea(center, rail.find_room_for_notices, rail.make_room_for_notices)
        self.toasts.details_wanted.connect(self._show_details)
        context.notifier.notified.connect(self._on_notified)
        context.notifier.withdrawn.connect(self.toasts.dismiss)
        context.consent_needed.connect(self._on_consent_needed)
        context.help_requested.connect(self.show_help)
        context.draft.swept.asked.connect(lambda _path: context.show_page(SWEEPS))
        context.live.state_changed.connect(self._on_run_state)
        context.live.progress_changed.connect(self._show_title)
        for past in (context.engine.run_started, context.draft.replaced):  # which spoke of other settings
            past.connect(lambda: self.toasts.dismiss_all(but=_OVERWRITTEN))
        for edit in (context.draft.edited, context.draft.kind_changed, context.draft.stepped):
            edit.connect(lambda: self.toasts.dismiss(_OVERWRITTEN))
        context.draft.overwritten.connect(self._on_overwritten)
        self.closing.failed.connect(self._on_not_handed_over)

    # ------------------------------------------------------------------------------------------- commands

    def show_preferences(self, section: str = "") -> None:
        """Open the preferences, at a section where one is named."""
        from studio.window.preferences import open_preferences  # which knows how engines are fetched

        open_preferences(self.context, self._window, section)

    @Slot()
    def show_palette(self) -> None:
        """Open the command palette over the window."""
        self.palette = self.palette or self._make_palette()
        self.palette.open_over(self._window)

    def _make_palette(self) -> CommandPalette:
        sources = Sources(self.context, self.actions, self._find_setting, self.show_help)
        return CommandPalette(self.context.settings, sources.collect, self._window)

    def _find_setting(self, path: str) -> None:
        self.context.show_page("setup")
        self.context.find_requested.emit(path)

    @Slot(str)
    def show_help(self, topic: str) -> None:
        """Open the help at ``topic``, beside the window."""
        self.help = self.help or HelpWindow(self._window)
        self.help.show()  # first: where a place is in sight depends on the size
        self.help.show_topic(topic)
        self.help.raise_()

    @Slot()
    def _help_here(self) -> None:
        self.show_help(self._find_topic())

    @Slot()
    def _open_workspace(self) -> None:
        self.context.workspace.mkdir(parents=True, exist_ok=True)
        reveal(self.context.workspace)

    def _save_of_run(self, ask_and_save: Callable[[AppContext, QWidget, RunFolder], None]) -> None:
        """Something of the run in view."""
        from studio.pages.runs.page import RunsPage  # which loads the charts

        page = self._window.findChild(RunsPage) if self._rail.current() == "runs" else None
        chosen = page.find_chosen() if page is not None else None
        folder = chosen.folder if chosen is not None else self.context.shown.run.folder
        if folder is None:
            self.context.notifier.notify("No run is in view: open one on Runs, or start one.", "warning")
        else:
            ask_and_save(self.context, self._window, folder)

    @Slot()
    def _report_problem(self) -> None:
        engine = self.context.engine.info
        report_problem(str(engine or "not ready"), self.context.settings.get().interpreter, self._window)

    @Slot(object, object)
    def _on_consent_needed(self, files: Sequence[Path], go_on: Callable[[], object]) -> None:
        for file in files:
            try:
                if not ask_to_run(file, self._window):
                    return
            except InputError as error:
                self.context.notifier.notify(
                    error.message, "danger", title=f"{escape_unprintable(file.name, 100)} is not run"
                )
                return
        go_on()

    # -------------------------------------------------------------------------------------------- showing

    @Slot(object)
    def _on_notified(self, notice: Notification) -> None:
        self.toasts.add(Toast(notice))

    @Slot(object, str)
    def _on_overwritten(self, lost: Settings, file: str) -> None:
        self.context.notifier.notify(
            "They took the place of settings that you had changed.",
            title=f"The settings of {file} are in the forms" if file else "Other settings are in the forms",
            action_text="Undo",
            action=lambda: self.context.draft.replace(lost),
            subject=_OVERWRITTEN,
        )

    @Slot(object, str)
    def _show_details(self, toast: Toast, details: str) -> None:
        dialog = ReportDialog(toast.title or "Message", toast.text, details, parent=self._window)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @Slot(object)
    def _on_run_state(self, state: RunState) -> None:
        words, tone = STATE_WORDS[state] if state is not RunState.IDLE else ("", None)
        self._rail.set_dot("run", tone, words)
        if state is RunState.INTERRUPTED and self._last_state in LIVE and not self._is_in_sight():
            self._tell_of_interruption()
        self._last_state = state
        self._show_title()

    def _is_in_sight(self) -> bool:
        return self._rail.current() == "run" and self.context.shown.run is self.context.live

    def _tell_of_interruption(self) -> None:
        live = self.context.live
        self.context.notifier.notify(
            live.death.sentence if live.death else "The training process exited unexpectedly.",
            "danger",
            title=f"“{live.name}” was interrupted",
            action_text="Show run",
            action=self.context.show_work,
        )

    @Slot()
    def _show_title(self) -> None:
        percent = percent_of(self.context.live)
        share = "" if percent is None else f"{percent}% – "
        self._window.setWindowTitle(f"{share}{identity.APP_NAME}")

    # -------------------------------------------------------------------------------------------- closing

    @Slot()
    def quit(self) -> None:
        """Close the window for good, though there is a tray; in sight, where something is to be asked or waited for."""
        if not self._window.isVisible() and (self.closing.begun or self.closing.must_ask or self.closing.name_job()):
            bring_to_front(self._window, "")
        self._is_quitting = True
        try:
            self._window.close()
        finally:
            self._is_quitting = False

    def answer_close(self, event: QCloseEvent) -> None:
        """The person wants to close the window: ask what is to become of a run, and let it go when all has ended."""
        if self.closing.done:
            event.accept()
            return
        event.ignore()
        if self.closing.begun:
            _offer_to_end_now(self.context, self.closing)
            return
        if self.tray.takes_window and not self._is_quitting:
            _remember(self.context, self._window)
            self.tray.take_window()
            return
        if (job := self.closing.name_job()) and not ask_about_job(self._window, job):
            return
        if self.closing.must_ask:
            live = self.context.live
            choice = ask_about_run(self._window, live.name, is_paused=live.state in (RunState.PAUSED, RunState.PAUSING))
            if choice is CloseChoice.CANCEL:
                return
            if choice is CloseChoice.BACKGROUND and self.closing.must_ask:
                self._window.hide()
                _remember(self.context, self._window, closed=time.time())
                self.closing.leave_in_background()
                return
            if self.closing.must_ask:
                self.context.show_work()
                self.context.notifier.notify(
                    "The window closes when the checkpoint is written.", "info", title="Stopping"
                )
        elif job := self.closing.name_job():
            self.context.notifier.notify(f"The window closes when the {job} has stopped.", "info", title="Stopping")
        _remember(self.context, self._window, closed=time.time())
        self.closing.stop_and_close()

    @Slot(object)
    def _on_not_handed_over(self, death: EngineDeath) -> None:
        self._window.show()
        self.context.show_work()
        self.context.notifier.notify(
            f"{death} The run is stopped; its checkpoint is saved.",
            "danger",
            title="Not moved to the background",
            details=death.log,
        )


def _remember(context: AppContext, window: QMainWindow, **more: float) -> None:
    """What the next start finds as it was."""
    geometry = bytes(window.saveGeometry().toBase64().data()).decode()
    context.settings.update(geometry=geometry, maximized=window.isMaximized(), **more)
    remember_draft(context.draft)


def _offer_to_end_now(context: AppContext, closing: Closing) -> None:
    context.notifier.notify(
        "What is at work is being saved. Ending the engine now loses the steps since the last checkpoint.",
        "warning",
        title="Still stopping",
        action_text="End now",
        action=closing.end_now,
    )
