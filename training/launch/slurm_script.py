"""The script that Slurm takes: what is asked of the cluster, and what to do when it takes the machines away."""

from __future__ import annotations

from training.launch.plan import Machines, Plan, SlurmWords
from training.launch.rendering import render_launch
from training.runs.folder import RunFolder


def write_slurm_script(folder: RunFolder, plan: Plan) -> str:
    """Its text."""
    options = list_options(folder, plan.machines, plan.slurm)
    return render_launch("slurm.sh.jinja", folder, plan, options=options, notice=plan.slurm.notice)


def list_options(folder: RunFolder, machines: Machines, words: SlurmWords) -> list[str]:
    """The lines that begin with #SBATCH, without that."""
    path = folder.launch / "slurm.log"
    options = {
        "job-name": folder.id,
        "nodes": machines.nodes,
        "ntasks-per-node": 1,
        "cpus-per-task": machines.cpus or machines.ranks,
        "gpus-per-node": machines.gpus or None,
        "time": words.time or None,
        "partition": words.partition or None,
        "account": words.account or None,
        "signal": f"B:USR1@{words.notice}",
    }
    given = [f"--{name}={quote(str(value))}" for name, value in options.items() if value is not None]
    for option in words.options:
        name, equals, value = option.partition("=")
        given.append(f"--{name}{equals}{quote(value)}")
    # A percent sign begins a pattern of Slurm's, unless a backslash anywhere in the path says that there is none.
    output = str(path).replace("%", "\\%", 1)
    return [
        *given,
        "--requeue",
        "--open-mode=append",
        f"--chdir={quote(str(folder.path))}",
        f"--output={quote(output)}",
    ]


def quote(value: str) -> str:
    """``value`` as sbatch reads it in a #SBATCH line."""
    if value and all(letter.isalnum() or letter in "/._-:@+,=" for letter in value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if value else ""
