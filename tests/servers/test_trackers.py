"""Runs sent to the real things: what is there after kills, resumes and an outage is what the run's own files say, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import URL

from tests.servers.followed_run import FollowedRun, expected_points, wait_until
from tests.servers.mlflow_server import MLflowServer
from tests.servers.postgresql import PASSWORD, Server
from tests.training.commands import Captured
from tests.training.tiny import tiny
from tests.training.tracking.offline_file import read_offline_run
from training.cli import main
from training.config import save_config
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.tracking.cursor import read_cursor
from training.tracking.facts import collect_settings, collect_tags
from training.tracking.settings import settings_file

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def mlflow(request: pytest.FixtureRequest) -> Iterator[MLflowServer]:
    if request.param == "sqlite":
        server = MLflowServer()
        yield server
        server.remove()
        return
    database = Server()
    url = URL.create("postgresql+psycopg2", "owner", PASSWORD, "127.0.0.1", database.port, "postgres")
    server = MLflowServer(url.render_as_string(False))
    yield server
    server.remove()
    database.remove()


def choose(mlflow: MLflowServer) -> None:
    """Where the person's trackers are."""
    settings_file().parent.mkdir(parents=True, exist_ok=True)
    settings_file().write_text(f"[mlflow]\nurl = '{mlflow.url}'\non = false\n[wandb]\nmode = 'offline'\non = false\n")


def expect_in_mlflow(server: MLflowServer, folder: RunFolder, state: str) -> None:
    """Points, settings, tags, images and files, counted in the server's database and fetched from its store of files."""
    from mlflow import MlflowClient

    ours = "SELECT run_uuid FROM tags JOIN runs USING (run_uuid) WHERE lifecycle_stage = 'active' AND key = 'trainwright.run'"
    ((run,),) = server.ask(f"{ours} AND value = :run", run=folder.id)
    rows = server.ask("SELECT key, step, value FROM metrics WHERE run_uuid = :run", run=str(run))
    points = {(str(key), int(str(step))): value for key, step, value in rows}
    assert len(rows) == len(points), [
        key for key, count in Counter((row[0], row[1]) for row in rows).items() if count > 1
    ]
    assert points == expected_points(folder)
    params = dict(server.ask("SELECT key, value FROM params WHERE run_uuid = :run", run=str(run)))
    assert params == collect_settings(folder)
    tags = dict(server.ask("SELECT key, value FROM tags WHERE run_uuid = :run", run=str(run)))
    assert collect_tags(folder).items() <= tags.items()
    assert tags["trainwright.final.step"] == str(folder.status().step)
    assert [*server.ask("SELECT status FROM runs WHERE run_uuid = :run", run=str(run))] == [(state,)]
    client = MlflowClient(server.url)
    images = [item.path for item in client.list_artifacts(str(run), "images")]
    assert len(images) == len(set(images)) >= 1
    with Image.open(client.download_artifacts(str(run), images[-1])) as image:
        assert image.size == (480, 480)
    assert {item.path for item in client.list_artifacts(str(run))} == {
        "checkpoints.json",
        "config.toml",
        "environment.json",
        "images",
    }
    assert Path(client.download_artifacts(str(run), "config.toml")).read_bytes() == folder.config_file.read_bytes()
    told = json.loads(Path(client.download_artifacts(str(run), "checkpoints.json")).read_bytes())
    assert [item["step"] for item in told] == sorted(
        int(path.name.removeprefix("step-")) for path in folder.checkpoints.iterdir()
    )


def expect_in_tensorboard(folder: RunFolder) -> None:
    """By TensorBoard's own reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder.tracking / "tensorboard"), {"scalars": 0, "images": 0, "tensors": 0})
    events.Reload()
    read = [(tag, point.step, point.value) for tag in events.Tags()["scalars"] for point in events.Scalars(tag)]
    assert len(read) == len({(tag, step) for tag, step, _ in read})
    assert {(tag, step): value for tag, step, value in read} == pytest.approx(expected_points(folder), rel=1e-6)
    for tag in events.Tags()["images"]:
        shown = events.Images(tag)
        assert len({item.step for item in shown}) == len(shown)
        with Image.open(BytesIO(shown[-1].encoded_image_string)) as image:
            assert image.size == (480, 480)
    assert events.Tags()["images"]
    texts = {tag: events.Tensors(tag) for tag in events.Tags()["tensors"]}
    assert {"settings", "environment", "outcome", "config.toml", "checkpoints.json"} <= set(texts)
    assert [len(texts[name]) for name in ("settings", "environment", "config.toml")] == [1, 1, 1]
    (settings,) = texts["settings"][0].tensor_proto.string_val
    assert settings.decode().splitlines() == [
        f"    {name} = {value}" for name, value in collect_settings(folder).items()
    ]


def expect_offline(folder: RunFolder) -> None:
    """From W&B's own file of protocol buffers."""
    (place,) = (folder.tracking / "wandb").glob("offline-run-*")
    run = read_offline_run(next(place.glob("*.wandb")))
    read = [
        (name, int(row["_step"]), value)
        for row in run.rows
        for name, value in row.items()
        if not name.startswith(("_", "images/"))
    ]
    assert len(read) == len({(tag, step) for tag, step, _ in read})
    assert {(tag, step): value for tag, step, value in read} == expected_points(folder)
    settings = {**collect_settings(folder), **collect_tags(folder)}
    assert {name: run.config[name] for name in settings} == settings
    images = [value for row in run.rows for name, value in row.items() if name.endswith("/path")]
    assert images
    for path in images:
        with Image.open(place / "files" / path) as image:
            assert image.size == (480, 480)
    files = place / "files"
    assert (files / "config.toml").read_bytes() == folder.config_file.read_bytes()
    assert (files / "checkpoints.json").is_file()
    assert (files / "environment.json").is_file()


@pytest.mark.slow
def test_two_kills_and_two_resumes_repeat_nothing_and_lose_nothing(tmp_path: Path, mlflow: MLflowServer) -> None:
    choose(mlflow)
    run = FollowedRun(tmp_path, "tensorboard", "mlflow", "wandb")
    wait_until(lambda: run.delivered("mlflow") > 0, "a first point at the server")
    run.kill()
    first = run.steps
    run.resume()
    run.wait_for(first + 10)
    run.kill(sidecar=True)
    second = run.steps
    run.resume()
    run.wait_for(second + 10)
    assert run.stop() == 130
    run.wait_for_delivery()
    for name in ("tensorboard", "mlflow", "wandb"):
        status = run.status(name)
        assert status is not None
        assert (status.complete, status.waiting, status.problem, status.notes) == (True, 0, "", ()), name
    assert len(read_history(run.folder.events_file).attempts) == 3
    expect_in_mlflow(mlflow, run.folder, "KILLED")
    expect_in_tensorboard(run.folder)
    expect_offline(run.folder)


@pytest.mark.parametrize("seconds", [5.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_a_server_that_was_away_is_caught_up_with(tmp_path: Path, mlflow: MLflowServer, seconds: float) -> None:
    choose(mlflow)
    run = FollowedRun(tmp_path, "mlflow", "tensorboard")
    wait_until(lambda: run.delivered("mlflow") > 0, "a first point at the server")
    mlflow.stop()
    away = time.monotonic()
    try:
        wait_until(lambda: (status := run.status("mlflow")) and status.problem, "word of the outage")
        run.wait_for(run.delivered("mlflow") + 20)
        before = run.delivered("tensorboard")
        wait_until(lambda: run.delivered("tensorboard") > before, "a point at the other tracker meanwhile")
        time.sleep(max(away + seconds - time.monotonic(), 0.0))
        status = run.status("mlflow")
        assert status is not None
        assert status.problem == f"{mlflow.url} cannot be reached (Connection refused)."
        assert status.waiting >= 20
        assert run.stop() == 130
    finally:
        mlflow.start()
    run.wait_for_delivery()
    status = run.status("mlflow")
    assert status is not None
    assert (status.complete, status.waiting, status.problem) == (True, 0, "")
    expect_in_mlflow(mlflow, run.folder, "KILLED")
    expect_in_tensorboard(run.folder)


def test_a_run_that_was_deleted_there_is_sent_again(tmp_path: Path, mlflow: MLflowServer) -> None:
    from mlflow import MlflowClient

    choose(mlflow)
    run = FollowedRun(tmp_path, "mlflow")
    run.wait_for(10)
    run.stop()
    run.wait_for_delivery()
    client = MlflowClient(mlflow.url)
    client.delete_run(read_cursor(run.folder, "mlflow").remote)
    before = run.steps
    run.resume()
    run.wait_for(before + 10)
    run.stop()
    run.wait_for_delivery()
    expect_in_mlflow(mlflow, run.folder, "KILLED")


def test_the_test_of_a_connection_tells_what_is_there(capfd: Captured, mlflow: MLflowServer) -> None:
    choose(mlflow)
    assert main(["track", "--test", "mlflow"]) == 0
    told = capfd.readouterr().err
    assert told.startswith(f"MLflow answers at {mlflow.url}; the experiment Trainwright is ")


@pytest.fixture
def guarded() -> Iterator[MLflowServer]:
    """A server that wants a user and a password."""
    server = MLflowServer(
        options=("--app-name", "basic-auth"),
        variables={"MLFLOW_FLASK_SERVER_SECRET_KEY": "for a test", "MLFLOW_AUTH_ADMIN_PASSWORD": "the right password"},
    )
    yield server
    server.remove()


def test_a_wrong_password_is_one_sentence_and_the_right_one_delivers(guarded: MLflowServer, tmp_path: Path) -> None:
    choose(guarded)
    workspace = ("--workspace", str(tmp_path))
    save_config(tiny(), tmp_path / "tiny.toml")
    assert main(["run", str(tmp_path / "tiny.toml"), *workspace]) == 0
    (folder,) = map(RunFolder, tmp_path.glob("runs/*"))
    command = [sys.executable, "-m", "training", "track"]

    def ask(*words: str, password: str) -> tuple[int, str]:
        variables = {"MLFLOW_TRACKING_USERNAME": "admin", "MLFLOW_TRACKING_PASSWORD": password}
        done = subprocess.run(
            [*command, *words], env=os.environ | variables, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    refused = f"{guarded.url} refuses the key; set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD."
    assert ask("--test", "mlflow", password="guessed") == (1, f"{refused}\n")
    code, told = ask(folder.id, "--to", "mlflow", *workspace, password="guessed")
    assert code == 1
    assert told.startswith(f"mlflow: {refused} 24 steps wait; send them with: ")
    assert "guessed" not in told
    assert ask(folder.id, "--to", "mlflow", *workspace, password="the right password")[0] == 0
    ((count,),) = guarded.ask("SELECT count(*) FROM metrics")
    assert count == len(expected_points(folder))
