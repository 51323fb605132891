"""A Slurm cluster of Debian's packages for some tests: its daemons are this test's own processes, in a folder of their own, and are two
machines, which both are this one. Gone afterwards; what the system has configured is left alone."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

PROGRAMS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "munged": "munge"}
"""What it takes, a program each, and its package."""
NODES = ("127.0.0.1", "127.0.0.2")
"""Names that any machine knows for itself."""
REQUEUE_SECONDS = 5
_PATIENCE = 60.0
_SBIN = os.pathsep.join(filter(None, [os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))  # of people who are not root


def find_program(name: str) -> str | None:
    """Where it is."""
    return shutil.which(name, path=_SBIN)


def is_here() -> bool:
    """Whether all of it is."""
    return all(map(find_program, PROGRAMS))


class Slurm:
    """Begun when made. Each node has two CPUs; ``kill_node`` and ``start_node`` take one away and bring it back. A job that is queued
    again has to wait ``REQUEUE_SECONDS``."""

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="trainwright-slurm-"))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        key = self.place / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))
        ports = _free_ports(1 + len(NODES))
        self.conf = self.place / "slurm.conf"
        self.conf.write_text(self._configure(ports), encoding="utf-8")
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (self.place / name).mkdir()
        files = {name: self.place / f"munge.{name}" for name in ("socket", "pid", "seed", "log")}
        options = [f"--socket={files['socket']}", f"--pid-file={files['pid']}", f"--seed-file={files['seed']}"]
        # Its folder is of this very user's, but below one that all may write: --force.
        self._start("munged", "--foreground", "--force", f"--key-file={key}", f"--log-file={files['log']}", *options)
        self._wait(files["socket"].exists, "munge's socket")
        self._start("slurmctld", "-D")
        for node in NODES:
            self.start_node(node)
        self._wait(lambda: self.ask("sinfo", "--noheader", "--format=%D %t") == "2 idle", "two idle nodes")

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which Slurm's commands mean this cluster."""
        return {"SLURM_CONF": str(self.conf)}

    def start_node(self, node: str) -> None:
        """Have it work."""
        self._start("slurmd", "-D", "-N", node, name=node)

    def kill_node(self, node: str) -> None:
        """As a power cut does: its daemon and all that its jobs do there, at once."""
        process = self._processes.pop(node)
        _kill_at_once([psutil.Process(process.pid), *self._find_steps(node)])
        process.wait()

    def ask(self, *words: str) -> str:
        """What one of Slurm's commands answers; "" where it cannot."""
        done = subprocess.run(
            words, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False, timeout=30
        )
        return done.stdout.strip()

    def state(self, run: str) -> str:
        """The state of the job of that name, "" once it is over."""
        return self.ask("squeue", "--noheader", f"--name={run}", "--format=%T")

    def remove(self) -> None:
        """End all of it."""
        for node in NODES:
            if node in self._processes:
                self.kill_node(node)
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait(_PATIENCE)
        shutil.rmtree(self.place)

    def _find_steps(self, node: str) -> list[psutil.Process]:
        """What looks after the jobs of a node, which outlives its daemon, and what they have begun."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.name() != "slurmstepd":
                    continue
                if any(Path(file.path) == self.place / f"slurmd-{node}.log" for file in process.open_files()):
                    found += [process, *process.children(recursive=True)]
        return found

    def _configure(self, ports: Sequence[int]) -> str:
        host, user = socket.gethostname(), "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
        settings = {
            "ClusterName": "trial",
            "SlurmctldHost": f"{host}(127.0.0.1)",
            "SlurmctldPort": ports[0],
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={self.place / 'munge.socket'},cred_expire={REQUEUE_SECONDS}",
            "SlurmUser": user,
            "SlurmdUser": user,
            "StateSaveLocation": self.place / "state",
            "SlurmdSpoolDir": self.place / "spool-%n",
            "SlurmctldPidFile": self.place / "slurmctld.pid",
            "SlurmdPidFile": self.place / "slurmd-%n.pid",
            "SlurmctldLogFile": self.place / "slurmctld.log",
            "SlurmdLogFile": self.place / "slurmd-%n.log",
            # No control groups, which a container may not have.
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "AccountingStorageType": "accounting_storage/none",
            "MpiDefault": "none",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU",
            "ReturnToService": 2,
            "SlurmdTimeout": 10,
            "KillWait": 30,
        }
        lines = [f"{name}={value}" for name, value in settings.items()]
        for node, port in zip(NODES, ports[1:], strict=True):
            lines.append(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2")
        lines.append(f"PartitionName=main Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP")
        return "\n".join(lines) + "\n"

    def _start(self, program: str, *words: str, name: str = "") -> None:
        found = find_program(program)
        assert found is not None, f"{program} is missing: python -m tests.servers.debian installs it"
        quiet = subprocess.DEVNULL
        with (self.place / f"{name or program}.said").open("ab") as said:
            self._processes[name or program] = subprocess.Popen(
                [found, *words], env={**os.environ, **self.environment}, stdin=quiet, stdout=said, stderr=said
            )

    def _wait(self, happened: Callable[[], object], what: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not happened():
            said = "".join(path.read_text(errors="replace")[-2000:] for path in sorted(self.place.glob("*.said")))
            assert time.monotonic() < end, f"never: {what}\n{said}"
            time.sleep(0.1)


def _kill_at_once(processes: Sequence[psutil.Process]) -> None:
    """None of them is to see the end of another."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
