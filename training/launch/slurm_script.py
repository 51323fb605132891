"""The script that Slurm takes: what is asked of the cluster, and what to do when it takes the machines away."""

from __future__ import annotations

import shlex

from training import __version__
from training.launch.environment import engine_exports, python_of
from training.launch.plan import Machines, Plan, SlurmWords
from training.launch.record import script_of
from training.runs.folder import RunFolder
from training.tutorial.rendering import make_environment


def write_slurm_script(folder: RunFolder, plan: Plan) -> str:
    """Its text."""
    template = make_environment("training.launch").get_template("slurm.sh.jinja")
    return template.render(
        version=__version__,
        run=folder,
        script=script_of(folder, "slurm"),
        machines=plan.machines,
        options=list_options(folder, plan.machines, plan.slurm),
        notice=plan.slurm.notice,
        python=python_of(),
        exports=engine_exports(),
        q=lambda value: shlex.quote(str(value)),
    )


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
