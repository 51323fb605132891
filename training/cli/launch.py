"""``python -m training launch``: a run that a cluster trains, written down, submitted or canceled."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from training.cli.launch_parser import BELONGS_TO
from training.cli.options import load_given, workspace_of
from training.embedded_config import is_report
from training.errors import InputError
from training.launch import slurm
from training.launch.making import launch_again, make_launch
from training.launch.plan import KINDS, NOTICE_SECONDS, CloudWords, Kind, Plan, SlurmWords, plan_machines
from training.launch.record import read_launch, script_of
from training.launch.telling import record_launch
from training.runs.folder import RunFolder
from training.runs.workspace import find_run
from training.streams import print_json, say, write_out
from training.typed_paths import parse_path

_ASKED = ("nodes", "ranks", "gpus_per_node", "cpus_per_node", *BELONGS_TO)
_HOW = {"kubernetes": "kubectl apply -f {}", "skypilot": "sky jobs launch {}"}


def launch(arguments: argparse.Namespace) -> int:
    """Write, submit or cancel; returns the exit code."""
    place = parse_path(arguments.target)
    is_config = arguments.target.startswith("preset:") or place.suffix == ".toml" or place.is_file()
    kind = cast("Kind | None", arguments.kind)
    _refuse_misfits(arguments, kind, is_config)
    if arguments.cancel:
        folder = find_run(arguments.target, workspace_of(arguments))
        for job in slurm.cancel(folder):
            gone = "is canceled" if job.state == slurm.PENDING else "stops the run, which is kept, and ends"
            say(f"Slurm job {job.id} {gone}.")
        return _tell(arguments, folder)
    if kind is not None:
        folder = _write(arguments, kind, is_config)
        write_out(script_of(folder, kind).read_text(encoding="utf-8"))
        _tell_next(folder, kind, arguments.submit)
    else:
        folder = find_run(arguments.target, workspace_of(arguments))
        if read_launch(folder) is None:
            wanted = f"python -m training launch {arguments.target} --slurm"
            raise InputError(f"The run {folder.id} has no file for a cluster; write one, as by {wanted}")
    if arguments.submit:
        launched = slurm.submit(folder)
        say(
            f"Submitted as Slurm job {launched.job}; how far it is tells: python -m training show {slurm.name_run(folder)}"
        )
    return _tell(arguments, folder)


def _refuse_misfits(arguments: argparse.Namespace, kind: Kind | None, is_config: bool) -> None:
    """Raise InputError for words that do not go together."""
    if is_config and is_report(Path(arguments.target)):
        raise InputError(
            f"{arguments.target}: a report begins as its run did, on the same data or with the same checkpoint, which a cluster does not "
            "look after; launch the config.toml of its run."
        )
    given = [name for name in _ASKED if getattr(arguments, name) not in (None, False)]
    if kind is None and is_config:
        raise InputError(f"{arguments.target}: say what is to train it: --slurm, --kubernetes or --skypilot.")
    if arguments.cancel and (kind is not None or given):
        raise InputError("--cancel takes a run and nothing else.")
    if kind is None and (others := [name for name in given if name != "submit"]):
        raise InputError(f"--{others[0].replace('_', '-')}: say for what: --slurm, --kubernetes or --skypilot.")
    for name in given:
        if kind is not None and kind not in BELONGS_TO.get(name, {kind}):
            meant = " or ".join(f"--{each}" for each in sorted(BELONGS_TO[name]))
            raise InputError(f"--{name}: belongs to {meant}, and --{kind} was asked for.")
    if not is_config and (arguments.overrides or arguments.trust):
        raise InputError(
            f"{arguments.target}: is a run, whose settings stay as they are; --set and --trust belong to a configuration."
        )


def _write(arguments: argparse.Namespace, kind: Kind, is_config: bool) -> RunFolder:
    machines = plan_machines(
        _or(arguments.nodes, 1), arguments.ranks, _or(arguments.gpus_per_node, 0), _or(arguments.cpus_per_node, 0)
    )
    words = SlurmWords(
        arguments.partition or "",
        arguments.account or "",
        arguments.time or "",
        _or(arguments.notice, NOTICE_SECONDS),
        tuple(arguments.sbatch or ()),
    )
    disk = arguments.claim or arguments.volume or ""
    runtime = arguments.runtime or CloudWords.runtime
    plan = Plan(kind, machines, words, CloudWords(arguments.image or "", disk, runtime, arguments.accelerator or ""))
    if is_config:
        arguments.config = arguments.target
        return make_launch(load_given(arguments), workspace_of(arguments), plan)
    folder = find_run(arguments.target, workspace_of(arguments))
    launch_again(folder, plan)
    return folder


def _or(number: int | None, default: int) -> int:
    return default if number is None else number


def _tell_next(folder: RunFolder, kind: Kind, submits: bool) -> None:
    """Where the file lies, and what takes it."""
    path = shlex.quote(str(script_of(folder, kind)))
    if kind == "slurm":
        how = (
            ""
            if submits
            else f" Submit it by: python -m training launch {slurm.name_run(folder)} --submit (or sbatch {path})"
        )
        say(f"Written for {KINDS[kind]}: {path}.{how}")
    else:
        say(f"Written for {KINDS[kind]}; submit it by: {_HOW[kind].format(path)}")


def _tell(arguments: argparse.Namespace, folder: RunFolder) -> int:
    told: dict[str, JsonValue] = {"run": folder.id, "folder": str(folder.path), "launch": record_launch(folder)}
    if arguments.json:
        print_json(told)
    return 0
