"""A run that a real Slurm trains, from the dialog that submits it to its end, as the window shows it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from hashlib import sha256

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.setup.slurm_dialog import SlurmDialog
from studio.state.context import AppContext
from tests.end_to_end.steps import LONG, steps
from tests.servers.conftest import cluster
from tests.servers.slurm import Slurm
from tests.studio.window_driver import open_by_enter, open_window
from tests.training.ranks.conftest import CONFIG, NETWORK
from training.config import apply_overrides, parse_config
from training.config.consent import agree
from training.runs.folder import RunFolder

__all__ = ["cluster"]
pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]

TURNS = 600_000  # milliseconds: Slurm looks at time limits twice a minute


def test_a_run_is_submitted_cut_by_the_time_limit_and_gone_on_with_before_the_window_s_eyes(
    qtbot: QtBot, make_context: Callable[..., AppContext], cluster: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    data = tomllib.loads(CONFIG.format(network=NETWORK))
    digest = sha256(NETWORK.read_bytes()).hexdigest()
    agree(digest, str(NETWORK))
    slow = ("loop.slots=2", "loop.accumulation=1", "loop.max_steps=400", "model.arguments.pause=0.1")
    apply_overrides(data, (*slow, f"model.trusted={digest}"))
    context = make_context()
    window = open_window(qtbot, context, "setup")
    dialog = SlurmDialog(context, parse_config(data), window)
    dialog.show()
    dialog.fields["--time"].setText("3")
    dialog.fields["--notice"].setText("115")
    for click in (dialog.write_button, dialog.submit_button):
        press_and_wait(qtbot, dialog, click)
    assert "Slurm job" in dialog.words.text()
    assert dialog.run is not None
    folder = RunFolder(dialog.run)
    dialog.close()

    page = open_by_enter(qtbot, window, folder.id)
    shown = context.shown
    qtbot.waitUntil(lambda: shown.run.progress.step > 3, timeout=TURNS)
    qtbot.waitUntil(lambda: shown.run.state is RunState.STOPPED, timeout=TURNS)
    assert shown.run.history is not None
    assert "it goes on in the job's next turn" in str(shown.run.history.final)
    qtbot.waitUntil(lambda: shown.run.state is RunState.COMPLETED, timeout=TURNS)
    qtbot.waitUntil(lambda: not cluster.state(folder.id), timeout=LONG)
    assert steps(folder) == list(range(1, 401))
    curve = page.charts.curves.board.plot("loss")._curves["train/loss"].series.raw
    qtbot.waitUntil(lambda: len(curve.y) == 400, timeout=LONG)


def press_and_wait(qtbot: QtBot, dialog: SlurmDialog, button: QPushButton) -> None:
    button.click()
    qtbot.waitUntil(lambda: not dialog.is_busy, timeout=LONG)
    assert not dialog.problem.isVisible(), dialog.problem.text()
