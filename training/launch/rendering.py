"""The files that clusters take, from their templates."""

from __future__ import annotations

import json
import shlex
from typing import Any

from training import __version__
from training.launch.environment import engine_exports, python_of
from training.launch.plan import Plan
from training.runs.folder import RunFolder
from training.tutorial.rendering import make_environment


def render_launch(template: str, folder: RunFolder, plan: Plan, image: str = "", **more: Any) -> str:
    """The text of ``template`` for the run in ``folder``, trained in the container ``image``, or by the Python that runs this; ``more`` is
    what this kind of cluster asks besides."""
    return (
        make_environment("training.launch")
        .get_template(template)
        .render(
            version=__version__,
            run=folder,
            workspace=folder.path.parent.parent,
            machines=plan.machines,
            python=python_of(image),
            exports=engine_exports(image),
            q=lambda value: shlex.quote(str(value)),
            y=lambda value: json.dumps(str(value), ensure_ascii=False),
            **more,
        )
    )
