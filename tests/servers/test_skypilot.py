"""SkyPilot itself reads the task that is written for it. It wants other versions of packages than we do, so it gets an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.training.commands import Captured
from tests.training.launch.launching import launch

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]

READ = """
import json, sys
import sky

task = sky.Task.from_yaml(sys.argv[1])
(resources,) = task.resources
asked = {"gpus": resources.accelerators, "image": resources.image_id, "cpus": resources.cpus}
print(json.dumps({"name": task.name, "nodes": task.num_nodes, "envs": task.envs, "run": task.run, **asked}))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has SkyPilot."""
    place = tmp_path_factory.mktemp("skypilot")
    venv.create(place, with_pip=True)
    found = place / "bin" / "python"
    done = subprocess.run(
        [found, "-m", "pip", "install", "-q", "skypilot>=0.14"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="SkyPilot knows no Windows")
def test_skypilot_understands_the_task(python: Path, tmp_path: Path, capsys: Captured) -> None:
    words = (
        "--gpus-per-node",
        "1",
        "--accelerator",
        "H100",
        "--cpus-per-node",
        "8",
        "--image",
        "registry.example/t:1",
        "--volume",
        "ws",
    )
    folder = launch(tmp_path, capsys, "--skypilot", *words)
    quiet = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    command = [str(python), "-c", READ, str(folder.launch / "skypilot.yaml")]
    done = subprocess.run(command, env=quiet, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert (told["name"], told["nodes"], told["gpus"], told["cpus"]) == (folder.id, 1, {"H100": 1}, "8+")
    assert told["envs"]["RUN"] == str(folder.path)
    assert "training resume" in told["run"]
