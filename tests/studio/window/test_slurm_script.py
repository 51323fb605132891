"""The script for Slurm is written by the command line and shown; it is submitted by a button alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.pages.setup.slurm_dialog import NO_SLURM, SlurmDialog
from studio.state.context import AppContext
from tests.studio.keyboard_walk import wait_for_soundness
from training.config import RunConfig


@pytest.fixture
def dialog(qtbot: QtBot, context: AppContext, config: Callable[..., RunConfig]) -> Iterator[SlurmDialog]:
    parent = QWidget()
    qtbot.addWidget(parent)
    context.where.choose(2)
    made = SlurmDialog(context, config("cluster", milliseconds=2), parent)
    made.show()
    yield made
    parent.close()


def write(qtbot: QtBot, dialog: SlurmDialog) -> None:
    dialog.write_button.click()
    qtbot.waitUntil(lambda: not dialog.is_busy)


@pytest.mark.slow
def test_a_script_is_written_and_written_again_for_the_same_run(
    qtbot: QtBot, dialog: SlurmDialog, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    dialog.fields["--time"].setText("02:00:00")
    write(qtbot, dialog)
    assert not dialog.problem.isVisible(), dialog.problem.text()
    assert "#SBATCH --time=02:00:00" in dialog.text.toPlainText()
    assert "--nproc-per-node=2" in dialog.text.toPlainText()  # as is chosen in Where it runs
    assert "python -m" not in dialog.words.text()
    wait_for_soundness(qtbot, dialog)
    first = dialog.run
    assert first is not None
    assert [first] == list((context.workspace / "runs").iterdir())
    dialog.fields["--time"].setText("03:00:00")
    write(qtbot, dialog)
    assert dialog.run == first
    assert "#SBATCH --time=03:00:00" in dialog.text.toPlainText()
    assert not dialog.submit_button.isEnabled()
    assert dialog.submit_button.toolTip() == NO_SLURM


@pytest.mark.slow
def test_what_cannot_be_written_is_told_and_leaves_nothing(
    qtbot: QtBot, dialog: SlurmDialog, context: AppContext
) -> None:
    dialog.fields["--time"].setText("soon")
    write(qtbot, dialog)
    assert dialog.problem.text().startswith("Time limit 'soon'")
    assert dialog.run is None
    assert not list((context.workspace / "runs").glob("*"))


def test_it_is_submitted_by_the_button_alone(
    qtbot: QtBot, dialog: SlurmDialog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(f"#!/bin/sh\necho $* >> {tmp_path}/asked\necho 17\n")
    for name in ("squeue", "sacct", "scontrol"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / name).chmod(0o755)
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    write(qtbot, dialog)
    assert dialog.submit_button.isEnabled()
    assert not (tmp_path / "asked").exists()
    dialog.submit_button.click()
    qtbot.waitUntil(lambda: not dialog.is_busy)
    assert "Slurm job 17" in dialog.words.text(), dialog.problem.text()
    assert (tmp_path / "asked").read_text().startswith("--parsable")
