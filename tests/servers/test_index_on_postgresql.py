"""The index of runs on a real PostgreSQL: made, migrated, written by many, away, refused."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL, make_url

from tests.servers.postgresql import PASSWORD, Server
from tests.training.runs.documented_query import documented_query
from tests.training.runs.test_filtered_index import compare_filters
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.engine.runs.run import start_run
from training.events import EpochEnded
from training.runs.folder import RunFolder, create_run
from training.runs.index import Index
from training.runs.index.database import HEAD
from training.runs.index.recorder import IndexRecorder
from training.runs.records.history import EventLog

pytestmark = [pytest.mark.light_server, pytest.mark.timeout(600)]


@pytest.fixture
def url(server: Server, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database of its own for each test, in ``$TRAINWRIGHT_INDEX``."""
    name = f"runs_{abs(hash(request.node.name)):x}"
    with psycopg.connect(place(server, "postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    found = URL.create("postgresql", "owner", PASSWORD, "127.0.0.1", server.port, name).render_as_string(False)
    monkeypatch.setenv("TRAINWRIGHT_INDEX", found)
    return found


def place(server: Server, database: str) -> str:
    return psycopg.conninfo.make_conninfo(
        host="127.0.0.1", port=server.port, user="owner", password=PASSWORD, dbname=database
    )


def ask(url: str, query: str) -> list[tuple[object, ...]]:
    parts = make_url(url)
    words = {"host": parts.host, "port": parts.port, "user": parts.username, "password": parts.password}
    with psycopg.connect(psycopg.conninfo.make_conninfo(**words, dbname=parts.database)) as connection:  # type: ignore[arg-type]
        return connection.execute(query.encode()).fetchall()


def look(workspace: Path) -> int:
    """What opening the list of runs does to the index; returns how many runs there are."""
    index = Index(workspace)
    found = len(index.runs())
    assert index.catch_up() == 0
    index.close()
    return found


def test_the_best_checkpoint_is_the_same_by_command_by_sql_and_on_sqlite(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for seed in range(3):
        assert start_run(tiny(f"seed={seed}"), tmp_path).status == "completed"
    capfd.readouterr()
    assert main(["runs", "--best", "val/accuracy", "--json", "--workspace", str(tmp_path)]) == 0
    told = json.loads(capfd.readouterr().out)["best"]
    assert ask(url, documented_query()) == [tuple(told[key] for key in ("run", "epoch", "step", "value", "checkpoint"))]
    assert ask(url, "SELECT count(*) FROM training_history") == [(9,)]
    monkeypatch.delenv("TRAINWRIGHT_INDEX")
    assert main(["runs", "--best", "val/accuracy", "--json", "--workspace", str(tmp_path)]) == 0
    assert json.loads(capfd.readouterr().out)["best"] == told


def test_filters_find_the_same_runs_as_in_memory(tmp_path: Path, url: str) -> None:
    compare_filters(tmp_path)
    assert ask(url, "SELECT count(DISTINCT run), count(*) > 400 FROM run_settings") == [(6, True)]


def test_workspaces_that_share_a_database_leave_each_other_s_rows_alone(tmp_path: Path, url: str) -> None:
    for name in ("mine", "theirs"):
        start_run(tiny("loop.epochs=1"), tmp_path / name)
    for name in ("mine", "theirs"):
        assert look(tmp_path / name) == 1
    assert ask(url, "SELECT count(*) FROM run_records") == [(2,)]


def test_the_tables_go_down_and_up_when_a_person_says_so(
    tmp_path: Path, url: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    record = start_run(tiny("loop.epochs=1"), tmp_path)
    before = ask(url, "SELECT id, name, record FROM run_records")
    words = ["index", "--workspace", str(tmp_path)]
    assert main([*words, "--schema", "0001"]) == 0
    assert ask(url, "SELECT id, name, record FROM run_records") == before
    start_run(tiny("loop.epochs=1"), tmp_path)  # the shared tables of an older version are left alone
    assert {each.message for each in caplog.records if each.levelname == "WARNING"} == {
        "The index of runs cannot be used, the folders are read instead: its tables are those of an older Trainwright, and others "
        f"may use them; python -m training index --schema {HEAD} upgrades them"
    }
    assert main([*words, "--schema", HEAD]) == 0
    capfd.readouterr()
    assert main([*words, "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["schema"], told["runs"], told["epochs"]) == (HEAD, 2, 2)
    assert PASSWORD not in told["index"]
    assert (record.run,) in ask(url, "SELECT run FROM training_history")


def test_twenty_writers_lose_and_double_nothing_while_connections_are_cut(
    tmp_path: Path, url: str, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Each writes until all have been cut off, and 200 epochs at least."""
    writers, enough, counts = 20, threading.Event(), dict[str, int]()
    look(tmp_path)
    folders = [create_run(tmp_path, tiny(f"name=w{number}")) for number in range(writers)]
    look(tmp_path)

    def work(folder: RunFolder) -> None:
        recorder, log = IndexRecorder(folder), EventLog(folder.events_file)
        epoch = 0
        while epoch < 200 or not enough.is_set():
            epoch += 1
            log.emit(EpochEnded(step=8 * epoch, epoch=epoch, metrics={"train/loss": 1 / epoch, "val/loss": 2 / epoch}))
            recorder.notice()
            time.sleep(0.005)
        log.close()
        recorder.finish(write=True)
        counts[folder.id] = epoch

    threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    cut = 0
    while any(thread.is_alive() for thread in threads):
        with psycopg.connect(place(server, "postgres"), autocommit=True) as connection:
            query = (
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'trainwright'"
            )
            row = connection.execute(query).fetchone()
        cut += row[0] if row else 0
        if cut >= 2 * writers:
            enough.set()
        time.sleep(0.3)
    for thread in threading.enumerate():
        if thread.name == "index of runs":  # one that was cut off at last tries once more
            thread.join()
    look(tmp_path)
    rows = ask(url, "SELECT run, count(*), min(epoch), max(epoch), sum(step) FROM training_history GROUP BY run")
    assert sorted(rows) == sorted((run, n, 1, n, 8 * n * (n + 1) // 2) for run, n in counts.items())
    assert len(rows) == writers
    assert ask(url, "SELECT count(*) FROM training_metrics") == [(2 * sum(counts.values()),)]


def test_a_server_that_is_away_is_one_sentence_and_caught_up_later(
    tmp_path: Path, url: str, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.stop()
    try:
        assert start_run(tiny(), tmp_path).status == "completed"
    finally:
        server.start()
    (told,) = {each.message for each in caplog.records if each.levelname == "WARNING"}
    assert told.startswith("The index of runs cannot be used, the folders are read instead: ")
    assert "Connection refused" in told
    assert "\n" not in told
    assert main(["runs", "--workspace", str(tmp_path)]) == 0
    assert ask(url, "SELECT count(*) FROM training_history") == [(3,)]


@pytest.mark.parametrize("fault", ["wrong password", "newer schema", "no such database"])
def test_a_database_that_refuses_us_is_one_sentence_and_harms_no_run(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    save_config(tiny("loop.epochs=1"), tmp_path / "tiny.toml")
    if fault == "newer schema":
        look(tmp_path)
        ask(url, "UPDATE alembic_version SET version_num = '0999' RETURNING 1")
        expected = (
            f"its tables are those of a newer Trainwright (schema 0999, this one knows {HEAD}), so update Trainwright"
        )
    elif fault == "wrong password":
        wrong = make_url(url).set(password="guessed").render_as_string(False)
        monkeypatch.setenv("TRAINWRIGHT_INDEX", wrong)
        expected = 'password authentication failed for user "owner"'
    else:
        monkeypatch.setenv("TRAINWRIGHT_INDEX", make_url(url).set(database="gone").render_as_string(False))
        expected = 'database "gone" does not exist'
    workspace = ["--workspace", str(tmp_path / "w")]
    assert main(["run", str(tmp_path / "tiny.toml"), *workspace]) == 0
    (told,) = {each.message for each in caplog.records if each.levelname == "WARNING"}
    assert expected in told
    assert "\n" not in told
    assert PASSWORD not in told
    assert "guessed" not in told
    assert main(["runs", "--best", "val/loss", *workspace]) == 0  # by the folders
