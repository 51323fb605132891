"""Runs that a real Slurm trains: watched by their folders, cut by the time limit, gone on with in the next turn, canceled, and lost with their
node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.servers.followed_run import wait_until
from tests.servers.slurm import NODES, Slurm
from tests.training.ranks.conftest import CONFIG, NETWORK
from tests.training.tiny import tiny
from training.config import RunConfig, apply_overrides, parse_config, save_config
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import read_manifest
from training.runs.records.ranks import read_ranks
from training.runs.records.series import STEP_ROW, count_rows, read_series

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]

ENDLESS = ("dataset.samples=3000", "loop.batch_size=256", "model.hidden=[256, 256]", "loop.epochs=1000000")


class Shell:
    """The command line as somebody types it where Slurm's commands are, in an odd workspace."""

    def __init__(self, cluster: Slurm, place: Path) -> None:
        self._cluster = cluster
        self._place = place
        self.workspace = place / 'a user\'s "runs" at 50%'

    def type(self, *words: str, code: int = 0) -> tuple[dict[str, Any], str]:
        """``python -m training WORDS``; returns its JSON and what it said."""
        command = [sys.executable, "-m", "training", *words, "--workspace", str(self.workspace), "--json"]
        environment = {**os.environ, **self._cluster.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        last = done.stdout.strip().rpartition("\n")[2]
        return json.loads(last) if last.startswith("{") else {}, done.stderr

    def write(self, config: RunConfig) -> str:
        """As a file."""
        path = self._place / "config.toml"
        save_config(config, path)
        return str(path)

    def submit(self, config: RunConfig, *words: str) -> RunFolder:
        """Launch it."""
        told, _ = self.type("launch", self.write(config), "--slurm", "--submit", *words)
        return RunFolder(Path(told["folder"]))

    def show(self, run: RunFolder) -> dict[str, Any]:
        """What it tells of the run."""
        return self.type("show", str(run.path))[0]


@pytest.fixture
def shell(cluster: Slurm, tmp_path: Path) -> Shell:
    return Shell(cluster, tmp_path)


def count_steps(run: RunFolder) -> int:
    return count_rows(run.series_file, STEP_ROW) if run.series_file.exists() else 0


def log_of(run: RunFolder) -> str:
    path = run.launch / "slurm.log"
    return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else "no log"


def digests(record: Mapping[str, Any]) -> dict[str, str]:
    """Of all that the last checkpoint holds."""
    manifest = read_manifest(Path(record["last_checkpoint"]))
    return {name: facts.sha256 for name, facts in manifest.files.items()}


@pytest.mark.parametrize("nodes", [1, 2])
def test_the_time_limit_cuts_a_run_which_goes_on_exactly(
    nodes: int, cluster: Slurm, shell: Shell, tmp_path: Path
) -> None:
    """Slurm looks at time limits twice a minute: three minutes of which two are notice leave half a minute to train."""
    data = tomllib.loads(CONFIG.format(network=NETWORK))
    pause = (
        0.2 if nodes == 2 else 0.1
    )  # of each pass, of which one process makes two: a step takes as long on any machine
    apply_overrides(
        data, ("loop.slots=2", "loop.accumulation=1", "loop.max_steps=400", f"model.arguments.pause={pause}")
    )
    run = shell.submit(
        parse_config(data, paths=False), "--time", "3", "--notice", "115", "--nodes", str(nodes), "--trust"
    )
    assert shell.show(run)["launch"]["jobs"][0]["state"] in ("PENDING", "RUNNING")
    uncut = [
        sys.executable,
        "-m",
        "training",
        "run",
        str(tmp_path / "config.toml"),
        "--workspace",
        str(tmp_path / "uncut"),
        "--trust",
    ]
    shared = ["--ranks", "2"] if nodes == 2 else []
    beside = subprocess.Popen([*uncut, *shared, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wait_until(lambda: run.read_status().status == "stopped" and count_steps(run) > 0, "the end of its first turn")
    reason = shell.show(run)["reason"]
    assert reason.startswith("The time of Slurm job"), log_of(run)
    assert reason.endswith("was nearly over, so the run was stopped and kept; it goes on in the job's next turn.")
    end = time.monotonic() + 600
    while run.read_status().status != "completed":
        assert time.monotonic() < end, log_of(run)
        time.sleep(0.5)
    shown = shell.show(run)
    assert len(shown["attempts"]) > 1
    assert shown["attempts"][1]["step"] > 0
    wait_until(lambda: not cluster.state(run.id), "the job's end")
    out, _ = beside.communicate()
    alone = json.loads(out.strip().rpartition("\n")[2])
    assert digests(shown) == digests(alone)
    assert (
        read_series(run.series_file)["loss"].tolist()
        == read_series(RunFolder(Path(alone["folder"])).series_file)["loss"].tolist()
    )


def test_two_ranks_of_a_job_train_what_two_here_train(cluster: Slurm, shell: Shell, tmp_path: Path) -> None:
    run = shell.submit(tiny("loop.epochs=4", "precision.threads=1"), "--ranks", "2")
    wait_until(lambda: run.read_status().status == "completed" or not cluster.state(run.id), "the run's end")
    shown = shell.show(run)
    assert shown["status"] == "completed", log_of(run)
    assert run.config().loop.slots == 2
    record = read_ranks(run.path)
    assert record is not None
    assert len(record.ranks) == 2
    here = [sys.executable, "-m", "training", "run", str(tmp_path / "config.toml"), "--ranks", "2", "--json"]
    done = subprocess.run([*here, "--workspace", str(tmp_path / "here")], capture_output=True, text=True, check=True)
    assert digests(shown) == digests(json.loads(done.stdout.strip().rpartition("\n")[2]))


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_job_is_canceled_at_work_and_the_run_resumes(nodes: int, cluster: Slurm, shell: Shell) -> None:
    run = shell.submit(tiny(*ENDLESS), "--nodes", str(nodes))
    wait_until(lambda: count_steps(run) > 20 or not cluster.state(run.id), "steps")
    assert cluster.state(run.id) == "RUNNING", log_of(run)
    _, said = shell.type("launch", str(run.path), "--submit", code=2)
    assert "is of this run already" in said
    _, said = shell.type("launch", str(run.path), "--cancel")
    assert "stops the run, which is kept" in said
    wait_until(lambda: not cluster.state(run.id), "the job's end")
    shown = shell.show(run)
    assert shown["status"] == "stopped", log_of(run)
    assert "was canceled or preempted, so the run was stopped and kept" in shown["reason"]
    assert Path(shown["last_checkpoint"]).name == f"step-{shown['step']:08}"
    told, said = shell.type("launch", str(run.path), "--submit")
    assert told["launch"]["job"] != shown["launch"]["job"]
    wait_until(lambda: len(shell.show(run)["attempts"]) == 2, "a second attempt")
    assert shell.show(run)["attempts"][1]["step"] == shown["step"]
    cluster.ask("scancel", shell.show(run)["launch"]["job"])  # as a person does it who knows Slurm
    wait_until(lambda: not cluster.state(run.id), "the job's end")
    last = shell.show(run)
    assert (last["status"], last["step"] >= shown["step"]) == ("stopped", True), log_of(run)
    assert "was canceled or preempted" in last["reason"]


def test_a_job_that_waits_says_why_and_is_canceled(cluster: Slurm, shell: Shell) -> None:
    first = shell.submit(tiny(*ENDLESS), "--sbatch", "exclusive", "--sbatch", f"nodelist={NODES[0]}")
    run = shell.submit(tiny(*ENDLESS), "--sbatch", f"nodelist={NODES[0]}")
    wait_until(lambda: cluster.state(first.id) == "RUNNING", "the first job")
    shown = shell.show(run)
    assert (shown["status"], shown["attempts"]) == ("stopped", [])
    assert (
        shown["reason"] == f"Not begun yet: it waits for its turn on the cluster (Slurm job {shown['launch']['job']})."
    )
    (job,) = shown["launch"]["jobs"]
    assert job["state"] == "PENDING"
    assert job["reason"] not in ("", "None")
    _, said = shell.type("launch", str(run.path), "--cancel")
    assert "is canceled" in said
    wait_until(lambda: not cluster.state(run.id), "its end")
    shell.type("launch", str(first.path), "--cancel")
    wait_until(lambda: not cluster.state(first.id), "the first job's end")


def test_slurms_own_words_are_told(shell: Shell) -> None:
    config = shell.write(tiny())
    _, said = shell.type("launch", config, "--slurm", "--submit", "--partition", "nowhere", code=2)
    assert "invalid partition specified: nowhere" in said.lower()
    (folder,) = (shell.workspace / "runs").iterdir()  # what was written stays, to be corrected and submitted
    assert RunFolder(folder).launch.is_dir()


def test_a_run_that_the_cluster_refuses_stays_and_says_why(cluster: Slurm, shell: Shell) -> None:
    run = shell.submit(tiny("precision.device=cuda"))
    wait_until(lambda: not cluster.state(run.id), "the job's end")
    shown = shell.show(run)
    assert shown["status"] == "failed", log_of(run)
    assert "precision.device" in shown["reason"] or "CUDA" in shown["reason"], shown["reason"]


def test_two_nodes_of_which_one_dies_go_on_once_it_is_back(cluster: Slurm, shell: Shell) -> None:
    run = shell.submit(tiny(*ENDLESS, "checkpoints.every_steps=50"), "--nodes", "2")
    wait_until(lambda: count_steps(run) > 120 or not cluster.state(run.id), "steps")
    cluster.kill_node(NODES[1])
    try:
        wait_until(lambda: shell.show(run)["status"] in ("interrupted", "failed", "stopped"), "its end")
        assert shell.show(run)["last_checkpoint"]
        wait_until(lambda: cluster.state(run.id) == "PENDING", "a job that waits for two nodes")
    finally:
        cluster.start_node(NODES[1])
    wait_until(lambda: len(read_history(run.events_file).attempts) > 1, "a second attempt")
    assert shell.show(run)["attempts"][1]["step"] >= 100
    shell.type("launch", str(run.path), "--cancel")
    wait_until(lambda: not cluster.state(run.id), "the job's end")
    assert shell.show(run)["status"] == "stopped", log_of(run)


def test_a_dead_node_leaves_a_run_that_another_goes_on_with(cluster: Slurm, shell: Shell) -> None:
    run = shell.submit(tiny(*ENDLESS, "checkpoints.every_steps=50"))
    wait_until(lambda: count_steps(run) > 120 or not cluster.state(run.id), "steps")
    (node,) = cluster.ask("squeue", "--noheader", f"--name={run.id}", "--format=%N").split()
    cluster.kill_node(node)
    try:
        wait_until(lambda: shell.show(run)["status"] == "interrupted", "an interrupted run")
        wait_until(lambda: len(read_history(run.events_file).attempts) > 1, "a second attempt")
        shown = shell.show(run)
        assert shown["attempts"][1]["step"] >= 100
        assert shown["launch"]["jobs"][0]["state"] == "RUNNING"
        assert cluster.ask("squeue", "--noheader", f"--name={run.id}", "--format=%N") != node
    finally:
        cluster.start_node(node)
    shell.type("launch", str(run.path), "--cancel")
    wait_until(lambda: not cluster.state(run.id), "the job's end")
