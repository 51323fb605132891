"""The same launch for SkyPilot: a task of its own, for the clouds, clusters and machines that it knows."""

from __future__ import annotations

import json
import shlex

from training import __version__
from training.launch.environment import engine_exports, python_of
from training.launch.plan import Plan
from training.runs.folder import RunFolder
from training.tutorial.rendering import make_environment


def write_skypilot_task(folder: RunFolder, plan: Plan) -> str:
    """Its YAML."""
    template = make_environment("training.launch").get_template("skypilot.yaml.jinja")
    return template.render(
        version=__version__,
        run=folder,
        workspace=folder.path.parent.parent,
        machines=plan.machines,
        cloud=plan.cloud,
        python=python_of(plan.cloud.image),
        exports=engine_exports(plan.cloud.image),
        q=lambda value: shlex.quote(str(value)),
        y=lambda value: json.dumps(str(value), ensure_ascii=False),
    )
