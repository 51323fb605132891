"""The program's front door: `trainwright`, `trainwright-gui`, `python -m studio`.

Standard library only until it is known what is wanted: the words of the command line never load Qt, and a machine that
cannot open a window gets a sentence (and, without a display, a training run) instead of Qt's abort.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

from studio import identity, preflight
from training.system import interpreter, places
from training.system.interrupts import leave_when_interrupted

SAMPLE = "preset:sample"


def main(argv: list[str] | None = None) -> int:
    """Start what `argv` (default: the process's own) asks for; returns the exit code."""
    # First: a frozen worker comes through here too, and must not open a second window.
    if getattr(sys, "frozen", False):
        importlib.import_module("multiprocessing").freeze_support()
        interpreter.leave_bundle()
    leave_when_interrupted()
    try:
        places.become_portable()
    except FileNotFoundError as error:
        preflight.tell(str(error.strerror))
        return 2
    argv = sys.argv[1:] if argv is None else argv
    if argv and _is_command(argv[0]):
        return _train(argv)
    if not argv:  # from a menu: nothing to understand, and argparse takes its time
        return _open_window(None, start=False)
    parser = _parser(with_commands="-h" in argv or "--help" in argv)
    options = parser.parse_args(argv)
    if options.json and not options.version:
        parser.error("--json goes with --version alone")
    if options.version:
        return _tell_version(options.json)
    if options.install_shortcut or options.remove_shortcut:
        return _shortcut("install" if options.install_shortcut else "remove")
    if options.check:
        return max(preflight.report(os.environ), _check_engine())
    if options.config and not _can_be_opened(options.config):
        what = "is a folder without a run" if Path(options.config).is_dir() else "there is no such file"
        preflight.tell(f"{options.config}: {what}; give a run's TOML file or folder, or nothing at all.")
        return 2
    return _open_window(options.config, options.start, options.new_window)


def _is_command(word: str) -> bool:
    """Whether it is one of the command line's, which knows them and tells of a misspelled one; the window is given files and folders."""
    if word.startswith("-") or ":" in word or Path(word).name != word or Path(word).suffix:
        return False
    return not _can_be_opened(word) or word in importlib.import_module("training.cli").commands()


def _can_be_opened(name: str) -> bool:
    """Whether it is a configuration, or the folder of a run."""
    return name.startswith("preset:") or Path(name).is_file() or (Path(name) / "config.toml").is_file()


def _parser(with_commands: bool) -> argparse.ArgumentParser:
    commands = importlib.import_module("training.cli").commands() if with_commands else []
    parser = argparse.ArgumentParser(
        prog="trainwright",
        description=f"{identity.SUMMARY}. Without arguments the window opens.",
        epilog=f"Without a window: trainwright {' | '.join(commands)} (see trainwright run --help).",
    )
    parser.add_argument(
        "config",
        nargs="?",
        metavar="CONFIG.toml|RUN",
        help="open the window with this configuration, or the folder of a run",
    )
    parser.add_argument("--start", action="store_true", help="and start training at once")
    parser.add_argument(
        "--new-window", action="store_true", help="open one more window, though one of this workspace is open"
    )
    parser.add_argument("--install-shortcut", action="store_true", help="put Trainwright into your start menu")
    parser.add_argument("--remove-shortcut", action="store_true", help="take it out again")
    parser.add_argument(
        "--check", action="store_true", help="say whether the window can open here, and what there is to train on"
    )
    parser.add_argument("--version", action="store_true", help="say which version this is")
    parser.add_argument(
        "--json", action="store_true", help="of --version: with hardware, packages and the engine, for programs"
    )
    return parser


def _open_window(config: str | None, start: bool, new: bool = False) -> int:
    if importlib.util.find_spec("PySide6") is None:
        words = "The window is not installed here: pip install 'trainwright[studio]'."
        preflight.tell(f"{words} To train without it: trainwright run {config or SAMPLE}")
        return 1
    no_display = preflight.no_display_reason(os.environ)
    if no_display:
        return _without_window(no_display, config, start)
    problem = preflight.library_problem(preflight.choose_platform(os.environ), install=True)
    if problem:
        preflight.tell(problem)
        return 1
    no_display = preflight.no_display_reason(os.environ)  # a freshly installed libxcb may know better
    if no_display:
        return _without_window(no_display, config, start)
    identity.claim_taskbar_button()
    options = [name for name, asked in (("--start", start), ("--new-window", new)) if asked]
    return _call("studio.app", [config, *options] if config else options)


def _without_window(reason: str, config: str | None, start: bool) -> int:
    if config is None:
        print(f"{reason} Training the built-in sample without a window instead.", file=sys.stderr, flush=True)
        return _train(["run", SAMPLE])
    if start:
        print(f"{reason} Training {config} without a window instead.", file=sys.stderr, flush=True)
        return _train(["run", config])
    print(f"{reason} To train without a window: trainwright run {config}", file=sys.stderr)
    return 2


def _train(words: list[str]) -> int:
    """Here, or by the engine's Python where this one has no PyTorch."""
    if words[0] != "engines" and importlib.util.find_spec("torch") is None:  # those are looked after from here
        python = _engine_python()
        if python not in ("", sys.executable):
            return _run_engine(python, words, instead=True)
    return _call("training.cli", words)


def _engine_python() -> str:
    from studio.services.app_settings import load_settings, settings_file

    return load_settings(settings_file()).interpreter


def _run_engine(python: str, words: list[str], instead: bool = False) -> int:
    try:
        return interpreter.run_engine(python, words, instead)
    except OSError as error:
        from studio.engine.deaths import explain_no_start

        print(explain_no_start(python, error))
        return 1


def _check_engine() -> int:
    """What the engine's Python has to train on, asked in a process of its own: torch is never loaded into this one."""
    return min(_run_engine(_engine_python(), ["check"]), 1)


def _tell_version(as_json: bool) -> int:
    words = f"{identity.APP_NAME} {identity.VERSION}"
    if as_json:
        from studio.services.diagnostics import collect_facts

        words = json.dumps(collect_facts(_engine_python()), indent=1)
    print(words)
    return 0


def _call(module: str, argv: list[str]) -> int:
    # By name, so that neither Qt nor torch is loaded before it is known which of them this process is for.
    code: int = importlib.import_module(module).main(argv)
    return code


def _shortcut(verb: str) -> int:
    from studio import shortcut

    try:
        paths = shortcut.install() if verb == "install" else shortcut.remove()
    except (shortcut.ShortcutError, OSError) as error:
        preflight.tell(str(error))
        return 1
    if verb == "install":
        print(f"{identity.APP_NAME} is in your start menu now: {paths[0]}")
    elif paths:
        print(f"{identity.APP_NAME} is out of your start menu.")
    else:
        print(f"{identity.APP_NAME} was not in your start menu: nothing to remove.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
