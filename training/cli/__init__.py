"""The command line: ``python -m training run|resume|check|export|verify|generate|lab|queue|engines|study|sweep|presets|runs|show|restore|track|copy|fetch|lock|index|schema``.

Progress goes to stderr; with ``--json`` the last line of stdout is one JSON object. Exit codes: 0 completed, 130 stopped
on request, 2 bad config or input, 1 failed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from training.arguments import HIDDEN, parse_words
from training.cli.parser import load_command, make_parser
from training.errors import InputError, TrainingError
from training.streams import prepare_streams, say
from training.system.interpreter import NO_ENGINE, NO_ENGINE_ADVICE, is_frozen
from training.system.interrupts import raise_when_interrupted
from training.system.untrusted import escape_unprintable
from training.toml_text import read_config_text, read_toml

_ANYWHERE = "training.cli.verify:verify"
"""The command that works where most packages are missing."""
_OURS = ("training", "studio")
_SHORTAGE = re.compile("failed to map segment|cannot allocate memory|OpenBLAS error", re.IGNORECASE)
"""What torch's libraries say where a limit on this process leaves too little."""


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code. Nothing is printed as a traceback for a fault of the input."""
    try:
        raise_when_interrupted()
        prepare_streams()
        arguments = parse_words(*make_parser(), argv)
        arguments.words = argv
        _expect_config(arguments)
        if getattr(arguments, "on_engine", None):
            from training.cli.other_engine import hand_over

            if (code := hand_over(arguments.on_engine, argv)) is not None:
                return code
        if arguments.command != _ANYWHERE:
            from training.system.process import tune_process  # these loads are what takes its time

            tune_process()
        return load_command(arguments)(arguments)
    except TrainingError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("Interrupted at once; a run that was under way can be resumed from its last checkpoint, if it has one.")
        return 130
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and (is_frozen() or not str(error.name).startswith(_OURS)):
            remedy = "install it, or all that training needs (pip install 'trainwright[engine]')."
            said = f"The package {error.name} is missing, which this needs"
            say(f"{NO_ENGINE}. {NO_ENGINE_ADVICE}" if is_frozen() else f"{said}; {remedy}")
            return 1
        if not _SHORTAGE.search(str(error)):
            raise
        say(
            "There is not enough memory to load torch. Raise the limit (ulimit -v), or end other programs, and start again."
        )
        return 1
    except MemoryError:  # so little is left that not even the end of the run could be written down
        say("The memory ran out; the run can be resumed in smaller batches, from its last checkpoint if it has one.")
        return 1
    except BrokenPipeError:  # the reader of our output has gone: nothing left to say
        return 0
    except OSError as error:  # a path too long, a folder or disk that cannot be written
        where = "" if error.filename is None else f"{escape_unprintable(str(error.filename), 100)}: "
        say(f"{where}{error.strerror or error}; check the path, its permissions and the disk.")
        return InputError.exit_code


def commands() -> list[str]:
    """The names of those that are for people."""
    return [name for name in make_parser()[1] if name not in HIDDEN]


def _expect_config(arguments: argparse.Namespace) -> None:
    """Raise InputError for a configuration file that cannot be read, before anything is loaded to use it."""
    name: str | None = getattr(arguments, "config", None)
    if name is not None and not name.startswith("preset:"):
        read_toml(read_config_text(Path(name)), name)
