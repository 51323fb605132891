"""On what a cluster is to train a run, as a person asked for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from training.errors import InputError, pluralize

Kind = Literal["slurm", "kubernetes", "skypilot"]
KINDS: Final[Mapping[Kind, str]] = {
    "slurm": "Slurm",
    "kubernetes": "Kubernetes (Kubeflow TrainJob)",
    "skypilot": "SkyPilot",
}
NOTICE_SECONDS: Final = 120
_LATE_SECONDS: Final = 60
"""Slurm may send the signal before the limit as much earlier than asked for."""
_TIME = re.compile(r"(?:(?P<days>\d+)-(?P<clock>\d+(?::\d+){0,2})|(?P<short>\d+(?::\d+){0,2}))")
_OPTION = re.compile(r"[a-z][a-z0-9-]*(=[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?)?")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_OURS = frozenset(
    {"job-name", "nodes", "ntasks-per-node", "cpus-per-task", "gpus-per-node", "time", "partition", "account", "signal"}
    | {"requeue", "no-requeue", "open-mode", "output", "chdir", "error", "array", "wrap", "parsable"}
)
"""What the script says itself, or what would make something else of it."""


@dataclass(frozen=True)
class Machines:
    """``ranks`` processes, each of which trains, on each of ``nodes`` machines. ``gpus`` and ``cpus`` are of one machine; 0: not asked for."""

    nodes: int = 1
    ranks: int = 1
    gpus: int = 0
    cpus: int = 0

    @property
    def world_size(self) -> int:
        """How many processes train."""
        return self.nodes * self.ranks

    def __str__(self) -> str:
        return f"{pluralize(self.nodes, 'node')} x {pluralize(self.ranks, 'rank')}"


@dataclass(frozen=True)
class SlurmWords:
    """What Slurm alone is told; "" for what the cluster decides. ``options`` are further ones of sbatch, without their two dashes."""

    partition: str = ""
    account: str = ""
    time: str = ""
    notice: int = NOTICE_SECONDS
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class CloudWords:
    """What Kubernetes or SkyPilot are told: a container image with the engine, the shared disk that holds the workspace (a
    PersistentVolumeClaim, a SkyPilot volume), the TrainJob's runtime, what kind of GPU."""

    image: str = ""
    disk: str = ""
    runtime: str = "torch-distributed"
    accelerator: str = ""


@dataclass(frozen=True)
class Plan:
    """All that is asked for."""

    kind: Kind
    machines: Machines
    slurm: SlurmWords = field(default_factory=SlurmWords)
    cloud: CloudWords = field(default_factory=CloudWords)


def plan_machines(nodes: int, ranks: int | str | None, gpus: int, cpus: int) -> Machines:
    """The machines that were asked for: a rank for each GPU where it is "all" or nobody says. Raises InputError."""
    for name, number, least in (("--nodes", nodes, 1), ("--gpus-per-node", gpus, 0), ("--cpus-per-node", cpus, 0)):
        if number < least:
            raise InputError(f"{name} {number}: has to be {least} or more.")
    if ranks == "all" and not gpus:
        raise InputError(
            "--ranks all: is one for each GPU, and none is asked for; add --gpus-per-node, or say a number."
        )
    chosen = ranks if isinstance(ranks, int) else gpus or 1
    if gpus and chosen > gpus:
        raise InputError(
            f"--ranks {chosen}: each rank needs a GPU of its own, and --gpus-per-node asks for {gpus}; give both the same number."
        )
    return Machines(nodes, chosen, gpus, cpus)


def check_slurm(words: SlurmWords) -> None:
    """Raise InputError for what cannot stand in a script, and for a time in which nothing could be trained; whether the cluster has such
    a partition or account is for Slurm to say."""
    for name, value in (("--partition", words.partition), ("--account", words.account)):
        if value and not value.isprintable():
            raise InputError(
                f"{name}: {value!r} holds what is no letter; write the name as sinfo or sacctmgr tells it."
            )
    for option in words.options:
        name = option.partition("=")[0]
        if not _OPTION.fullmatch(option):
            raise InputError(f"--sbatch {option!r}: write it as sbatch's long option without dashes, as in mem=64G.")
        if name in _OURS:
            raise InputError(f"--sbatch {option}: the script sets {name} itself; see python -m training launch --help.")
    if words.notice < 1:
        raise InputError(
            f"--notice {words.notice}: the run needs seconds to save what it has; {NOTICE_SECONDS} is usual."
        )
    if not words.time:
        return
    limit = count_seconds(words.time)
    if limit is not None and limit <= words.notice + _LATE_SECONDS:
        raise InputError(
            f"--time {words.time}: leaves no time to train, since Slurm tells the run to stop {words.notice} s before the limit, or up to "
            f"{_LATE_SECONDS} s earlier; give more time, or less of it with --notice."
        )


def check_cloud(kind: Kind, words: CloudWords, machines: Machines) -> None:
    """Raise InputError for what is missing or can be no name there."""
    asked = {"--image": words.image, "--accelerator": words.accelerator, "--runtime": words.runtime}
    for name, value in asked.items():
        if value and (not value.isprintable() or any(letter.isspace() for letter in value)):
            raise InputError(f"{name}: {value!r} holds a space or what is no letter.")
    disk = "--claim" if kind == "kubernetes" else "--volume"
    if words.disk and not _NAME.fullmatch(words.disk):
        raise InputError(f"{disk} {words.disk!r}: such a name has small letters, digits, dots and dashes only.")
    if kind == "kubernetes" and not words.image:
        raise InputError("--kubernetes needs --image: a container image in which python -m training works.")
    if kind == "kubernetes" and not words.disk:
        raise InputError(
            "--kubernetes needs --claim: the PersistentVolumeClaim (ReadWriteMany) that holds the workspace, so that all nodes and you "
            "see the run's folder."
        )
    if kind == "skypilot" and machines.gpus and not words.accelerator:
        raise InputError(
            "--gpus-per-node: SkyPilot asks which GPU; add --accelerator, such as H100 (sky gpus list names them)."
        )


def count_seconds(time: str) -> int | None:
    """What Slurm understands by a time limit: "90" minutes, "1:30:00", "2-12" days and hours; None for no limit. Raises InputError."""
    if time.lower() in ("infinite", "unlimited"):
        return None
    found = _TIME.fullmatch(time)
    if found is None:
        raise InputError(
            f"--time {time!r}: write it as Slurm does: 90 (minutes), 04:00:00, 2-12:00 (days-hours:minutes)."
        )
    if found["days"] is not None:
        parts = [int(part) for part in found["clock"].split(":")]
        hours, minutes, seconds = [*parts, 0, 0][:3]
        return ((int(found["days"]) * 24 + hours) * 60 + minutes) * 60 + seconds
    parts = [int(part) for part in found["short"].split(":")]
    hours, minutes, seconds = {1: [0, *parts, 0], 2: [0, *parts], 3: parts}[len(parts)]
    return (hours * 60 + minutes) * 60 + seconds
