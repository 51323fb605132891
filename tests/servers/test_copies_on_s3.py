"""Runs copied to a real S3 server and fetched back: cut in the middle, away, refused, and the same bits in the end."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.s3 import BUCKET, Server
from tests.training.commands import Captured, json_line, stopped_run
from tests.training.conftest import config, prompt_sidecars
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.runs.folder import RunFolder
from training.runs.records.manifest import read_labels, read_manifest

pytestmark = [pytest.mark.light_server, pytest.mark.timeout(600)]
__all__ = ["config", "prompt_sidecars"]

PLACE = f"s3://{BUCKET}/team"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    server.client().create_bucket(Bucket=BUCKET)
    yield server
    server.stop()


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("AWS_ENDPOINT_URL", running.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "something")
    return running


def read(server: Server, run: str, name: str) -> bytes:
    content: bytes = server.client().get_object(Bucket=BUCKET, Key=f"team/{run}/{name}")["Body"].read()
    return content


def names_of(server: Server, run: str) -> set[str]:
    found = server.client().list_objects_v2(Bucket=BUCKET, Prefix=f"team/{run}/").get("Contents", [])
    return {item["Key"].removeprefix(f"team/{run}/") for item in found}


def uploads(server: Server, run: str) -> list[Any]:
    found: list[Any] = server.client().list_multipart_uploads(Bucket=BUCKET, Prefix=f"team/{run}/").get("Uploads", [])
    return found


def expect_equal(server: Server, folder: RunFolder) -> None:
    """What lies there is what is here, by digest, and nothing else does."""
    run, labels = folder.id, read_labels(folder)
    record = json.loads(read(server, run, "copy.json"))
    assert {name.split("/")[1] for name in record["files"] if "/" in name} == set(labels.values())
    keys = {"copy.json"}
    for name, facts in record["files"].items():
        key = name if "/" in name else f"records/{facts['sha256'][:16]}-{name}"
        keys.add(key)
        assert hashlib.sha256(read(server, run, key)).hexdigest() == facts["sha256"]
        if name != "labels.json":
            assert hashlib.sha256((folder.path / name).read_bytes()).hexdigest() == facts["sha256"], name
    assert names_of(server, run) == keys
    assert not uploads(server, run)


def test_a_copier_killed_in_a_large_file_goes_on_with_the_parts_that_are_missing(
    tmp_path: Path, server: Server, capsys: Captured
) -> None:
    plain = ("optimizer.kind=sgd", "optimizer.momentum=0.0", "optimizer.nesterov=false")  # nothing but weights
    few = ("loop.epochs=1", "checkpoints.every_steps=100")
    save_config(tiny(*few, *plain, "model.hidden=[3000, 3000]"), tmp_path / "large.toml")
    assert main(["run", str(tmp_path / "large.toml"), "--json"]) == 0
    folder = RunFolder(Path(json_line(capsys)["folder"]))
    (checkpoint,) = set(read_labels(folder).values())
    weights = read_manifest(folder.checkpoints / checkpoint).files["model.safetensors"].bytes
    assert weights > 32 << 20
    server.let_through = 2
    process = subprocess.Popen([sys.executable, "-m", "training", "copy", str(folder.path), "--to", PLACE])
    for _ in range(2):
        assert server.taken.acquire(timeout=120)
    process.kill()
    process.wait()
    server.release()
    (upload,) = uploads(server, folder.id)
    parts = server.client().list_parts(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])["Parts"]
    assert len(parts) == 2
    assert "copy.json" not in names_of(server, folder.id)
    assert main(["fetch", f"{PLACE}/{folder.id}", "--workspace", str(tmp_path / "early")]) == 2  # half a copy is none
    assert "no run is copied to here" in capsys.readouterr().err
    sizes = [facts.bytes for facts in read_manifest(folder.checkpoints / checkpoint).files.values()]
    whole = sum(-(-size // (8 << 20)) for size in sizes if size > 8 << 20)
    assert main(["copy", folder.id]) == 0
    assert server.parts == whole - 2
    expect_equal(server, folder)
    server.parts = 0
    assert main(["copy", folder.id]) == 0
    assert server.parts == 0


def test_a_run_fetched_into_an_empty_workspace_goes_on_to_the_same_bits(
    config: Path, tmp_path: Path, server: Server, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped_run(config, capsys, monkeypatch)
    folder = RunFolder(Path(run["folder"]))
    assert main(["copy", folder.id, "--to", PLACE]) == 0
    expect_equal(server, folder)
    there = ["--workspace", str(tmp_path / "elsewhere"), "--json"]
    assert main(["fetch", f"{PLACE}/{folder.id}", *there]) == 0
    fetched = RunFolder(Path(json_line(capsys)["folder"]))
    assert main(["resume", folder.id, "--json"]) == 0
    assert main(["resume", folder.id, *there]) == 0
    ends = [RunFolder(place).checkpoints / "step-00000024" for place in (folder.path, fetched.path)]
    assert read_manifest(ends[0]).files == read_manifest(ends[1]).files
    assert folder.series_file.read_bytes() == fetched.series_file.read_bytes()
    assert main(["copy", folder.id]) == 0
    expect_equal(server, folder)


def test_a_server_that_is_away_delays_no_run_and_gets_all_when_it_is_back(
    config: Path, server: Server, capsys: Captured
) -> None:
    server.stop()
    try:
        assert main(["run", str(config), "--copy-to", PLACE, "--json"]) == 0
        run = json_line(capsys)
        folder = RunFolder(Path(run["folder"]))
        until = time.monotonic() + 120
        while "cannot be reached" not in show(folder, capsys):
            assert time.monotonic() < until
            time.sleep(0.5)
    finally:
        server.start()
    assert main(["copy", folder.id]) == 0  # waits for the process that the run began
    expect_equal(server, folder)
    assert "1 checkpoint, to step 24" in show(folder, capsys)


def show(folder: RunFolder, capsys: Captured) -> str:
    assert main(["show", folder.id]) == 0
    return next((line for line in capsys.readouterr().out.splitlines() if line.startswith("copy ")), "")


@pytest.mark.parametrize(
    "fault", ["no bucket", "unknown key", "wrong secret", "may only list", "may not even list", "no key"]
)
def test_what_is_refused_is_said_in_one_sentence_and_harms_no_run(
    config: Path, server: Server, capsys: Captured, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    place, words = PLACE, ""
    try:
        if fault == "no bucket":
            place, words = (
                "s3://no-such-bucket/team",
                "there is no bucket no-such-bucket; make it, or correct the address.",
            )
        elif fault == "no key":
            monkeypatch.delenv("AWS_ACCESS_KEY_ID")
            monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
            monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            words = "no key was found; set AWS_ACCESS_KEY_ID"
        else:
            key, secret = server.make_key(list_too=fault != "may not even list")
            secret = "guessed" if fault == "wrong secret" else secret
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAUNKNOWN" if fault == "unknown key" else key)
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
            words = "the key is refused (" if fault in ("unknown key", "wrong secret") else "this key may not do that"
        assert main(["copy", "--test", place]) == 1
        assert words in capsys.readouterr().err
        assert main(["run", str(config), "--json"]) == 0
        run = json_line(capsys)
        assert main(["copy", run["run"], "--to", place]) == 1
        told = capsys.readouterr().err
        assert words in told
        assert "1 checkpoint to be copied; do it with: python -m training copy" in told
        assert len(told.splitlines()) == 1
        assert "guessed" not in told
        assert words in show(RunFolder(Path(run["folder"])), capsys)
    finally:
        server.open_up()
    if fault != "no bucket":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "something")
        assert main(["copy", run["run"]]) == 0
        assert main(["copy", "--test", place]) == 0
        assert "trainwright-test" not in str(server.client().list_objects_v2(Bucket=BUCKET))
        expect_equal(server, RunFolder(Path(run["folder"])))
