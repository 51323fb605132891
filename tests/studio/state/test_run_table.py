"""The table of runs and the list of checkpoints follow the folders."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QTableView
from pytestqt.qtbot import QtBot

from studio.services.background import Background
from studio.state.runs.checkpoint_list import CheckpointList
from studio.state.runs.checkpoint_tree import CheckpointTree
from studio.state.runs.run_library import RunLibrary, RunSummary, thin
from studio.state.runs.run_table import BEST, NAME, RUN_ROLE, SIZE, STATUS, STEP, RunTableModel
from studio.state.runs.run_values import RunValues
from training.config import RunConfig
from training.control import WINDOW_GONE
from training.runs.folder import RunFolder, claim, create_run, release
from training.runs.query import parse
from training.runs.records.forms import BestCheckpoint, Parent, StatusRecord
from training.runs.records.manifest import FORMAT, MANIFEST, STATE, WEIGHTS, checkpoint_name, seal, write_labels
from training.runs.records.series import STEP_ROW, SeriesWriter

MakeConfig = Callable[..., RunConfig]
FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


def make_run(workspace: Path, config: RunConfig, status: str, **record: Any) -> RunFolder:
    folder = create_run(workspace, config)
    folder.write_status(folder.status().model_copy(update={"status": status, **record}))
    return folder


def checkpoint(folder: RunFolder, step: int, **measured: Any) -> Path:
    path = folder.checkpoints / checkpoint_name(step)
    path.mkdir()
    files: dict[str, Any] = {
        name: {"bytes": size, "sha256": "0" * 64} for name, size in ((WEIGHTS, 1000), (STATE, 500))
    }
    origin: dict[str, Any] = {"config": {}, "data": {"fingerprint": ""}}
    manifest = seal({"format": FORMAT, "step": step, "epoch": 1, "time": 0.0, "files": files, **origin, **measured})
    (path / MANIFEST).write_text(json.dumps(manifest))
    return path


def make_model(library: RunLibrary, background: Background, workspace: Path) -> RunTableModel:
    return RunTableModel(library, RunValues(library, background, workspace))


def refreshed(qtbot: QtBot, library: RunLibrary) -> None:
    with qtbot.waitSignal(library.refreshed):
        library.refresh()


def test_the_table_follows_the_folders(
    qtbot: QtBot, background: Background, workspace: Path, config: MakeConfig
) -> None:
    library = RunLibrary(workspace, background)
    model = make_model(library, background, workspace)
    tester = QAbstractItemModelTester(model, FATAL)
    assert tester
    refreshed(qtbot, library)
    assert model.rowCount() == 0
    best = BestCheckpoint(metric="val/accuracy", value=0.9875, step=20, checkpoint="step-00000020")
    lab = make_run(workspace, config("lab"), "completed", best=best, step=40, total_steps=40)
    make_run(workspace, config("night"), "running", created=time.time() + 5)
    series = SeriesWriter(lab.series_file, STEP_ROW)
    series.append(np.array([(step, 1, 0, 0.1, 1.0 / step, 1.0) for step in range(1, 101)], STEP_ROW))
    series.close()
    refreshed(qtbot, library)
    shown = {model.index(row, NAME).data(): row for row in range(model.rowCount())}
    assert set(shown) == {"lab", "night"}
    assert model.index(shown["lab"], BEST).data() == "accuracy 98.75%"
    assert model.index(shown["lab"], STEP).data() == "40 / 40"
    assert model.index(shown["night"], STATUS).data() == "interrupted"
    assert len(model.runs_shown()[shown["lab"]].losses) == 40
    model.set_statuses(frozenset({"interrupted"}))
    assert [model.index(row, NAME).data() for row in range(model.rowCount())] == ["night"]
    model.set_statuses(frozenset())
    model.set_query(parse("SHAPES la"))
    assert [model.index(row, NAME).data() for row in range(model.rowCount())] == ["lab"]
    model.set_query(None)
    model.sort(NAME, Qt.SortOrder.DescendingOrder)
    assert [model.index(row, NAME).data() for row in range(2)] == ["night", "lab"]
    lab.write_status(lab.status().model_copy(update={"name": "renamed", "updated": time.time() + 10}))
    refreshed(qtbot, library)
    assert "renamed" in {model.index(row, NAME).data() for row in range(model.rowCount())}


def test_a_run_goes_to_the_trash_and_comes_back_and_one_at_work_is_refused(
    qtbot: QtBot, background: Background, workspace: Path, config: MakeConfig
) -> None:
    library = RunLibrary(workspace, background)
    folder = make_run(workspace, config(), "running")
    claim(folder.path)
    refreshed(qtbot, library)
    run = library.runs[0]
    assert library.running_elsewhere() == [run]
    failures: list[Exception] = []
    trashed: list[RunFolder] = []
    library.throw_away(run.folder, trashed.append, failures.append)
    qtbot.waitUntil(lambda: len(failures) == 1)
    assert "stop it first" in str(failures[0])
    release(folder.path)
    files = {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    library.throw_away(run.folder, trashed.append, failures.append)
    qtbot.waitUntil(lambda: bool(library.trash) and not library.runs)
    assert not folder.path.exists()
    [lies] = library.trash
    assert (lies.folder, lies.name, lies.size) == (trashed[0], run.name, sum(map(len, files.values())))
    library.restore(trashed[0], failures.append)
    qtbot.waitUntil(lambda: bool(library.runs) and not library.trash)
    assert {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()} == files
    library.throw_away(run.folder, trashed.append, failures.append)
    qtbot.waitUntil(lambda: bool(library.trash))
    make_run(workspace, config(), "completed").path.rename(folder.path)
    library.restore(trashed[0], failures.append)
    qtbot.waitUntil(lambda: len(failures) == 2)
    assert "is in use again" in str(failures[1])
    library.delete_for_good([trashed[0]], failures.append)
    qtbot.waitUntil(lambda: not library.trash)
    assert not trashed[0].path.exists()
    library.delete_for_good([folder], failures.append)
    qtbot.waitUntil(lambda: len(failures) == 3)
    assert folder.path.exists(), "only what lies in the trash can be deleted"


def test_each_run_says_what_room_it_takes(
    qtbot: QtBot, background: Background, workspace: Path, config: MakeConfig
) -> None:
    library = RunLibrary(workspace, background)
    folder = make_run(workspace, config(), "completed")
    (folder.checkpoints / "step-1").mkdir(parents=True)
    (folder.checkpoints / "step-1" / "weights").write_bytes(bytes(2_000_000))
    library.refresh()
    qtbot.waitUntil(lambda: bool(library.runs) and library.runs[0].size is not None)
    table = make_model(library, background, workspace)
    assert table.index(0, SIZE).data() == "2 MB"


def test_branches_are_marked_and_reasons_told(
    qtbot: QtBot, background: Background, workspace: Path, config: MakeConfig
) -> None:
    library = RunLibrary(workspace, background)
    model = make_model(library, background, workspace)
    lab = make_run(workspace, config("lab"), "stopped", reason=WINDOW_GONE)
    branch = make_run(workspace, config("branch"), "completed", parent=Parent(run=lab.id, checkpoint="step-00000010"))
    refreshed(qtbot, library)
    rows = {run_id: model.row_of(run_id) or 0 for run_id in (lab.id, branch.id)}
    decoration, tip = Qt.ItemDataRole.DecorationRole, Qt.ItemDataRole.ToolTipRole
    assert model.index(rows[lab.id], NAME).data(decoration) is None
    assert model.index(rows[branch.id], NAME).data(decoration) is not None
    assert f"Branched from {lab.id}" in model.index(rows[branch.id], NAME).data(tip)
    assert model.index(rows[lab.id], STATUS).data(tip) == WINDOW_GONE
    assert [run.id for run in library.find_interrupted()] == [lab.id]


def test_checkpoints_come_and_go_without_losing_the_selection(
    qtbot: QtBot, background: Background, workspace: Path, config: MakeConfig
) -> None:
    listed = CheckpointList(background)
    library = RunLibrary(workspace, background)
    model = CheckpointTree(listed, library, background)
    tester = QAbstractItemModelTester(model, FATAL)
    assert tester
    folder = create_run(workspace, config(checkpoints={"monitor": "val/loss"}))
    checkpoint(folder, 10, metrics={"val/loss": 0.5, "val/accuracy": 0.25})  # of an earlier version
    checkpoint(folder, 20, metrics={"val/loss": 0.25, "val/accuracy": 0.5}, metrics_step=20)
    checkpoint(folder, 30, metrics={"val/loss": 0.25, "val/accuracy": 0.5}, metrics_step=20)
    write_labels(folder, {"last": checkpoint_name(30), "best": checkpoint_name(20)})
    with qtbot.waitSignal(listed.refreshed):
        listed.set_folder(folder)
    assert [info.step for info in listed.checkpoints] == [30, 20, 10]
    best = listed.find_labeled("best")
    assert best is not None
    assert best.step == 20
    said = [model.index(row).data().rpartition(",")[0] for row in range(3)]  # but the time
    assert said == [
        "Step 30, last, 1 epoch, not validated, 1.5 kB",
        "Step 20, best, 1 epoch, loss 0.25, 1.5 kB",
        "Step 10, 1 epoch, loss 0.5, 1.5 kB",
    ]
    removed: list[tuple[int, int]] = []
    inserted: list[tuple[int, int]] = []
    model.rowsRemoved.connect(lambda _parent, first, last: removed.append((first, last)))
    model.rowsInserted.connect(lambda _parent, first, last: inserted.append((first, last)))
    (folder.checkpoints / checkpoint_name(10) / MANIFEST).unlink()
    checkpoint(folder, 40, metrics={})
    with qtbot.waitSignal(listed.refreshed):
        listed.refresh()
    assert [info.step for info in listed.checkpoints] == [40, 30, 20]
    assert (removed, inserted) == ([(2, 2)], [(0, 0)])
    for step in (20, 30, 10):  # the last one's checkpoint is gone
        make_run(
            workspace,
            config(f"branch {step}"),
            "stopped",
            parent=Parent(run=folder.id, checkpoint=checkpoint_name(step)),
        )
    refreshed(qtbot, library)
    assert [model.rowCount(model.index(row)) for row in range(model.rowCount())] == [0, 1, 1, 1]
    listed.set_folder(None)
    model.forget()
    assert model.rowCount() == 0


def test_thinning_keeps_the_course_and_drops_what_is_not_finite() -> None:
    assert thin(np.array([])) == ()
    assert thin(np.array([1.0, np.nan, 3.0])) == (1.0, 3.0)
    thinned = thin(np.linspace(0, 1, 1000))
    assert len(thinned) == 40
    assert list(thinned) == sorted(thinned)


def test_sorting_keeps_what_is_chosen_and_asks_each_run_for_its_key_once(
    qtbot: QtBot, background: Background, tmp_path: Path
) -> None:
    library = RunLibrary(tmp_path, background)
    model = make_model(library, background, tmp_path)
    tester = QAbstractItemModelTester(model, FATAL)
    assert tester
    view = QTableView()
    qtbot.addWidget(view)
    view.setModel(model)

    def summaries(steps: list[int]) -> tuple[RunSummary, ...]:
        return tuple(RunSummary(StatusRecord(run=f"r{step}", step=step, created=-step)) for step in steps)

    library.runs = summaries([step * 7 % 300 for step in range(300)])
    library.refreshed.emit()
    # Not selectRow, which asks what keys are held down: an earlier test may have left one.
    whole_row = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
    view.selectionModel().select(model.index(model.row_of("r42") or 0, 0), whole_row)
    asked: list[str] = []

    def key(run: RunSummary) -> int:
        asked.append(run.id)
        return int(run.record.step)

    model.columns[STEP] = replace(model.columns[STEP], key=key)
    view.sortByColumn(STEP, Qt.SortOrder.DescendingOrder)
    assert len(asked) == 300
    assert [model.index(row, 0).data(RUN_ROLE).id for row in range(300)] == [f"r{step}" for step in range(299, -1, -1)]
    model.set_query(parse("r4"))
    assert [index.data(RUN_ROLE).id for index in view.selectionModel().selectedRows()] == ["r42"]
    model.set_query(None)
    library.runs = summaries([step for step in range(301) if step not in range(100, 200)])  # gone, and a new one
    library.refreshed.emit()
    assert [model.index(row, 0).data(RUN_ROLE).id for row in (0, 1, 200)] == ["r300", "r299", "r0"]
    assert [index.data(RUN_ROLE).id for index in view.selectionModel().selectedRows()] == ["r42"]


def test_runs_of_one_name_are_told_apart_and_the_best_come_first(
    qtbot: QtBot, background: Background, workspace: Path, config: MakeConfig
) -> None:
    library = RunLibrary(workspace, background)
    model = make_model(library, background, workspace)
    for metric, value in (("val/accuracy", 0.5), ("val/accuracy", 0.75), ("val/loss", 2.0), ("val/loss", 1.0)):
        best = BestCheckpoint(metric=metric, value=value, step=20, checkpoint="step-00000020")
        make_run(workspace, config("same"), "completed", best=best)
    make_run(workspace, config("other"), "stopped")
    refreshed(qtbot, library)
    names = {model.index(row, NAME).data() for row in range(5)}
    assert len(names) == 5
    assert {name.partition(" · ")[0] for name in names} == {"same", "other"}
    assert "other" in names
    model.sort(BEST)
    assert [model.index(row, BEST).data() for row in range(5)] == [
        "accuracy 75.00%", "accuracy 50.00%", "loss 1", "loss 2", "",
    ]  # fmt: skip
