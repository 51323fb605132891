"""The Models page: what was exported of all runs, with its proof, and every act with its Undo."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.pages.models.card_dialog import CardDialog
from studio.pages.models.page import ModelsPage
from studio.pages.tryit.page import TryItPage
from studio.services.notifier import Notification
from studio.state.context import AppContext
from tests.studio.window_driver import answer_next_question, open_window
from tests.training.catalog.task_samples import small
from training.engine.runs.run import start_run
from training.export import export_checkpoint


@pytest.mark.slow
def test_exports_are_listed_verified_and_brought_back(
    qtbot: QtBot, context: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    config = small("regression", tmp_path / "table")  # whose rows preprocess.py reads
    record = start_run(config, context.workspace)
    last = Path(str(record.last_checkpoint))
    for name, to in (("graph", "onnx"), ("weights", "safetensors")):
        export_checkpoint(last, to, tmp_path / name)
    window = open_window(qtbot, context, "models")
    page = window.page("models")
    assert isinstance(page, ModelsPage)
    context.library.refresh()
    qtbot.waitUntil(lambda: [each.state for each in page.exports.found] == ["present", "present"], timeout=20_000)
    assert "Proven on" in page.detail.facts.text()
    page.search.setText("onnx")
    assert page.count.text() == "1 of 2 exports"
    page.detail.verify.click()
    qtbot.waitUntil(lambda: page.detail.result.text().startswith("Verified now."), timeout=60_000)
    assert page.detail.result.text().endswith("preprocess.py, which reads files, was not run.")
    asked = answer_next_question(qtbot, "Run it")
    page.detail.trust.click()  # what the command line calls --trust
    qtbot.waitUntil(lambda: page.detail.result.text().startswith("Verified now."), timeout=60_000)
    assert asked == ["Run the code beside it?"]
    assert "was not run" not in page.detail.result.text()
    assert page.detail.trust.isHidden()
    page.detail.card.click()
    card = page.detail.findChild(CardDialog)
    assert card is not None
    shown = card.text.toPlainText()
    assert shown.startswith("regression")  # not with what is for machines
    assert "To be filled in by the author" in shown
    assert "rows exactly as training did." in shown
    card.reject()
    page.detail.try_it.click()
    asked_of = window.page("run/tryit")
    assert isinstance(asked_of, TryItPage)
    assert asked_of.isVisible()
    assert context.model_to_try.path == tmp_path / "graph"
    window.show_page("models")
    said: list[Notification] = []
    context.notifier.notified.connect(said.append)
    graph = tmp_path / "graph" / "model.onnx"
    whole = sorted(graph.parent.iterdir())
    page.detail.delete.click()
    qtbot.waitUntil(lambda: page.exports.found[1].state == "missing", timeout=20_000)
    assert not graph.exists()
    assert said[-1].action is not None
    said[-1].action()
    assert sorted(graph.parent.iterdir()) == whole
    qtbot.waitUntil(lambda: page.exports.found[1].state == "present", timeout=20_000)
    page.detail.remove.click()
    qtbot.waitUntil(lambda: len(page.exports.found) == 1, timeout=20_000)
    assert said[-1].action is not None
    said[-1].action()
    qtbot.waitUntil(lambda: len(page.exports.found) == 2, timeout=20_000)
    graph.write_bytes(graph.read_bytes() + b"x")
    page.exports.refresh()
    qtbot.waitUntil(lambda: page.exports.found[1].state == "changed", timeout=20_000)
    page.detail.verify.click()
    qtbot.waitUntil(lambda: "was changed or damaged since" in page.detail.result.text(), timeout=60_000)
    assert page.detail.result.text().startswith("Not verified.")
    shutil.rmtree(graph.parent)
    page.exports.refresh()
    qtbot.waitUntil(lambda: page.exports.found[1].state == "missing", timeout=20_000)
    assert "(missing)" in page.detail.facts.text()
    assert not page.detail.verify.isEnabled()
    assert not page.detail.try_it.isEnabled()
