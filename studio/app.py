"""The window's process from start to end, in order.

1. settings (no Qt), 2. Qt, the theme and the frame of the window, 3. its first paint, 4. the engine's process, so that
torch loads while the rest is imported, 5. logging, crash reports, the objects of ``AppContext``, the first page, 6. what
was asked on the command line, 7. the orderly end. Nothing here imports torch.

Whoever starts a program wants to see that it starts: so nothing precedes the first paint that it does not need, the
start of another process included. Measured on two cores: pydantic, NumPy, pyqtgraph and the page are three quarters
of a second, the window alone is a fifth of one.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from studio.services.app_settings import load_settings, settings_file
from studio.services.instance import find_address, hand_over, make_request

if TYPE_CHECKING:
    from studio.engine.link import EngineChoice, EngineLink
    from studio.launch import Application

_NEVER_PAINTED = 1000  # milliseconds: a window that starts minimized may not be drawn at all


def main(argv: list[str]) -> int:
    """Open the window for ``[CONFIG.toml] [--start] [--new-window]``, as the front door has checked them, or have one that is open do
    so; returns the exit code."""
    gc.disable()  # until all is imported: what is loaded at a start is no garbage, and looking at it takes a tenth of it
    start, alone = "--start" in argv, "--new-window" in argv
    config = next((word for word in argv if not word.startswith("--")), None)
    settings = load_settings(settings_file())
    address, request = "" if alone else find_address(settings), make_request(config, start)
    if hand_over(address, request):
        return 0

    import shiboken6
    from PySide6.QtCore import QTimer  # Qt from here on

    import studio.theme
    from studio.services.garbage import GarbageCollector
    from studio.services.settings import SettingsStore
    from studio.window.application import make_application, text_scale, theme_mode
    from studio.window.main_window import MainWindow

    app = make_application()
    studio.theme.apply(app, theme_mode(settings), font_scale=text_scale(settings), high_contrast=settings.high_contrast)
    store = SettingsStore(settings=settings)
    window = MainWindow(store)
    if config is not None:
        window.show_page("setup")
    begun: list[Application] = []

    def begin() -> None:
        if begun or not window.isVisible():  # closed again before there was anything in it
            return
        from studio.engine.link import EngineChoice
        from studio.window.door import Door

        door = Door(address, window)
        if not door.open(request):  # of two that were started at once, the other was faster
            window.close()
            return
        chosen = store.get()
        first_engine = make_link(EngineChoice(chosen.engine_python, chosen.engine_in_process))

        from studio.launch import Application  # the engine is loading meanwhile

        try:
            application = Application(app, window, store, make_link, first_engine, door)
            begun.append(application)
            application.open_window(config, start)
        except BaseException:
            app.exit(1)  # or the frame would stand there, empty, for ever
            raise
        finally:
            GarbageCollector(app)

    window.painted.connect(begin)
    window.closed.connect(app.quit)
    window.show()
    QTimer.singleShot(_NEVER_PAINTED, window, begin)
    code: int = app.exec()
    for application in begun:
        application.end()
    is_restart_asked = window.is_restart_asked
    shiboken6.delete(window)  # before the application goes: Python lets go of this function's objects in no fixed order
    gc.collect()  # and of what its cycles hold
    if is_restart_asked:
        start_again(argv)
    return code


def start_again(argv: list[str]) -> None:
    """Start this program as it was started, but for what it was to open, in a process of its own."""
    import sys

    from PySide6.QtCore import QProcess

    words = list(sys.orig_argv[1:])
    while words and words[-1] in argv:
        words.pop()
    QProcess.startDetached(sys.executable, words)


def make_link(choice: EngineChoice) -> EngineLink:
    """An engine as the preferences say."""
    if choice.in_process:
        from studio.engine.in_place import InPlaceLink

        return InPlaceLink()
    from studio.engine.child import ChildLink
    from studio.services.logs import log_folder

    return ChildLink(choice.python, log_folder())
