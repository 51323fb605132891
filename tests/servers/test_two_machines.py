"""A run of two machines between which the cable is cut: it ends in a sentence, and goes on exactly once the cable is back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.servers import namespaces
from tests.servers.followed_run import wait_until
from tests.servers.namespaces import TwoMachines
from tests.servers.test_slurm import count_steps, digests
from tests.training.tiny import tiny
from training.config import save_config
from training.launch.making import make_launch
from training.launch.plan import Machines, Plan
from training.runs.folder import RunFolder
from training.runs.records.series import read_series

pytestmark = [
    pytest.mark.server,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not namespaces.is_here(), reason="network namespaces are root's, on Linux"),
]


@pytest.fixture
def machines() -> Iterator[TwoMachines]:
    both = TwoMachines()
    yield both
    both.remove()


def begin(machines: TwoMachines, run: RunFolder) -> list[subprocess.Popen[bytes]]:
    """torch's launcher on both, as the script for Slurm starts it."""
    begun = []
    for number, address in enumerate(machines.addresses):
        launcher = [
            "torch.distributed.run",
            "--nnodes=2",
            "--nproc-per-node=1",
            "--max-restarts=0",
            "--rdzv-backend=c10d",
        ]
        meeting = [f"--rdzv-endpoint={machines.addresses[0]}:29400", "--rdzv-id=1", f"--rdzv-conf=is_host={1 - number}"]
        words = [
            sys.executable,
            "-m",
            *launcher,
            *meeting,
            f"--local-addr={address}",
            "-m",
            "training",
            "resume",
            str(run.path),
            "--made",
        ]
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": machines.cable}
        with (run.launch / f"machine-{number}.log").open("ab") as log:
            begun.append(
                machines.start(number, words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )
    return begun


def find_trainers(run: RunFolder) -> list[psutil.Process]:
    """The processes that train it, of whatever machine, and their launchers."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(run.path) in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def end(run: RunFolder) -> None:
    """Whatever is left of a test that failed."""
    for process in find_trainers(run):
        process.kill()


def test_a_cable_that_is_cut_ends_the_run_which_goes_on_exactly(machines: TwoMachines, tmp_path: Path) -> None:
    config = tiny(
        "dataset.samples=3000",
        "loop.batch_size=256",
        "model.hidden=[256, 256]",
        "loop.epochs=60",
        "checkpoints.every_steps=50",
        "precision.threads=1",
    )
    run = make_launch(config, tmp_path / "ws", Plan("slurm", Machines(nodes=2)))
    try:
        begun = begin(machines, run)
        wait_until(lambda: count_steps(run) > 120 or begun[0].poll() is not None, "steps")
        machines.cut()
        wait_until(lambda: run.status().status == "failed", "the run's end")
        record = run.status()
        assert "The connection to another of the 2 processes broke" in str(record.reason)
        assert record.last_checkpoint
        machines.mend()
        for launcher in begun:
            assert launcher.wait(240) != 0
        wait_until(lambda: not find_trainers(run), "the end of all processes")
        cut = record.step
        begun = begin(machines, run)
        assert [launcher.wait(240) for launcher in begun] == [0, 0]
    finally:
        end(run)
    record = run.status()
    assert record.status == "completed"
    assert 100 < cut < record.step
    save_config(config, tmp_path / "config.toml")
    words = ["run", str(tmp_path / "config.toml"), "--ranks", "2", "--workspace", str(tmp_path / "uncut"), "--json"]
    alone = subprocess.run([sys.executable, "-m", "training", *words], capture_output=True, text=True, check=True)
    uncut = json.loads(alone.stdout.strip().rpartition("\n")[2])
    assert digests(record.dump()) == digests(uncut)
    both = [read_series(folder.series_file)["loss"].tolist() for folder in (run, RunFolder(Path(uncut["folder"])))]
    assert both[0] == both[1]
