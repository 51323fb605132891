"""What is told of a run that a cluster trains, beside what its folder says by itself."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from training.errors import InputError, format_moment
from training.launch.record import Launch, read_launch, script_of
from training.launch.slurm import find_jobs
from training.runs.folder import RunFolder


def describe_launch(folder: RunFolder) -> Iterator[str]:
    """The line of a run that a file for a cluster was written for."""
    launch = read_launch(folder)
    if launch is None:
        return
    head = f"launched   for {launch.name}, {launch.machines}"
    if launch.kind != "slurm":
        yield f"{head}; its file is {script_of(folder, launch.kind)}"
        return
    yield f"{head}; {_describe_slurm(folder, launch)}"


def record_launch(folder: RunFolder) -> JsonValue:
    """The same as JSON; None where no file was written."""
    launch = read_launch(folder)
    if launch is None:
        return None
    told: dict[str, JsonValue] = {**launch.model_dump(), "script": str(script_of(folder, launch.kind))}
    if launch.kind == "slurm":
        told["jobs"] = None
        if _is_worth_asking(folder, launch):
            try:
                told["jobs"] = [
                    {"job": job.id, "state": job.state, "reason": job.reason}
                    for job in find_jobs(folder, launch.cluster)
                ]
            except InputError as error:
                told["problem"] = error.message
    return told


def _describe_slurm(folder: RunFolder, launch: Launch) -> str:
    known = (
        f"job {launch.job}, submitted {format_moment(launch.submitted)}"
        if launch.job
        else f"not submitted: {script_of(folder, 'slurm')}"
    )
    if not _is_worth_asking(folder, launch):
        return known
    try:
        jobs = find_jobs(folder, launch.cluster)
    except InputError as error:
        return f"{known}; {error.message}"
    if jobs:
        return "; ".join(map(str, jobs))
    return f"{known}, is over" if launch.job else known


def _is_worth_asking(folder: RunFolder, launch: Launch) -> bool:
    """Whether Slurm may know more than the run's folder."""
    return bool(launch.job) and folder.status().status != "completed"
