"""A newcomer's sick run: the finding on its curve, the proof that the fix cures it, and the branch that is well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.run.findings import PROVE
from studio.panels.fix_dialog import APPLY_ANEW, OFFER, FixDialog
from studio.state.context import AppContext
from studio.widgets import Banner
from tests.end_to_end.steps import LONG, ended
from tests.studio.window_driver import answer_next_dialog, open_window, press, run_page
from training.config import parse_config
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.proofs import read_proofs
from training.toml_text import Toml

MakeContext = Callable[..., AppContext]
RATE = 3.0
CODE = "lr.unusual"


def write_table(path: Path) -> Path:
    """300 rows of two numbers, and the class that a line between them decides."""
    numbers = np.random.default_rng(1).normal(size=(300, 2))
    rows = (f"{a:.4f},{b:.4f},{'ja' if a + b > 0 else 'no'}" for a, b in numbers)
    path.write_text("\n".join(["a,b,answer", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_sick_run_is_found_proved_and_cured(qtbot: QtBot, make_context: MakeContext, tmp_path: Path) -> None:
    data: dict[str, Toml] = {
        "name": "sick",
        "dataset": {"kind": "table", "path": str(write_table(tmp_path / "points.csv"))},
        "model": {"kind": "mlp"},
        "optimizer": {"kind": "adamw", "lr": RATE},
        "loop": {"epochs": 10, "batch_size": 16},
    }
    context = make_context()
    page = run_page(open_window(qtbot, context))
    context.start_run(parse_config(data))
    sick = ended(qtbot, context, RunState.COMPLETED)
    plot = page.charts.curves.board.plot("lr")
    qtbot.waitUntil(lambda: plot.marker_counts["warning"] > 0, timeout=LONG)
    plot.marker_clicked.emit(("finding", CODE))  # on the curve
    assert page.notices.panel.isVisible()
    (banner,) = [each for each in page.findings.findChildren(Banner) if each.property("marked")]
    press(banner, PROVE)
    dialog = page.found.dialog
    assert dialog is not None
    qtbot.waitUntil(dialog.start.isEnabled, timeout=LONG)
    dialog.start.click()
    qtbot.waitUntil(lambda: not context.proofs.is_busy, timeout=4 * LONG)
    assert context.proofs.problem == ""
    qtbot.waitUntil(lambda: "Cures it" in [each.text() for each in dialog.view.findChildren(QLabel)], timeout=LONG)
    dialog.close()
    assert [proof.verdict for proof in read_proofs(sick)] == ["cures"]

    before = best(sick)
    read = answer_next_dialog(qtbot, FixDialog, APPLY_ANEW)
    press(banner, OFFER)
    qtbot.waitUntil(lambda: context.live.folder not in (None, sick), timeout=LONG)
    cured = ended(qtbot, context, RunState.COMPLETED)
    assert "from the start" in read[0]
    assert CODE not in {each.code for each in read_history(cured.events_file).findings}
    qtbot.waitUntil(lambda: plot.marker_counts["warning"] == 0, timeout=LONG)
    assert best(cured) > before


def best(run: RunFolder) -> float:
    """The accuracy of its last validation."""
    return read_history(run.events_file).validations[-1].metrics["val/accuracy"]
