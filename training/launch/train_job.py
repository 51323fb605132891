"""The same launch for Kubernetes: a TrainJob of Kubeflow Trainer v2."""

from __future__ import annotations

import json
import shlex

from training import __version__
from training.launch.environment import engine_exports, python_of
from training.launch.plan import Plan
from training.runs.folder import RunFolder
from training.tutorial.rendering import make_environment

_LONGEST_SLUG = 24  # what makes it short enough for the names of its pods, which go on from it: 63 letters at most
_MOMENT = len("-20261128-154537-77d5")


def write_train_job(folder: RunFolder, plan: Plan) -> str:
    """Its YAML."""
    template = make_environment("training.launch").get_template("trainjob.yaml.jinja")
    return template.render(
        version=__version__,
        run=folder,
        name=name_job(folder.id),
        workspace=folder.path.parent.parent,
        machines=plan.machines,
        cloud=plan.cloud,
        python=python_of(plan.cloud.image),
        exports=engine_exports(plan.cloud.image),
        q=lambda value: shlex.quote(str(value)),
        y=lambda value: json.dumps(str(value), ensure_ascii=False),
    )


def name_job(run: str) -> str:
    """The TrainJob's name, as Kubernetes takes it: it begins with a letter."""
    slug, moment = run[:-_MOMENT], run[-_MOMENT:].strip("-")
    name = f"{slug[:_LONGEST_SLUG].strip('-')}-{moment}".strip("-")
    return name if name[0].isalpha() else f"run-{name}"
