"""What may be typed after ``python -m training``, without loading what does it: wrong words are told at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from training.arguments import Parser

_FORMATS = ("safetensors", "onnx", "torch-export", "script")


def make_parser() -> tuple[Parser, Mapping[str, Parser]]:
    """The parser, and those of its commands by name. ``command`` of what they parse is for ``load_command``."""
    parser = Parser(prog="python -m training", description="Train PyTorch models from a TOML file.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    training = (_add_run, _add_resume, _add_check, _add_export, _add_generate, _add_lab, _add_presets)
    for add in (*training, _add_runs, _add_show, _add_restore):
        add(commands)
    schema = commands.add_parser("schema", help="print the JSON Schema of configurations")
    schema.set_defaults(command="training.cli.records:print_schema")
    serve = commands.add_parser("serve")  # the window's engine process; not for people
    serve.set_defaults(command="training.serve:serve_standard_streams")
    return parser, commands.choices


def load_command(arguments: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """Import what does the command that was asked for: a function of ``arguments`` that returns the exit code."""
    module, _, name = arguments.command.partition(":")
    found: Callable[[argparse.Namespace], int] = getattr(import_module(module), name)
    return found


def _add_run(commands: Any) -> None:
    run = commands.add_parser("run", help="train a configuration")
    _add_config(run)
    _add_profile(run)
    _add_set(run)
    _add_trust(run)
    _add_workspace(run)
    run.set_defaults(command="training.cli.train:run")


def _add_resume(commands: Any) -> None:
    resume = commands.add_parser("resume", help="go on with a run")
    resume.add_argument(
        "target", metavar="RUN|CHECKPOINT_DIR", help="a run's id, name or folder, or one of its checkpoints"
    )
    resume.add_argument(
        "--dry-run", action="store_true", help="say what would be restored, changed and ignored, and train nothing"
    )
    resume.add_argument(
        "--branch",
        action="store_true",
        help="make a new run of it, and leave this one, with all that came later, as it is",
    )
    # For programs that begin a run and hold the other end of its standard input: not for people.
    resume.add_argument("--while-held", action="store_true", help=argparse.SUPPRESS)
    _add_profile(resume)
    _add_set(resume)
    _add_trust(resume)
    _add_workspace(resume)
    resume.set_defaults(command="training.cli.train:resume")


def _add_check(commands: Any) -> None:
    check = commands.add_parser("check", help="look for problems without training")
    _add_config(check)
    _add_set(check)
    _add_trust(check)
    _add_workspace(check)
    check.set_defaults(command="training.cli.check:check")


def _add_export(commands: Any) -> None:
    export = commands.add_parser("export", help="write a checkpoint's model for use elsewhere")
    export.add_argument("checkpoint", metavar="CHECKPOINT_DIR", help="a checkpoint, or a run (its best one)")
    export.add_argument("--to", required=True, choices=_FORMATS)
    export.add_argument("--out", required=True, type=Path, metavar="PATH")
    export.add_argument("--large-data", action="store_true", help="let the samples beside a script take more than 2 GB")
    _add_trust(export)
    _add_workspace(export)
    export.set_defaults(command="training.cli.export:export")


def _add_generate(commands: Any) -> None:
    generate = commands.add_parser("generate", help="let a trained language model go on with a text")
    generate.add_argument("checkpoint", metavar="CHECKPOINT_DIR", help="a checkpoint, or a run (its best one)")
    generate.add_argument("--prompt", default="\n", metavar="TEXT", help="what to go on with; by default a line break")
    generate.add_argument("--tokens", type=int, default=500, metavar="N", help="how many tokens to add (500)")
    generate.add_argument(
        "--temperature",
        type=float,
        default=0.8,
        metavar="T",
        help="1 draws tokens as often as the model expects them, less prefers likely ones, 0 always takes the likeliest (0.8)",
    )
    generate.add_argument("--top-k", type=int, default=None, metavar="K", help="draw from the K likeliest tokens only")
    generate.add_argument("--seed", type=int, default=0, metavar="S", help="the same seed gives the same text (0)")
    _add_trust(generate)
    _add_workspace(generate)
    generate.set_defaults(command="training.generation:run_generate")


def _add_lab(commands: Any) -> None:
    lab = commands.add_parser("lab", help="train the references' laboratory in seven steps and write a report")
    lab.add_argument(
        "--data", metavar="FOLDER", help="MNIST or FashionMNIST files (idx); without it, shapes are drawn on the spot"
    )
    lab.add_argument(
        "--out", metavar="FOLDER", help="where the report is written (by default laboratory in the workspace)"
    )
    lab.add_argument("--share", type=float, default=1.0, metavar="PART", help="train on this part of the data, as 0.1")
    _add_set(lab, "change all steps")
    _add_workspace(lab)
    lab.set_defaults(command="training.laboratory.command:run_lab")


def _add_presets(commands: Any) -> None:
    presets = commands.add_parser("presets", help="list the configurations that come with the program")
    _add_json(presets)
    presets.set_defaults(command="training.presets.command:list_presets")


def _add_runs(commands: Any) -> None:
    runs = commands.add_parser("runs", help="list all runs")
    _add_workspace(runs)
    runs.set_defaults(command="training.cli.records:list_runs")


def _add_show(commands: Any) -> None:
    show = commands.add_parser("show", help="tell everything about one run")
    show.add_argument("run", metavar="RUN")
    _add_workspace(show)
    show.set_defaults(command="training.cli.records:show_run")


def _add_restore(commands: Any) -> None:
    parser = commands.add_parser("restore", help="bring back what a run set aside when it went back to a checkpoint")
    parser.add_argument("run", metavar="RUN", help="a run's id, name or folder")
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="what to bring back, as --list calls it; else the newest"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--list", action="store_true", dest="only_list", help="tell what is set aside, and change nothing"
    )
    what.add_argument(
        "--clear", action="store_true", help="delete it for good instead, all of it where no NAME is given"
    )
    _add_workspace(parser)
    parser.set_defaults(command="training.cli.restore:restore_set_aside")


def _add_config(parser: argparse.ArgumentParser) -> None:
    help_ = "a TOML file, or preset:NAME for one that comes with the program"
    parser.add_argument("config", metavar="CONFIG.toml", help=help_)


def _add_set(parser: argparse.ArgumentParser, help_: str = "change one setting") -> None:
    parser.add_argument("--set", action="append", default=[], metavar="section.key=value", dest="overrides", help=help_)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile", action="store_true", help="measure where the time of the steps goes, and tell it at the end"
    )


def _add_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="agree to run the Python file that defines the network or its teacher, as it is now",
    )


def _add_workspace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", default=None, metavar="DIR", help="where runs live")
    _add_json(parser)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="end stdout with one JSON object")
