"""Slurm's own commands, asked seldom: a job is handed over, looked for, or taken back. How far its run is says the run's folder."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from dataclasses import dataclass

from training.errors import InputError
from training.launch.making import NOT_BEGUN
from training.launch.record import Launch, read_launch, script_of, write_launch
from training.runs.complete import explain_complete
from training.runs.folder import RunFolder, explain_unwritable, owner_of
from training.system.untrusted import escape_unprintable

_PATIENCE = 30.0  # seconds; a busy controller answers late
PENDING = "PENDING"
_AWAY = "resolve_ctls_from_dns_srv", "fetch_config", "Unable to contact slurm controller"
"""What Slurm's commands say where they are not set up, or their controller is away."""


@dataclass(frozen=True)
class Job:
    """What squeue tells of one: its state in Slurm's word, and why it waits."""

    id: str
    state: str
    reason: str = ""

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason not in ("", "None") else ""
        return f"Slurm job {self.id}: {self.state}{why}"


def submit(folder: RunFolder) -> Launch:
    """Hand the run's script to Slurm. Raises InputError, with Slurm's own words, where it takes none, and where Slurm has a job of this run
    already."""
    launch, script = read_launch(folder), script_of(folder, "slurm")
    if launch is None or launch.kind != "slurm" or not script.is_file():
        raise InputError(
            f"The run {folder.id} has no script for Slurm; write one: python -m training launch {name_run(folder)} --slurm"
        )
    if complete := explain_complete(folder, None):
        raise InputError(complete)
    if jobs := find_jobs(folder, launch.cluster):
        raise InputError(
            f"{jobs[0]} is of this run already; cancel it first: python -m training launch {name_run(folder)} --cancel"
        )
    owner = owner_of(folder.path)
    if owner is not None:
        raise InputError(f"The run {folder.id} is being trained by {owner}; stop it first.")
    job, _, cluster = _ask("sbatch", "--parsable", str(script)).strip().partition(";")
    launch = launch.model_copy(update={"job": job, "cluster": cluster, "submitted": time.time()})
    with explain_unwritable(folder.path.parent.parent):
        write_launch(folder, launch)
    record = folder.status()
    if (record.reason or "").startswith(NOT_BEGUN):
        waits = f"{NOT_BEGUN}: it waits for its turn on the cluster (Slurm job {job})."
        folder.write_status(record.model_copy(update={"reason": waits}))
    return launch


def find_jobs(folder: RunFolder, cluster: str = "") -> list[Job]:
    """The run's jobs that Slurm has, waiting or at work; those that are named after it, also where somebody else submitted them. Raises InputError where
    Slurm cannot be asked."""
    where = [f"--clusters={cluster}"] if cluster else []
    told = _ask("squeue", "--noheader", f"--name={folder.id}", "--format=%i|%T|%r", *where)
    fields = (line.split("|") for line in told.splitlines() if line.count("|") == 2)
    return [Job(*(escape_unprintable(text.strip(), 200) for text in each)) for each in fields]


def cancel(folder: RunFolder) -> list[Job]:
    """Take back what Slurm has of the run: a job that waits is gone, one at work is asked to stop the run and keep it. Returns which those
    were. Raises InputError where there are none."""
    launch = read_launch(folder)
    cluster = launch.cluster if launch is not None else ""
    jobs = find_jobs(folder, cluster)
    if not jobs:
        raise InputError(f"Slurm has no job of the run {folder.id}, so there is nothing to cancel.")
    where = [f"--clusters={cluster}"] if cluster else []
    for job in jobs:
        # To the script alone: it waits until the run has saved, for which Slurm's own end gives half a minute.
        how = [f"--state={PENDING}"] if job.state == PENDING else ["--batch", "--signal=TERM"]
        _ask("scancel", *where, *how, job.id)
    return jobs


def name_run(folder: RunFolder) -> str:
    """The run as a command takes it, whatever workspace is the usual one."""
    return shlex.quote(str(folder.path))


def _ask(program: str, *words: str) -> str:
    """What ``program`` answers. Raises InputError with what it says instead."""
    try:
        done = subprocess.run(
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            env={**os.environ, "SLURM_TIME_FORMAT": "standard"},
            check=False,
        )
    except FileNotFoundError as error:
        raise InputError(
            f"{program} is not on this machine; log in where Slurm's commands are, and ask there."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{program} did not answer within {_PATIENCE:.0f} s; try again later.") from error
    except OSError as error:
        raise InputError(f"{program} cannot be started ({error.strerror or error}).") from error
    if done.returncode:
        said = _last_words(done.stderr, program) or f"it ended with {done.returncode}"
        if any(words in done.stderr for words in _AWAY):
            raise InputError(
                f"{program} is on this machine, but reaches no cluster ({said}); log in on a machine of the cluster, and ask there."
            )
        raise InputError(f"{program} says: {said}.")
    return done.stdout


def _last_words(text: str, program: str) -> str:
    lines = (line.removeprefix(f"{program}: ").removeprefix("error: ").strip() for line in text.splitlines())
    return escape_unprintable("; ".join(line.rstrip(".") for line in lines if line), 500)
