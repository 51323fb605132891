"""The real program, in which somebody presses "Start" on the queue's tab ("start"), or "Go on" in the question at the start ("go-on"). It
says "working" once a run of the queue has saved a checkpoint, and "over" once nothing waits; "go-on" then closes the window."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QPushButton, QWidget

from studio import app, launch
from studio.pages.studies.queue.tab import QueueTab
from studio.window.main_window import MainWindow


def say(text: str) -> None:
    """To the test."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def when(parent: QObject, found: Callable[[], object], then: Callable[[], object]) -> None:
    """Do it as soon as something is so."""
    timer = QTimer(parent, interval=50)

    def look() -> None:
        if found():
            timer.stop()
            then()

    timer.timeout.connect(look)
    timer.start()


def find_button(parent: QWidget, text: str) -> QPushButton | None:
    """One that can be pressed."""
    buttons = (button for button in parent.findChildren(QPushButton) if button.text() == text)
    return next((button for button in buttons if button.isEnabled() and not button.isHidden()), None)


def begin(what: str, window: MainWindow, parent: QObject) -> None:
    """As somebody at the window does."""
    queue = window.controller.context.queue
    place: QWidget = window.controller.notices
    if what == "start":
        tab = window.page("studies/queue")
        assert isinstance(tab, QueueTab)
        place = tab.workers
    text = "Start" if what == "start" else "Go on"

    def press() -> None:
        button = find_button(place, text)
        assert button is not None
        button.click()

    def has_saved() -> bool:
        runs = (queue.queue.run_of(shown.entry) for shown in queue.overview.list_state("at work"))
        return any(run is not None and any(run.checkpoints.glob("step-*/manifest.json")) for run in runs)

    def is_over() -> bool:
        entries = queue.overview.shown
        return bool(entries) and all(shown.state == "done" for shown in entries)

    when(parent, lambda: find_button(place, text), press)
    when(parent, has_saved, lambda: say("working"))

    def tell_end() -> None:
        say("over")
        if what == "go-on":
            window.close()

    when(parent, is_over, tell_end)


def main() -> int:
    what = sys.argv[1]
    real = launch.Application.open_window

    def open_window(self: launch.Application, config: str | None, start: bool) -> None:
        real(self, config, start)
        window = self.window
        assert window is not None
        begin(what, window, self)

    launch.Application.open_window = open_window  # type: ignore[method-assign]
    return app.main([])


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.exit(main())
