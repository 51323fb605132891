"""The window's process from start to end, in order.

1. settings (no Qt), 2. the engine's process, so that torch loads while the window is built, 3. Qt, logging and crash
reports, 4. the objects of ``AppContext``, 5. the window, 6. what was asked on the command line, 7. the event loop,
8. the orderly end. Nothing here imports torch; pyqtgraph is imported with the first page, after the window's first paint.
"""

from __future__ import annotations

import argparse

from platformdirs import user_log_path

from studio import identity
from studio.engine.child import ChildLink
from studio.engine.in_place import InPlaceLink
from studio.engine.link import EngineChoice, EngineLink
from studio.services.app_settings import load_settings, settings_file


def main(argv: list[str]) -> int:
    """Open the window for ``[CONFIG.toml] [--start]``; returns the exit code when it is closed."""
    options = _parse(argv)
    settings = load_settings(settings_file())
    first_engine = make_link(EngineChoice(settings.engine_python, settings.engine_in_process))

    from studio.launch import Launch  # Qt from here on: the engine is loading meanwhile

    launch = Launch(settings, make_link, first_engine)
    launch.open_window(options.config, options.start)
    return launch.run()


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="trainwright")
    parser.add_argument("config", nargs="?")
    parser.add_argument("--start", action="store_true")
    return parser.parse_args(argv)


def make_link(choice: EngineChoice) -> EngineLink:
    """An engine as the preferences say."""
    if choice.in_process:
        return InPlaceLink()
    return ChildLink(choice.python, user_log_path(identity.APP_NAME, appauthor=False))
