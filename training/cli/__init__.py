"""The command line: ``python -m training run|resume|check|export|generate|lab|presets|runs|show|restore|schema``.

Progress goes to stderr; with ``--json`` the last line of stdout is one JSON object. Exit codes: 0 completed, 130 stopped
on request, 2 bad config or input, 1 failed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence

from training.arguments import HIDDEN, Parser, parse_words
from training.cli.check import add_check
from training.cli.export import add_export
from training.cli.records import add_runs, add_show
from training.cli.restore import add_restore
from training.cli.train import add_resume, add_run
from training.config import RunConfig
from training.errors import InputError, TrainingError
from training.generation import add_generate
from training.interrupts import raise_when_interrupted
from training.laboratory.command import add_lab
from training.loading import is_shortage, too_little_memory
from training.presets.command import add_presets
from training.process import tune_process
from training.reading import visible
from training.streams import prepare_streams, say, write_out


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code. Nothing is printed as a traceback for a fault of the input."""
    try:
        raise_when_interrupted()
        prepare_streams()
        arguments = parse_words(*_parser(), argv)
        tune_process()
        return int(arguments.command(arguments))
    except TrainingError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("Interrupted at once; a run that was under way can be resumed from its last checkpoint, if it has one.")
        return 130
    except ImportError as error:
        if not is_shortage(str(error)):
            raise
        say(str(too_little_memory()))
        return 1
    except MemoryError:  # so little is left that not even the end of the run could be written down
        say("The memory ran out; the run can be resumed in smaller batches, from its last checkpoint if it has one.")
        return 1
    except BrokenPipeError:  # the reader of our output has gone: nothing left to say
        return 0
    except OSError as error:  # a path too long, a folder or disk that cannot be written
        where = "" if error.filename is None else f"{visible(str(error.filename), 100)}: "
        say(f"{where}{error.strerror or error}; check the path, its permissions and the disk.")
        return InputError.exit_code


def commands() -> list[str]:
    """The names of those that are for people."""
    return [name for name in _parser()[1] if name not in HIDDEN]


def _parser() -> tuple[Parser, Mapping[str, Parser]]:
    """With its commands by name."""
    parser = Parser(prog="python -m training", description="Train PyTorch models from a TOML file.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    training = (add_run, add_resume, add_check, add_export, add_generate, add_lab, add_presets)
    for add in (*training, add_runs, add_show, add_restore):
        add(commands)
    schema = commands.add_parser("schema", help="print the JSON Schema of configurations")
    schema.set_defaults(command=_schema)
    serve = commands.add_parser("serve")  # the window's engine process; not for people
    serve.set_defaults(command=_serve)
    return parser, commands.choices


def _schema(_arguments: argparse.Namespace) -> int:
    write_out(json.dumps(RunConfig.model_json_schema(), indent=2) + "\n")
    return 0


def _serve(_arguments: argparse.Namespace) -> int:
    from training.serve import serve_standard_streams

    return serve_standard_streams()
