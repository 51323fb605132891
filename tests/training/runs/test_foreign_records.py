"""Records in a run's folder that others have written or edited: named or begun again, and nothing leaves the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config.files import save_config
from training.runs.folder import RunFolder
from training.runs.records.history import read_history


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> RunFolder:
    monkeypatch.setenv("TRAINWRIGHT_WORKSPACE", str(tmp_path))
    save_config(tiny(), tmp_path / "tiny.toml")
    assert main(["run", str(tmp_path / "tiny.toml"), "--json"]) == 0
    return RunFolder(Path(json_line(capsys)["folder"]))


def test_a_plan_that_leads_to_another_folder_takes_nothing_from_it(folder: RunFolder, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "series.bin").write_bytes(b"another's")
    aside = folder.path / "set_aside" / "steps-1-2"
    aside.mkdir(parents=True)
    (aside.parent / "steps-3-4").symlink_to(other)
    (aside / "unfinished.json").write_text(json.dumps({"source": "steps-3-4", "files": [], "keep": True}))
    main(["show", str(folder.path)])
    assert (other / "series.bin").read_bytes() == b"another's"


@pytest.mark.parametrize("record", [{"best": "y"}, {"step": "a"}, {"parent": "p"}, {"metrics": [1]}])
def test_an_odd_status_hides_no_other_run(folder: RunFolder, record: dict[str, object], capsys: Captured) -> None:
    folder.status_file.write_text(json.dumps({"run": folder.id, **record}))
    assert main(["runs"]) == 0
    assert folder.id in capsys.readouterr().out


def test_a_word_beside_the_point_takes_no_record_along(folder: RunFolder) -> None:
    record = json.loads(folder.status_file.read_text())
    folder.status_file.write_text(json.dumps({**record, "fix": None, "ended": "today", "dataset": 7}))
    assert (folder.status().status, folder.status().step) == ("completed", record["step"])


def test_events_of_early_versions_and_with_odd_facts_are_read(folder: RunFolder) -> None:
    lines = [json.loads(line) for line in folder.events_file.read_text().splitlines()]
    for event in lines:
        event.get("environment", {}).update(cores=2.5, weights="?")
        for later in ("class_count", "target_mean", "target_std"):
            event.get("report", {}).pop(later, None)
    folder.events_file.write_text("".join(json.dumps(event) + "\n" for event in lines))
    history = read_history(folder.events_file)
    (attempt,) = history.attempts
    assert (attempt.environment.cores, attempt.environment.device) == (None, "CPU")
    assert history.data is not None
    assert history.data.report.class_count == len(history.data.report.classes) > 1


def test_a_series_that_is_none_is_begun_again(folder: RunFolder, capsys: Captured) -> None:
    with folder.series_file.open("r+b") as stream:
        stream.write(bytes(32))
    assert main(["resume", str(folder.path), "--set", "loop.epochs=9", "--json"]) != 1
    first = sorted(folder.checkpoints.iterdir())[0]
    assert main(["resume", str(first), "--json"]) == 0
    assert "series.bin was damaged" in capsys.readouterr().err


def test_to_list_and_to_clear_at_once_is_refused(folder: RunFolder, capsys: Captured) -> None:
    assert main(["restore", str(folder.path), "--list", "--clear"]) == 2
    assert "not allowed with" in capsys.readouterr().err
