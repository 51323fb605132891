"""The same launch for SkyPilot: a task of its own, for the clouds, clusters and machines that it knows."""

from __future__ import annotations

from training.launch.plan import Plan
from training.launch.rendering import render_launch
from training.runs.folder import RunFolder


def write_skypilot_task(folder: RunFolder, plan: Plan) -> str:
    """Its YAML."""
    return render_launch("skypilot.yaml.jinja", folder, plan, plan.cloud.image, cloud=plan.cloud)
