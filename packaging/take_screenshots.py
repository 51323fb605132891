"""Take images of the real window: python packaging/take_screenshots.py [FOLDER [WIDTHxHEIGHT]]

Trains the built-in sample in a workspace and a home of its own. Without arguments it makes the README's images again; into
another FOLDER go all pages, light and dark.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "resources" / "help" / "images"
README = (("run", "light"), ("setup", "dark"))
PAGES = (
    "data",
    "setup",
    "run",
    *(f"run/{tab}" for tab in ("evaluate", "tryit", "checkpoints", "system", "config", "log")),
    "runs",
    "models",
)
_LOOK = 200  # milliseconds between two looks at the window
_SETTLE = 1500  # milliseconds until a page that was just shown has painted all


def main(folder: str = "", size: str = "1280x800") -> int:
    """Returns the exit code of the program."""
    width, height = map(int, size.split("x"))
    shown = README if not folder else [(page, mode) for mode in ("light", "dark") for page in PAGES]
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as home:
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
            os.environ[name] = home
        os.environ["TRAINWRIGHT_WORKSPACE"] = str(Path(home) / "Trainwright")
        from PySide6.QtCore import QTimer

        from studio.app import main as run
        from studio.window.application import make_application

        make_application()
        shots = _take(Path(folder or FOLDER), shown, width, height)
        QTimer.singleShot(_LOOK, lambda: _go_on(shots))
        return run([])


def _go_on(shots: Iterator[int]) -> None:
    from PySide6.QtCore import QTimer

    if (wait := next(shots, None)) is not None:
        QTimer.singleShot(wait, lambda: _go_on(shots))


def _take(folder: Path, shown: Iterable[tuple[str, str]], width: int, height: int) -> Iterator[int]:
    """Gives back how many milliseconds to wait before it goes on."""
    from PySide6.QtWidgets import QApplication

    from studio.engine.state import ENDED
    from studio.window.main_window import MainWindow

    def windows() -> list[MainWindow]:
        return [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, MainWindow)]

    while not windows():
        yield _LOOK
    (window,) = windows()
    window.resize(width, height)
    yield _SETTLE
    context = window.controller.context
    while context.start_problem():
        yield _LOOK
    context.start_sample()
    while context.live.state not in ENDED or context.live.folder is None:
        yield _LOOK
    folder.mkdir(parents=True, exist_ok=True)
    for page, mode in shown:
        context.settings.update(theme=mode)
        window.show_page(page)
        yield _SETTLE
        window.controller.toasts.dismiss_all()
        yield _LOOK
        window.grab().save(str(folder / f"{page.replace('/', '-')}-{mode}.png"))
    window.close()


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
