"""The window's engine: the request loop in place, and as the child process that the window starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config.files import config_data
from training.config.sections.data.tables import TableDataset
from training.control import SYSTEM_ENDS, WINDOW_GONE, Command, send
from training.predictions import read as read_evaluation
from training.protocol.messages import Done, EvaluateRequest, Refusal, Reply, Request, format_line, parse_request
from training.runs.folder import RunFolder, owner_of
from training.runs.records.series import read_series
from training.runs.workspace import run_folders
from training.serve import Server, serve
from training.system import process

LONG = 200.0  # seconds: a busy machine may need as long to load torch


def parsed(requests: Iterable[dict[str, Any]]) -> Iterator[Request]:
    """The requests as the engine reads them."""
    return (request for line in requests if (request := parse_request(json.dumps(line).encode())))


def ask(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    replies: list[dict[str, Any]] = []
    asked = parsed({"id": number, **request} for number, request in enumerate(requests, 1))
    serve(asked, lambda reply: replies.append(json.loads(format_line(reply))))
    return [reply for reply in replies if reply["reply"] != "progress"]


def test_in_the_windows_process_the_allocator_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[str] = []
    monkeypatch.setattr(process, "_keep_freed_memory", lambda: settings.append("allocator"))
    assert ask()[-1]["reply"] == "ready"
    assert settings == []


def test_it_says_ready_then_answers_in_order(tmp_path: Path) -> None:
    config = config_data(tiny())
    ready, dataset, page, model, check, started, finished = ask(
        {"action": "inspect_dataset", "config": config},
        {"action": "browse_samples", "config": config, "part": "test"},
        {"action": "summarise_model", "config": config},
        {"action": "check", "config": config, "workspace": str(tmp_path)},
        {"action": "run", "config": config, "workspace": str(tmp_path)},
    )
    assert ready["reply"] == "ready"
    assert "cpu" in ready["devices"]
    assert dataset["result"]["samples"] == {"train": 240, "validation": 60}
    assert page["message"] == "The data has no test part."
    assert model["result"]["outputs"] == 3
    assert model["result"]["parameters"] == 2 * 16 + 16 + 16 * 16 + 16 + 16 * 3 + 3
    groups = [(group["name"], group["parameters"], group["decays"]) for group in model["result"]["groups"]]
    assert groups == [("decay", 2 * 16 + 16 * 16 + 16 * 3, True), ("no decay", 16 + 16 + 3, False)]
    assert {finding["level"] for finding in check["result"]["findings"]} == {"ok", "info"}
    assert started["reply"] == "started"
    assert finished["result"]["status"] == "completed"
    assert finished["result"]["folder"] == started["folder"]


@pytest.mark.slow
def test_resume_branch_and_export_work_on_what_a_run_left(tmp_path: Path) -> None:
    config = config_data(tiny())
    *_, finished = ask({"action": "run", "config": config, "workspace": str(tmp_path)})
    best = finished["result"]["best"]["checkpoint"]
    replies = ask(
        {"action": "resume", "target": finished["result"]["folder"]},
        {
            "action": "branch",
            "checkpoint": best,
            "config": config_data(tiny("loop.epochs=4")),
            "workspace": str(tmp_path),
        },
        {"action": "export", "checkpoint": best, "to": "safetensors", "out": str(tmp_path / "model")},
        {"action": "evaluate", "checkpoint": best},
    )
    results = [reply["result"] for reply in replies if reply["reply"] in ("finished", "done")]
    assert results[0]["run"] == finished["result"]["run"]
    assert results[1]["step"] == 32
    assert (tmp_path / "model" / "model.safetensors").is_file()
    assert read_evaluation(Path(results[-1]["folder"])).record.samples == 60
    # One that nobody waits for any more ends where it is.
    said: list[Reply] = []
    asked = [EvaluateRequest(id=number, checkpoint=Path(best), on="train") for number in (5, 6)]
    serve(asked, said.append, lambda interrupt: interrupt(5))
    (stopped,) = [reply for reply in said if isinstance(reply, Refusal)]
    assert stopped.message == "The evaluation was stopped."
    assert isinstance(said[-1], Done)
    # So does each where the window is gone, though a run would go on.
    server = Server(said.append)
    server.end_answers()
    server.answer(EvaluateRequest(id=7, checkpoint=Path(best), on="train", again=True))
    assert isinstance(said[-1], Refusal)
    assert said[-1].message == "The evaluation was stopped."


def test_a_relative_path_is_kept_whole_in_the_runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's working folder is not that of whoever resumes the run."""
    (tmp_path / "t.csv").write_text("a,b,kind\n" + "".join(f"{row},{row % 5},{'xy'[row % 2]}\n" for row in range(40)))
    monkeypatch.chdir(tmp_path)
    table = ("dataset.kind=table", "dataset.path=t.csv", "model.kind=mlp", "loop.max_steps=1")
    *_, finished = ask({"action": "run", "config": config_data(tiny(*table)), "workspace": str(tmp_path)})
    dataset = RunFolder(Path(finished["result"]["folder"])).config().dataset
    assert isinstance(dataset, TableDataset)
    assert dataset.path == str(tmp_path / "t.csv")


def test_refusals_name_the_field_and_leave_nothing(tmp_path: Path) -> None:
    _ready, wrong, unknown = ask(
        {"action": "run", "config": {"optimizer": {"kind": "adamw", "lr": -1.0}}, "workspace": str(tmp_path)},
        {"action": "dance"},
    )
    assert wrong["reply"] == "refused"
    assert wrong["problems"] == [["optimizer.lr", "must be greater than 0.0, but is -1.0.", {}]]
    assert unknown["reply"] == "refused"
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "training", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        yield process
        process.kill()


def write(process: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()


def read(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    while True:
        reply: dict[str, Any] = json.loads(process.stdout.readline())
        if reply["reply"] != "progress":
            return reply


def begin_endless_run(process: subprocess.Popen[bytes], workspace: Path) -> RunFolder:
    assert read(process)["reply"] == "ready"
    config = config_data(tiny("loop.epochs=100000"))
    write(process, {"id": 1, "action": "run", "config": config, "workspace": str(workspace)})
    folder = RunFolder(Path(read(process)["folder"]))
    deadline = time.monotonic() + LONG
    while not len(read_series(folder.series_file)):
        assert time.monotonic() < deadline, "the run did not begin to train"
        time.sleep(0.02)
    return folder


def wait_for_end(folder: RunFolder) -> str:
    """The run's status when no process works on it any more."""
    deadline = time.monotonic() + LONG
    while owner_of(folder.path) is not None:
        assert time.monotonic() < deadline, "the run did not end"
        time.sleep(0.02)
    return str(folder.status().status)


def test_when_the_window_dies_the_run_stops_and_is_kept(child: subprocess.Popen[bytes], tmp_path: Path) -> None:
    folder = begin_endless_run(child, tmp_path)
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(timeout=LONG) == 0
    status = folder.status()
    assert status.status == "stopped"
    assert status.reason == WINDOW_GONE
    assert Path(str(status.last_checkpoint)).name == f"step-{status.step:08d}"


@pytest.mark.slow
def test_when_the_window_dies_the_run_goes_on_if_that_was_wished(
    child: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    write(child, {"action": "if_window_dies", "keep_training": True})
    folder = begin_endless_run(child, tmp_path)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    child.stdout.close()
    steps = len(read_series(folder.series_file))
    deadline = time.monotonic() + LONG
    while len(read_series(folder.series_file)) < steps + 500:
        assert child.poll() is None, "the engine ended with the window"
        assert time.monotonic() < deadline, "the run did not go on"
        time.sleep(0.02)
    send(folder.path, Command.STOP)
    assert child.wait(timeout=LONG) == 0
    assert folder.status().status == "stopped"
    assert folder.status().reason is None


@pytest.mark.slow
def test_a_window_that_says_goodbye_stops_the_run_whatever_was_wished_for_its_death(
    child: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    write(child, {"action": "if_window_dies", "keep_training": True})
    folder = begin_endless_run(child, tmp_path)
    write(child, {"action": "quit"})
    assert child.wait(timeout=LONG) == 0
    assert folder.status().status == "stopped"
    assert folder.status().reason is None


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_asked_to_end_by_the_system_the_run_is_kept_and_the_signal_obeyed(
    child: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    folder = begin_endless_run(child, tmp_path)
    child.send_signal(signal.SIGTERM)
    assert read(child)["result"]["status"] == "stopped"
    assert child.wait(timeout=LONG) == -signal.SIGTERM
    status = folder.status()
    assert status.reason == SYSTEM_ENDS
    assert Path(str(status.last_checkpoint)).name == f"step-{status.step:08d}"


@pytest.mark.slow
def test_a_window_that_reads_nothing_holds_up_no_run(tmp_path: Path) -> None:
    """Three thousand answers are far more than a pipe takes; the run after them begins and ends all the same."""
    command = [sys.executable, "-m", "training", "serve"]
    config = config_data(tiny())
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            for number in range(3000):
                write(process, {"id": number, "action": "dance", "so": "x" * 40})
            write(process, {"id": 3000, "action": "run", "config": config, "workspace": str(tmp_path)})
            deadline = time.monotonic() + LONG
            while not (folders := run_folders(tmp_path)) or folders[0].status().status != "completed":
                assert process.poll() is None
                assert time.monotonic() < deadline, "the run was held up"
                time.sleep(0.05)
            assert wait_for_end(folders[0]) == "completed"
            write(process, {"action": "quit"})
            assert process.wait(timeout=LONG) == 0
            assert process.stdout is not None
            kept = process.stdout.read().splitlines()
            assert 100 < len(kept) < 3000, "a window that reads nothing must not fill the engine's memory"
        finally:
            process.kill()


def test_a_run_handed_to_the_background_goes_on_without_the_window(
    child: subprocess.Popen[bytes], tmp_path: Path
) -> None:

    folder = begin_endless_run(child, tmp_path)
    write(child, {"id": 2, "action": "detach"})
    assert read(child) == {"id": 2, "reply": "done", "result": {}}
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == b""  # the window's reader sees the end
    child.stdin.close()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=0.5)
    assert folder.status().status == "running"
    send(folder.path, Command.STOP)
    assert child.wait(timeout=LONG) == 0
    assert folder.status().status == "stopped"


def test_data_is_shown_whatever_is_to_be_done_with_it_and_refusals_name_their_settings(tmp_path: Path) -> None:
    """The way out comes along; a setting that the data alone tells of is named as one that the settings tell of."""
    (tmp_path / "table.csv").write_text(
        "a,b,kind\n" + "".join(f"{n},{'pq'[n % 2]},{'xyz'[n % 3]}\n" for n in range(60))
    )
    table = {"kind": "table", "path": str(tmp_path / "table.csv")}
    misfit = {"dataset": table, "model": {"kind": "unet"}, "objective": {"kind": "segmentation"}}
    _, shown, unbuilt, coded, text = ask(
        {"action": "inspect_dataset", "config": misfit},
        {"action": "summarise_model", "config": misfit},
        {"action": "summarise_model", "config": {"dataset": table, "model": {"kind": "mlp"}}},
        {"action": "inspect_dataset", "config": {**misfit, "dataset": table | {"task": "values"}}},
    )
    assert shown["result"]["samples"] == {"train": 48, "validation": 12}
    assert [path for path, *_ in unbuilt["problems"]] == ["objective.kind", "model.kind"]
    assert unbuilt["problems"][1][2] == {"objective.kind": "classification", "model.kind": "tabular"}
    [[path, message, fix]] = coded["problems"]
    assert (path, fix) == ("model.kind", {"model.kind": "tabular"})
    assert message.startswith("mlp takes numbers only")
    [[path, message, _]] = text["result"]["problems"]
    assert (path, message) == (
        "dataset.targets",
        "column 'kind' holds text, which is no number to predict; choose another.",
    )
