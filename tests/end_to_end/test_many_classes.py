"""A run whose classes are too many to be told in one line."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from studio.engine.monitor import RunMonitor
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.data.source import Opening, Source
from training.runs.folder import RunFolder
from training.runs.workspace import run_folders

COUNT = 100_000
PREPARE = importlib.import_module("training.data.preparation")  # the module, not the function of that name


@pytest.mark.slow
def test_a_hundred_thousand_classes_arrive_in_the_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = PREPARE.open_source

    def named(dataset: Any, opening: Opening) -> Source:
        names = tuple(f"a class with a long name, the one of number {number:06d}" for number in range(COUNT))
        made: Source = whole(dataset, opening)
        made.classes = names  # three of many occur
        return made

    monkeypatch.setattr(PREPARE, "open_source", named)
    save_config(tiny("loop.max_steps=1", "model.hidden=[4]"), tmp_path / "many.toml")
    assert main(["run", str(tmp_path / "many.toml"), "--workspace", str(tmp_path)]) == 0
    assert "; 100,000 classes; " in capsys.readouterr().err
    folder = RunFolder(run_folders(tmp_path)[0].path)
    monitor = RunMonitor(folder.path)
    monitor.look()
    assert monitor.history.data is not None
    told = monitor.history.data.report
    assert told.class_count == COUNT
    assert told.classes[0].endswith("000000")
    assert len(told.classes) == len(told.counts["train"]) == len(told.counts["validation"]) < COUNT
    assert max(map(len, folder.events_file.read_bytes().split(b"\n"))) < 1 << 20
    kept = json.loads(folder.data_file.read_text())
    assert len(kept["classes"]) == len(kept["counts"]["train"]) == COUNT
    assert sum(kept["counts"]["train"]) == kept["samples"]["train"]
    assert folder.data_file.read_text().count("number 012345") == 1
