"""MLflow's real server for some tests, in an environment of its own: ``python -m tests.servers.mlflow_server`` makes it.

The program itself needs the small client only, and the server's many packages would meddle with ours.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

PACKAGES = ("mlflow[auth]>=3.1", "psycopg2-binary")
HOME = Path(__file__).parents[2] / "build" / "mlflow-server"


def find_python() -> Path | None:
    """The Python of the server's environment: that of ``$MLFLOW_SERVER_PYTHON``, else the one that ``main`` made."""
    place = os.environ.get("MLFLOW_SERVER_PYTHON")
    python = Path(place) if place else HOME / "bin" / "python"
    return python if python.is_file() else None


class MLflowServer:
    """Begun when made, on a port of its own; ``stop`` and ``start`` take it away and bring it back. ``store`` is the URL of its
    database, "" for SQLite."""

    def __init__(
        self, store: str = "", options: tuple[str, ...] = (), variables: Mapping[str, str] | None = None
    ) -> None:
        python = find_python()
        assert python is not None, "MLflow's server is missing: python -m tests.servers.mlflow_server installs it"
        self.place = Path(tempfile.mkdtemp(prefix="trainwright-mlflow-"))
        self.store = store or f"sqlite:///{self.place}/mlflow.db"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        artifacts = ("--artifacts-destination", str(self.place / "artifacts"))
        here = ("--host", "127.0.0.1", "--port", str(self.port), "--workers", "1")
        self._command = [str(python), "-m", "mlflow", "server", "--backend-store-uri", self.store, *artifacts, *here]
        self._command += options
        self._variables = {**os.environ, "HOME": str(self.place), **(variables or {})}
        self._variables.pop("PYTHONPATH", None)  # of our own environment
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self.place, env=self._variables, stdout=log, stderr=log, start_new_session=True
            )
        end = time.monotonic() + 240
        while not self._answers():
            alive = self._process.poll() is None and time.monotonic() < end
            assert alive, (self.place / "log").read_text(encoding="utf-8")[-3000:]
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        """Take it away at once."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def remove(self) -> None:
        """Stop it for good."""
        self.stop()
        shutil.rmtree(self.place)

    def ask(self, query: str, **values: str) -> list[Any]:
        """What its database answers, past the server."""
        engine = create_engine(self.store.replace("+psycopg2", "+psycopg"))
        with engine.connect() as connection:
            found = [*connection.execute(text(query), values)]
        engine.dispose()
        return found


def main() -> int:
    """Make the environment, where it is missing; returns the exit code."""
    if find_python() is None:
        venv.create(HOME, with_pip=True)
        return subprocess.run(
            [HOME / "bin" / "python", "-m", "pip", "install", "-q", *PACKAGES], check=False
        ).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
