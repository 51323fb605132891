"""The files for Kubernetes and SkyPilot, by the published form of each."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured
from tests.training.launch.launching import ODD, launch
from training.launch.train_job import name_job
from training.runs.folder import RunFolder

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install 'trainwright[test]'")
KUBERNETES = ("--kubernetes", "--image", "registry.example/trainwright:1", "--claim", "workspace")


def read(folder: RunFolder, name: str) -> Any:
    return yaml.safe_load((folder.launch / name).read_text(encoding="utf-8"))


def lint(script: str) -> int:
    return subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode


@pytest.mark.parametrize("more", [(), ("--gpus-per-node", "1", "--cpus-per-node", "8", "--runtime", "ours")])
def test_a_train_job_is_what_kubeflow_publishes(more: tuple[str, ...], tmp_path: Path, capsys: Captured) -> None:
    models = pytest.importorskip("kubeflow_trainer_api.models", reason="kubeflow-trainer-api is not installed")
    folder = launch(tmp_path, capsys, *KUBERNETES, *more)
    job = read(folder, "trainjob.yaml")
    understood = models.TrainerV1alpha1TrainJob.from_dict(job)
    assert understood.to_dict() == job  # what it does not know is left out
    assert (job["apiVersion"], job["kind"]) == ("trainer.kubeflow.org/v1alpha1", "TrainJob")


def test_a_train_job_resumes_the_run_on_its_claim(tmp_path: Path, capsys: Captured) -> None:
    folder = launch(tmp_path, capsys, *KUBERNETES)
    spec = read(folder, "trainjob.yaml")["spec"]
    trainer = spec["trainer"]
    assert {"name": "RUN", "value": str(folder.path)} in trainer["env"]
    (script,) = trainer["args"]
    assert lint(script) == 0
    assert 'python -m torch.distributed.run --max-restarts=0 -m training resume "$RUN" --made' in script
    (patch,) = spec["runtimePatches"]
    (node,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = node["template"]["spec"]["template"]["spec"]
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "workspace"}
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == str(tmp_path / ODD)


def test_names_of_train_jobs_are_those_of_machines() -> None:
    assert name_job("tiny-20261128-154537-77d5") == "tiny-20261128-154537-77d5"
    assert name_job(f"{'a' * 23}-{'b' * 16}-20261128-154537-77d5") == f"{'a' * 23}-20261128-154537-77d5"
    assert name_job("3d-nets-20261128-154537-77d5") == "run-3d-nets-20261128-154537-77d5"


def test_a_task_for_skypilot_resumes_the_run(tmp_path: Path, capsys: Captured) -> None:
    words = (
        "--image",
        "registry.example/t:1",
        "--volume",
        "workspace",
        "--gpus-per-node",
        "1",
        "--accelerator",
        "H100",
    )
    folder = launch(tmp_path, capsys, "--skypilot", *words)
    task = read(folder, "skypilot.yaml")
    assert task["resources"] == {"accelerators": "H100:1", "image_id": "docker:registry.example/t:1"}
    assert task["volumes"] == {str(tmp_path / ODD): "workspace"}
    assert task["envs"]["RUN"] == str(folder.path)
    assert "PYTHONPATH" not in task["envs"]
    assert task["num_nodes"] == 1
    assert lint(task["run"]) == 0
    assert '-m training resume "$RUN" --made' in task["run"]


def test_without_an_image_the_machines_have_this_very_python(tmp_path: Path, capsys: Captured) -> None:
    task = read(launch(tmp_path, capsys, "--skypilot"), "skypilot.yaml")
    assert "resources" not in task
    assert "PYTHONPATH" in task["envs"] or "site-packages" in __file__
    assert lint(task["run"]) == 0
