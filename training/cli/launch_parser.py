"""What may be typed after ``python -m training launch``."""

from __future__ import annotations

from collections.abc import Mapping

from training.arguments import Parser
from training.cli.ranks_option import parse_count
from training.launch.plan import NOTICE_SECONDS


def add_launch(command: Parser) -> None:
    """Give the command ``launch`` its words."""
    option = command.add_argument
    target = "a TOML file, or preset:NAME; or the id, name or folder of a run that is there"
    option("target", metavar="CONFIG.toml|RUN", help=target)
    for_whom = command.add_mutually_exclusive_group().add_argument
    for_whom("--slurm", action="store_const", dest="kind", const="slurm", help="write a script for Slurm's sbatch")
    told = "write a TrainJob of Kubeflow Trainer v2, which kubectl apply takes"
    for_whom("--kubernetes", action="store_const", dest="kind", const="kubernetes", help=told)
    told = "write a task of SkyPilot, which sky jobs launch takes"
    for_whom("--skypilot", action="store_const", dest="kind", const="skypilot", help=told)
    option("--nodes", type=int, metavar="N", help="on how many machines (1)")
    processes = "how many processes train on each; all: one for each GPU asked for (without it so, too, else 1)"
    option("--ranks", type=parse_count, metavar="M|all", help=processes)
    option("--gpus-per-node", type=int, metavar="G", help="how many GPUs to ask for on each machine (none)")
    option(
        "--cpus-per-node",
        type=int,
        metavar="C",
        help="how many CPU cores (one for each rank where it is not said; data workers need more)",
    )

    option("--partition", metavar="NAME", help="Slurm: the partition, as sinfo lists them")
    option("--account", metavar="NAME", help="Slurm: which account pays")
    option(
        "--time",
        metavar="LIMIT",
        help="Slurm: the time limit, as in 90 (minutes), 04:00:00 or 2-12:00; the run goes on in a next turn",
    )
    notice = f"Slurm: how long before the limit the run is stopped and saved ({NOTICE_SECONDS})"
    option("--notice", type=int, metavar="SECONDS", help=notice)
    more = "Slurm: one more option of sbatch, without dashes (mem=64G, constraint=a100); may be given several times"
    option("--sbatch", action="append", metavar="NAME=VALUE", help=more)
    option(
        "--submit", action="store_true", help="Slurm: submit the script, too; of a run that has one, submit it (again)"
    )
    option(
        "--cancel", action="store_true", help="Slurm: cancel the run's job; one at work stops the run, which is kept"
    )

    option("--image", metavar="IMAGE", help="Kubernetes, SkyPilot: a container image in which python -m training works")
    option("--claim", metavar="NAME", help="Kubernetes: the PersistentVolumeClaim that holds the workspace")
    option("--runtime", metavar="NAME", help="Kubernetes: the training runtime (torch-distributed)")
    option(
        "--volume",
        metavar="NAME",
        help="SkyPilot: the volume that holds the workspace, where the machines share no disk otherwise",
    )
    option("--accelerator", metavar="GPU", help="SkyPilot: which GPU, as in H100")


BELONGS_TO: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("partition", "account", "time", "notice", "sbatch", "submit"), frozenset({"slurm"})),
    **dict.fromkeys(("claim", "runtime"), frozenset({"kubernetes"})),
    **dict.fromkeys(("volume", "accelerator"), frozenset({"skypilot"})),
    "image": frozenset({"kubernetes", "skypilot"}),
}
"""Options that mean something for these alone."""
