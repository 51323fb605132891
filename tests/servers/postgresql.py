"""A PostgreSQL server of Debian's packages for some tests: its own data folder, port and password, gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from tests.servers.debian import find_postgres

PASSWORD = "open sesame/ä"


class Server:
    """Begun when made; ``stop`` and ``start`` take it away and bring it back."""

    def __init__(self) -> None:
        programs = find_postgres()
        assert programs is not None, "PostgreSQL is missing: python -m tests.servers.debian installs it"
        self._programs = programs
        self._place = Path(tempfile.mkdtemp(prefix="trainwright-postgresql-"))
        self._as_owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        password = self._place / "password"
        password.write_text(PASSWORD, encoding="utf-8")
        if self._as_owner:
            for path in (self._place, password):
                shutil.chown(path, "postgres")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = ["-U", "owner", f"--pwfile={password}", "--auth=scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8"]
        self._run("initdb", "-D", str(self._place / "data"), *options)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        quick = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=60"
        log = str(self._place / "log")
        self._run("pg_ctl", "-D", str(self._place / "data"), "-w", "-l", log, "-o", quick, "start")

    def stop(self) -> None:
        """Take it away at once, cutting every connection."""
        self._run("pg_ctl", "-D", str(self._place / "data"), "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        """Stop it for good."""
        self.stop()
        shutil.rmtree(self._place)

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as_owner, str(self._programs / program), *arguments]
        done = subprocess.run(
            command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
