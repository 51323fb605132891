"""The real program, which tells a test what becomes of other starts; its window is minimized, and shows the page Run, before each."""

from __future__ import annotations

import sys

from PySide6.QtCore import QTimer

from studio import __main__ as front_door
from studio import launch
from studio.services.instance import Request


def say(text: str) -> None:
    """To the test."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    real = launch.Application.open_window

    def open_window(self: launch.Application, config: str | None, start: bool) -> None:
        real(self, config, start)

        def tell(_request: Request) -> None:
            place = "minimized" if self.window.isMinimized() else "front"
            draft, run = self.context.draft.config(), self.context.shown.run.folder
            page = self.window.rail.current()
            name = run.id if run is not None and page == "run" else draft.name if draft else ""
            say(f"{place}, {page}: {name}")
            self.window.show_page("run")
            self.window.showMinimized()

        self.door.asked.connect(tell)
        self.window.show_page("run")
        self.window.showMinimized()
        QTimer.singleShot(0, self, lambda: say("open"))

    launch.Application.open_window = open_window  # type: ignore[method-assign]
    return front_door.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
