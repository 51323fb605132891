"""From a configuration, or a run that is there, to a run with the file that a cluster takes."""

from __future__ import annotations

from pathlib import Path

from training.config import RunConfig, parse_config
from training.config.files import config_data
from training.config.paths import with_absolute_paths
from training.errors import InputError
from training.launch.plan import KINDS, Plan, check_cloud, check_slurm
from training.launch.record import Launch, read_launch, script_of, write_launch
from training.launch.share import refuse_other_count, with_slots
from training.launch.skypilot_task import write_skypilot_task
from training.launch.slurm_script import write_slurm_script
from training.launch.train_job import write_train_job
from training.runs.complete import explain_complete
from training.runs.folder import RunFolder, create_run, explain_unwritable, refuse_removal
from training.runs.kept_files import keep_files
from training.streams import say
from training.system.atomic import write_text

NOT_BEGUN = "Not begun yet"
_WRITTEN = f"{NOT_BEGUN}: it was written for a cluster, which has to be given it."
_WRITERS = {"slurm": write_slurm_script, "kubernetes": write_train_job, "skypilot": write_skypilot_task}


def make_launch(config: RunConfig, workspace: Path, plan: Plan) -> RunFolder:
    """A new run of ``config``, not begun, with the code and the exclude list that it names as they are now, and with the file for the
    cluster. Raises InputError, leaving nothing behind, where one of both cannot be."""
    check_plan(plan)
    config = parse_config(with_absolute_paths(config_data(config), Path.cwd()))
    config = with_slots(config, plan.machines.world_size, say)

    def prepare(run: RunFolder) -> None:
        keep_files(run, config)
        _write(run, plan)

    folder = create_run(workspace, config, prepare=prepare)
    # No process works on it, and nobody may take it for one whose process was lost.
    folder.write_status(folder.read_status().model_copy(update={"status": "stopped", "reason": _WRITTEN}))
    return folder


def launch_again(folder: RunFolder, plan: Plan) -> None:
    """Write the file for the cluster again, for a run that is there. Raises InputError where it cannot go on there, and while a process
    works on it."""
    check_plan(plan)
    if complete := explain_complete(folder, None):
        raise InputError(complete)
    refuse_removal(folder)
    refuse_other_count(folder.config().loop.slots, plan.machines.world_size)
    before = read_launch(folder)
    _write(folder, plan, before if before is not None and before.kind == plan.kind else None)


def check_plan(plan: Plan) -> None:
    """Raise InputError for what can be asked of no such cluster."""
    if plan.kind == "slurm":
        check_slurm(plan.slurm)
    else:
        check_cloud(plan.kind, plan.cloud, plan.machines)


def refuse_odd_path(folder: RunFolder, plan: Plan) -> None:
    """Raise InputError for a path that cannot be told to such a cluster."""
    path = str(folder.path)
    odd, what = ("\\", "a backslash") if plan.kind == "slurm" else (":", "a colon")
    if odd in path or not path.isprintable():
        raise InputError(
            f"{path!r}: {KINDS[plan.kind]} cannot take a path with {what} or control characters; choose another workspace: --workspace."
        )


def _write(folder: RunFolder, plan: Plan, before: Launch | None = None) -> None:
    refuse_odd_path(folder, plan)
    text = _WRITERS[plan.kind](folder, plan)
    path = script_of(folder, plan.kind)
    made = Launch(kind=plan.kind, nodes=plan.machines.nodes, ranks=plan.machines.ranks)
    if before is not None:
        made = made.model_copy(update={"job": before.job, "cluster": before.cluster, "submitted": before.submitted})
    with explain_unwritable(folder.path.parent.parent):
        path.parent.mkdir(exist_ok=True)
        write_text(path, text)
        write_launch(folder, made)
