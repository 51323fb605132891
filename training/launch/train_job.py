"""The same launch for Kubernetes: a TrainJob of Kubeflow Trainer v2."""

from __future__ import annotations

from training.launch.plan import Plan
from training.launch.rendering import render_launch
from training.runs.folder import RunFolder

_LONGEST_SLUG = 24  # what makes it short enough for the names of its pods, which go on from it: 63 letters at most
_MOMENT = len("-20261128-154537-77d5")


def write_train_job(folder: RunFolder, plan: Plan) -> str:
    """Its YAML."""
    name = name_job(folder.id)
    return render_launch("trainjob.yaml.jinja", folder, plan, plan.cloud.image, cloud=plan.cloud, name=name)


def name_job(run: str) -> str:
    """The TrainJob's name, as Kubernetes takes it: it begins with a letter."""
    slug, moment = run[:-_MOMENT], run[-_MOMENT:].strip("-")
    name = f"{slug[:_LONGEST_SLUG].strip('-')}-{moment}".strip("-")
    return name if name[0].isalpha() else f"run-{name}"
