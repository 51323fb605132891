"""Everything of the start that follows the first paint; see ``studio.app`` for the order."""

from __future__ import annotations

import logging
import os
import signal
import socket
from pathlib import Path

from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

import studio.theme
from studio.engine.host import EngineHost
from studio.engine.link import EngineChoice, EngineLink
from studio.engine.pool import LinkFactory
from studio.services.app_settings import AppSettings
from studio.services.crash import CrashReporter, CrashReports, NativeFaults
from studio.services.instance import Request
from studio.services.keep_awake import KeepAwake
from studio.services.logs import log_folder, log_qt_messages, open_log
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from studio.state.drafts.kept_draft import recall_draft, remember_draft
from studio.state.moving import find_workspace
from studio.state.staying_awake import StayingAwake
from studio.window.application import StudioApplication, text_scale, theme_mode
from studio.window.desktop import Desktop
from studio.window.door import Door, bring_to_front
from studio.window.main_window import MainWindow
from training.moving.windows import forget_window, record_window
from training.runs.workspace import run_opened_by

logger = logging.getLogger(__name__)


_AT_LEISURE = 1500  # milliseconds after the first page
_REMEMBER_AFTER = 1500  # milliseconds of rest after an edit: what was typed survives a crash, without a write per key


class Application(QObject):
    """Holds what lives as long as the process."""

    def __init__(
        self,
        app: QApplication,
        window: MainWindow,
        settings: SettingsStore,
        make_link: LinkFactory,
        first_engine: EngineLink,
        door: Door,
    ) -> None:
        super().__init__()
        self.app = app
        self.window = window
        self.door = door
        log = open_log(log_folder())
        log_qt_messages()
        crashes = log_folder() / "crashes"
        self.crashes = CrashReporter(CrashReports(crashes, log), self)
        self.crashes.install()
        self.faults = NativeFaults(crashes)
        self.crashes.keep_native(self.faults.collect())
        self.settings = settings
        chosen = settings.get()
        choice = EngineChoice(chosen.engine_python, chosen.engine_in_process)
        engine = EngineHost(choice, make_link, first_engine)
        engine.set_keep_training(chosen.keep_training)
        self.context = AppContext(find_workspace(self.settings), self.settings, engine, self)
        try:
            record_window(self.context.workspace)
        except OSError as error:
            logger.warning("Nobody is kept from moving the workspace under this window: %s", error)
        at_work = (self.context.studies.job, self.context.sweeps.job)
        self.awake = StayingAwake(self.context.live, at_work, self.context.queue, self.settings, KeepAwake(), self)
        self.desktop = Desktop(self.context, self.window)
        self.settings.changed.connect(self._on_settings_changed)
        self._on_settings_changed(chosen)  # the appearance may have been changed while there was only the frame
        self._remembering = QTimer(self, singleShot=True, interval=_REMEMBER_AFTER)
        self._remembering.timeout.connect(lambda: remember_draft(self.context.draft))
        self._signals = UnixSignals(self)

    def open_window(self, config: str | None, start: bool) -> None:
        """Furnish the window that is on the screen, and do what the command line asks for."""
        recall_draft(self.context.draft)
        self.context.draft.changed.connect(self._remembering.start)
        self.window.furnish(self.context)
        controller = self.window.controller
        self.crashes.reported.connect(controller.crashes.show)
        self._signals.asked.connect(controller.closing.stop_and_close)
        controller.crashes.offer_unread(self.crashes.reports)
        controller.closing.begun_changed.connect(self._on_closing)
        self.door.asked.connect(self._on_asked)
        if isinstance(self.app, StudioApplication):
            self.app.listen(lambda file: self._open(file, start=False))
            self.app.can_quit = lambda: controller.closing.done
            self.app.quit_asked.connect(controller.quit)
        self._open(config or "", start)
        self.context.library.refresh()
        # Start brings the Run page to the front: it should not have to be built then.
        QTimer.singleShot(_AT_LEISURE, self, lambda: self.window.build_page("run"))

    def _open(self, name: str, start: bool) -> None:
        """The folder of a run or its opener, a configuration's file or a preset; "" for none."""
        if name and os.path.isdir(name):  # noqa: PTH112 - which has no error where nobody may look
            self.context.open_run(Path(name).resolve())
        elif name and (run := run_opened_by(Path(name).resolve())):
            self.context.open_run(run)
        elif name and self.context.open_config(name, start) and not start:
            self.context.show_page("setup")

    @Slot(object)
    def _on_asked(self, request: Request) -> None:
        bring_to_front(self.window, request.token)
        self._open(request.opened, request.start)

    @Slot(bool)
    def _on_closing(self, begun: bool) -> None:
        """A window that ends takes nothing over any more."""
        if begun:
            self.door.close()
        else:
            self.door.open(Request())

    def end(self) -> None:
        """After the event loop: the end in the order nothing can be lost."""
        self.awake.leave()
        self.desktop.close()
        try:
            forget_window()
        except OSError as error:  # what it left says of itself that its process is gone
            logger.warning("The window's record stays: %s", error)
        self.crashes.uninstall()
        self.faults.close()
        if self.context.engine.threads_running:
            # Only an engine inside this process that hangs in native code can come here; destroying its QThread would
            # abort the process with a core dump, so the process ends without looking back.
            logger.error("The engine's thread did not end; the process ends without it.")
            logging.shutdown()
            os._exit(1)

    @Slot(object)
    def _on_settings_changed(self, settings: AppSettings) -> None:
        worn, mode, scale = studio.theme.theme(), theme_mode(settings), text_scale(settings)
        high = settings.high_contrast
        if (worn.mode, worn.font_scale, worn.high_contrast) != (mode, scale, high):
            worn.dress(self.app, mode, scale, high_contrast=high)
        self.context.engine.set_keep_training(settings.keep_training)
        self.context.engine.choose(EngineChoice(settings.engine_python, settings.engine_in_process))


class UnixSignals(QObject):
    """Ctrl+C and SIGTERM become a signal of Qt: stop the run, keep it, close. A second one ends the process at once.

    Python runs its handlers only between two of its own instructions, and Qt's loop may have none for minutes; so the
    interpreter writes the signal's number to a socket that Qt watches.
    """

    asked = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._times = 0
        self._receiver, self._sender = socket.socketpair()
        self._sender.setblocking(False)
        self._receiver.setblocking(False)
        signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        self._notifier = QSocketNotifier(self._receiver.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_activated)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)

    @Slot()
    def _on_activated(self) -> None:
        received = set(self._receiver.recv(64))
        if not received & {signal.SIGINT, signal.SIGTERM}:
            return
        self._times += 1
        if self._times > 1:
            logger.warning("Asked to end a second time: the process ends at once.")
            logging.shutdown()
            os._exit(130)
        self.asked.emit()
