"""A sweep whose trials are kept in a real PostgreSQL: two workers at once, a password that no file holds, a server that is away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL

from tests.servers.postgresql import PASSWORD, Server
from tests.training.commands import json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config

pytest.importorskip("optuna", reason="optuna is not installed: pip install 'trainwright[sweeps]'")
pytestmark = [pytest.mark.light_server, pytest.mark.timeout(600)]


@pytest.fixture
def url(server: Server) -> str:
    place = psycopg.conninfo.make_conninfo(
        host="127.0.0.1", port=server.port, user="owner", password=PASSWORD, dbname="postgres"
    )
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS sweeps")
        connection.execute("CREATE DATABASE sweeps")
    return URL.create("postgresql", "owner", PASSWORD, "127.0.0.1", server.port, "sweeps").render_as_string(False)


def test_two_workers_on_postgresql_share_a_sweep(
    server: Server, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save_config(tiny("loop.epochs=2", "precision.threads=1"), tmp_path / "tiny.toml")
    monkeypatch.setenv("TRAINWRIGHT_SWEEPS_PASSWORD", "")  # put back afterwards
    words = [
        "--vary",
        "optimizer.lr=1e-4:1e-1:log",
        "--vary",
        "model.hidden=[8]|[16,16]",
        "--trials",
        "5",
        "--pruner",
        "hyperband",
    ]
    place = ["--workspace", str(tmp_path / "ws"), "--json"]
    assert main(["sweep", "new", str(tmp_path / "tiny.toml"), *words, "--storage", url, *place]) == 0
    made = json_line(capsys)
    written = "".join(path.read_text() for path in Path(made["folder"]).glob("*.*"))
    assert PASSWORD not in written
    assert "sesame" not in written
    command = [sys.executable, "-m", "training", "sweep", "work", made["sweep"], "--workspace", str(tmp_path / "ws")]
    environment = {**os.environ, "TRAINWRIGHT_SWEEPS_PASSWORD": PASSWORD}
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    said = [worker.communicate(timeout=300)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], said
    begun = [line.split()[0] for text in said for line in text.splitlines() if " new: " in line]
    assert sorted(begun) == [f"[{number}]" for number in range(5)]
    assert main(["sweep", "show", made["sweep"], *place]) == 0
    shown = json_line(capsys)
    assert {trial["state"] for trial in shown["trials"]} <= {"complete", "pruned"}
    assert shown["best"] is not None
    monkeypatch.setenv("TRAINWRIGHT_SWEEPS_PASSWORD", "wrong")
    assert main(["sweep", "show", made["sweep"], *place]) == 2
    told = capsys.readouterr().err
    assert "cannot be used" in told
    assert "wrong" not in told
    server.stop()
    try:
        assert main(["sweep", "show", made["sweep"], *place]) == 2
        assert "cannot be used" in capsys.readouterr().err
    finally:
        server.start()
