"""Runs killed with SIGKILL at chosen moments, resumed, and compared to the bit; and the harness itself put to the test."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.reliability.kills.__main__ import main
from tests.reliability.kills.campaign import Campaign
from tests.reliability.kills.comparison import compare
from tests.reliability.kills.engine import attempt
from tests.reliability.kills.inspection import Inspector
from tests.reliability.kills.moments import TRAINING, FromOutside, Trigger
from tests.reliability.kills.scenarios import (
    READ_BY_ONE,
    READ_BY_THREAD,
    READ_BY_THREE,
    RESIDENT,
    SCENARIOS,
    write_data,
)
from tests.training.tiny import tiny
from training.config import load_config
from training.engine.runs.run import resume_run, start_run
from training.runs.folder import RunFolder
from training.runs.records.forms import FileFacts, StatusRecord
from training.runs.records.manifest import MANIFEST, STATE, WEIGHTS, digest, read_manifest, seal
from training.runs.records.series import read_series

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the harness looks into /proc")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_leave_no_trace() -> None:
    """A dozen; by hand there may be any number (``python -m tests.reliability.kills``)."""
    assert main(["--kills", "12", "--seed", "30", "--epochs", "8"]) == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["idx", "folder"])
def test_one_digest_however_batches_are_read_and_whether_killed_or_not(tmp_path: Path, kind: str) -> None:
    """0, 1 and 3 workers, resident or streamed, killed and resumed in another way: the weights of a run left alone."""
    data = write_data(tmp_path / "data")
    epochs = {"idx": 6, "folder": 24}[kind]  # the folder's are of three steps
    scenario = next(scenario for scenario in SCENARIOS if scenario.data == kind).adjusted(f"loop.epochs={epochs}")
    scenario.save(data, tmp_path / "config.toml")
    ways = [RESIDENT, READ_BY_THREAD, READ_BY_ONE, READ_BY_THREE]
    found: dict[str, str] = {}
    for number, way in enumerate(ways):
        sets = [text for override in way for text in ("--set", override)]
        if number == 0:
            whole = attempt(["run", str(tmp_path / "config.toml"), *sets], tmp_path / "whole")
            found["not killed"] = weights_of(whole.record)
        place = tmp_path / f"killed {number}"
        killed = attempt(["run", str(tmp_path / "config.toml"), *sets], place, FromOutside(8 + 5 * number, 0.02))
        assert killed.killed, killed.errors
        other = [text for override in ways[number - 1] for text in ("--set", override)]
        resumed = attempt(["resume", "pictures", *other], place)
        found[f"{way}, killed and resumed with {other}"] = weights_of(resumed.record)
    assert len(set(found.values())) == 1, found


def weights_of(record: StatusRecord) -> str:
    return digest(Path(str(record.last_checkpoint)) / WEIGHTS)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["tested", "saved"])
def test_killed_while_it_ends(tmp_path: Path, ending: str) -> None:
    """Found by the harness: a second test measurement in the history, a checkpoint too many that nothing deleted."""
    SCENARIOS[0].adjusted("loop.epochs=2").save(write_data(tmp_path / "data"), tmp_path / "config.toml")
    whole = start_run(load_config(tmp_path / "config.toml"), tmp_path / "whole")
    if ending == "tested":
        trigger = Trigger("write", '/events.jsonl .*"completed"', "before")
    else:
        trigger = Trigger("rename", f"-> .*/step-{whole.step:08d}$", "after")
    killed = attempt(["run", str(tmp_path / "config.toml")], tmp_path / "killed", trigger)
    assert killed.killed, killed.errors
    resumed = resume_run("pictures", tmp_path / "killed")
    folders = [RunFolder(Path(record.folder)) for record in (resumed, whole)]
    assert compare(folders[0], folders[1], resumed, whole).differences == []


@pytest.mark.slow
def test_the_harness_notices_a_resume_that_forgets_the_random_state(tmp_path: Path) -> None:
    scenario = SCENARIOS[0].adjusted("loop.epochs=4")
    campaign = Campaign(
        scenario,
        [TRAINING],
        Random(0),
        write_data(tmp_path / "data"),
        tmp_path / "runs",
        print,
        sabotage="random state",
    )
    outcome = campaign.run()
    assert [kill.kind for kill in outcome.kills] == [TRAINING]
    assert any("model.safetensors" in line for line in outcome.differences)
    assert any("series.loss" in line for line in outcome.differences)
    assert not outcome.lost


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, StatusRecord]:
    """A run that nobody touched, with its record."""
    config = tiny("loop.ema_decay=0.9", "checkpoints.keep_last=2")
    record = start_run(config, tmp_path_factory.mktemp("workspace"))
    return RunFolder(Path(record.folder)), record


@pytest.fixture
def twin(finished: tuple[RunFolder, StatusRecord], tmp_path: Path) -> RunFolder:
    """A copy of it, to be spoilt."""
    shutil.copytree(finished[0].path, tmp_path / finished[0].id)
    return RunFolder(tmp_path / finished[0].id)


def newest(folder: RunFolder) -> Path:
    return max(folder.checkpoints.iterdir())


def remove_newest(folder: RunFolder) -> None:
    shutil.rmtree(newest(folder))


def flip_byte_in_weights(folder: RunFolder) -> None:
    path = newest(folder) / WEIGHTS
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def cut_manifest(folder: RunFolder) -> None:
    path = newest(folder) / MANIFEST
    path.write_bytes(path.read_bytes()[:50])


def point_label_nowhere(folder: RunFolder) -> None:
    folder.labels_file.write_text('{"last": "step-00000024", "best": "step-00000001"}')


def change_row(folder: RunFolder) -> None:
    content = bytearray(folder.series_file.read_bytes())
    content[-32 * 5] ^= 1
    folder.series_file.write_bytes(content)


def cut_series(folder: RunFolder) -> None:
    content = folder.series_file.read_bytes()
    folder.series_file.write_bytes(content[: -32 * 3])


def tear_status(folder: RunFolder) -> None:
    folder.status_file.write_bytes(folder.status_file.read_bytes()[:40])


def say_running(folder: RunFolder) -> None:
    folder.status_file.write_text(folder.status().model_copy(update={"status": "stopped"}).model_dump_json())


@pytest.mark.parametrize(
    ("spoil", "lost", "fault"),
    [
        (remove_newest, "but there was one of 24", ""),
        (flip_byte_in_weights, "does not match its digest", ""),
        (cut_manifest, "manifest.json is missing or damaged", ""),
        (point_label_nowhere, "the label best points at", ""),
        (change_row, "", "row 20 of the series differs"),
        (cut_series, "", "has 21 steps, but there is a checkpoint"),
        (tear_status, "", "status.json is damaged"),
        (say_running, "", 'the status reads "stopped"'),
    ],
)
def test_the_inspector_sees_what_a_kill_may_not_leave(
    twin: RunFolder, spoil: Callable[[RunFolder], None], lost: str, fault: str
) -> None:
    inspector = Inspector(read_series(twin.series_file).tobytes())
    inspector.look(twin)
    assert inspector.lost == inspector.faults == []
    spoil(twin)
    inspector.look(twin)
    assert lost in " ".join(inspector.lost)
    assert fault in " ".join(inspector.faults)
    assert bool(lost) == bool(inspector.lost)
    assert bool(fault) == bool(inspector.faults)


def reseal(checkpoint: Path) -> None:
    """Make the manifest true again: only a comparison with another run can tell now."""
    manifest = read_manifest(checkpoint)
    files = {
        name: FileFacts(bytes=(checkpoint / name).stat().st_size, sha256=digest(checkpoint / name))
        for name in manifest.files
    }
    (checkpoint / MANIFEST).write_text(json.dumps(seal(manifest.model_copy(update={"files": files}).dump())))


def change_one_weight(folder: RunFolder) -> None:
    tensors = load_file(newest(folder) / WEIGHTS)
    first = tensors[min(tensors)]
    first.view(-1)[0] = torch.nextafter(first.view(-1)[0], torch.tensor(9.0))
    save_file(tensors, newest(folder) / WEIGHTS, metadata={"format": "pt"})


def change_state(folder: RunFolder, change: Callable[[dict[str, Any]], None]) -> None:
    state = torch.load(newest(folder) / STATE, weights_only=True)
    change(state)
    torch.save(state, newest(folder) / STATE)


def change_moment(state: dict[str, Any]) -> None:
    state["optimizer"]["state"][0]["exp_avg"].view(-1)[0] += 1e-6


def change_generator(state: dict[str, Any]) -> None:
    state["rng"]["cpu"][40] ^= 1


def change_patience(state: dict[str, Any]) -> None:
    state["progress"]["stale_validations"] += 1


def change_metric(folder: RunFolder) -> None:
    lines = [json.loads(line) for line in folder.events_file.read_text().splitlines()]
    last = [line for line in lines if line["kind"] == "validated"][-1]
    last["metrics"]["val/loss"] = math.nextafter(last["metrics"]["val/loss"], 9.0)
    folder.events_file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def leave_litter(folder: RunFolder) -> None:
    (folder.path / ".labels.json.0123abcd.tmp").touch()


@pytest.mark.parametrize(
    ("spoil", "difference"),
    [
        (change_one_weight, f"{WEIGHTS}."),
        (lambda folder: change_state(folder, change_moment), f"{STATE}.optimizer.state.0.exp_avg:"),
        (lambda folder: change_state(folder, change_generator), f"{STATE}.rng.cpu: 1 of"),
        (lambda folder: change_state(folder, change_patience), f"{STATE}.progress.stale_validations:"),
        (change_row, "series.step[19]:"),
        (change_metric, "metrics.val/loss"),
        (point_label_nowhere, "labels.best"),
        (remove_newest, "kept checkpoints"),
        (leave_litter, ".labels.json.0123abcd.tmp"),
    ],
)
def test_the_comparison_names_what_differs(
    finished: tuple[RunFolder, StatusRecord], twin: RunFolder, spoil: Callable[[RunFolder], None], difference: str
) -> None:
    folder, record = finished
    assert compare(twin, folder, record, record).differences == []
    spoil(twin)
    if newest(twin).name == newest(folder).name:
        reseal(newest(twin))
    assert any(difference in line for line in compare(twin, folder, record, record).differences)
