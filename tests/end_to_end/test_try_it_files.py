"""The Try it page is given many images, files that do not fit, and models with code of their own."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from studio.forms.consent_editor import ConsentDialog
from studio.pages.tryit.page import TryItPage
from studio.state.context import AppContext
from tests.end_to_end.test_try_it import PATIENCE, open_page
from tests.studio.window_driver import answer_next_dialog, press
from tests.training.catalog.task_samples import small
from training.cli import main
from training.config import RunConfig, parse_config
from training.config.consent import agree
from training.engine.runs.run import start_run
from training.system.places import data_folder

pytestmark = pytest.mark.slow

_NETWORK = """
from pathlib import Path
from torch import nn

with Path({log!r}).open("a") as file:
    file.write("ran\\n")


def build(features: int, classes: int):
    return nn.Linear(features, classes)
"""


def write_images(folder: Path, count: int) -> Path:
    """Two classes: dark and bright."""
    for number in range(count):
        to = folder / ("dark", "bright")[number % 2]
        to.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), 20 + number if number % 2 == 0 else 200 + number % 50, np.uint8)).save(
            to / f"{number:02}.png"
        )
    return folder


def rest(qtbot: QtBot, page: TryItPage) -> None:
    """Until nothing is asked any more."""
    qtbot.waitUntil(lambda: not page.answers.bar.cancel.isVisible(), timeout=PATIENCE)


def see(qtbot: QtBot, page: TryItPage, words: str) -> None:
    """Until ``words`` stand among the answers."""
    qtbot.waitUntil(lambda: words in read_words(page.answers), timeout=PATIENCE)


def read_words(widget: QWidget) -> str:
    """All that a person can read in it."""
    return "\n".join(each.text() for each in widget.findChildren(QLabel) if each.isVisible())


def test_many_images_are_paged_saved_and_canceled_and_their_nearest_are_shown(
    qtbot: QtBot, make_context: Callable[..., AppContext], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = make_context()
    images = write_images(tmp_path / "images", 30)
    run = small("embedding", tmp_path / "data").model_dump(mode="json")
    run |= {"dataset": {"kind": "image_folder", "path": str(images)}, "model": {"kind": "small_cnn"}}
    record = start_run(parse_config(run), context.workspace)
    assert main(["evaluate", str(record.last_checkpoint)]) == 0
    _window, page = open_page(qtbot, context)
    context.model_to_try.choose(Path(str(record.last_checkpoint)))
    qtbot.waitUntil(lambda: page.model.description is not None, timeout=PATIENCE)

    page.take_files([images])
    rest(qtbot, page)
    bar = page.answers.bar
    assert bar.range.text() == "1 to 12 of 30"
    assert not bar.previous.isEnabled()
    see(qtbot, page, "images/bright/01.png")
    qtbot.waitUntil(lambda: read_words(page.answers).count("Nearest evaluated samples") == 12, timeout=PATIENCE)
    assert len(page.answers.findChildren(type(page.answers.images[0]))) > len(page.answers.images)  # theirs
    for expected in ("13 to 24 of 30", "25 to 30 of 30"):
        bar.following.click()
        rest(qtbot, page)
        assert bar.range.text() == expected
    assert not bar.following.isEnabled()
    bar.previous.click()
    rest(qtbot, page)
    assert bar.range.text() == "13 to 24 of 30"

    out = tmp_path / "all.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(out), ""))
    bar.save.click()
    bar.cancel.click()
    rest(qtbot, page)
    assert page.answers.state.text() == "Canceled."
    assert bar.range.text() == "13 to 24 of 30"
    bar.save.click()
    rest(qtbot, page)
    assert "30 samples answered" in page.answers.state.text()
    with out.open() as file:
        assert [row["sample"] for row in csv.DictReader(file)][:2] == ["images/bright/01.png", "images/bright/03.png"]

    (tmp_path / "empty").mkdir()
    (tmp_path / "table.csv").write_text("x,y\n1,2\n")
    whole = (images / "dark" / "00.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    page.take_files([tmp_path / "empty", tmp_path / "table.csv", tmp_path / "cut.png", images / "dark" / "00.png"])
    rest(qtbot, page)
    for told in ("holds no images", "not an image format that can be read (.csv)"):
        see(qtbot, page, told)
    qtbot.waitUntil(lambda: read_words(page.answers).count("Not answered: ") == 3, timeout=PATIENCE)
    assert len(page.answers.images) == 1
    page.take_files([])
    assert bar.range.text() == "1 to 4 of 4"  # nothing was given: nothing changes
    page.take_files([images])
    bar.cancel.click()  # before the first page
    assert (bar.range.text(), page.answers.state.text()) == ("nothing", "Canceled.")


def test_the_form_is_walked_by_tab_and_marks_what_lies_outside(
    qtbot: QtBot, make_context: Callable[..., AppContext], tmp_path: Path
) -> None:
    context = make_context()
    day, color = ("2024-01-05", "2024-12-05"), ("red", "blue")
    lines = [f"{('46', '5140,5')[i % 2]};{day[i % 2]};{color[i % 2]};{i}" for i in range(40)]
    (tmp_path / "table.csv").write_text("\n".join(["weight;day;color;price", *lines]))
    run = small("regression", tmp_path / "data").model_dump(mode="json")
    run |= {
        "dataset": {"kind": "table", "path": str(tmp_path / "table.csv"), "targets": ["price"]},
        "model": {"kind": "tabular"},
    }
    record = start_run(parse_config(run), context.workspace)
    window, page = open_page(qtbot, context)
    context.model_to_try.choose(Path(str(record.last_checkpoint)))
    qtbot.waitUntil(lambda: bool(page.form.row()), timeout=PATIENCE)
    # Nothing comes meanwhile, and each key has done its work before the next one.
    qtbot.waitUntil(lambda: "price" in read_words(page.answers) and window.isActiveWindow(), timeout=PATIENCE)
    page.form.example.setFocus()
    focus: list[QWidget] = [page.form.example]
    qtbot.waitUntil(focus[0].hasFocus, timeout=PATIENCE)

    def has_moved_on() -> bool:
        now = QApplication.focusWidget()
        if now is None or now is focus[-1]:
            return False
        focus.append(now)
        return True

    for _ in range(4):
        qtbot.keyClick(focus[-1], Qt.Key.Key_Tab)
        qtbot.waitUntil(has_moved_on, timeout=PATIENCE)
    walked = [widget.accessibleName() for widget in focus[1:]]
    assert walked[1:] == list(page.form.row()) == ["weight", "day", "color"]

    assert "outside of the training rows" not in read_words(page.form)
    page.form.fill({"weight": "9999", "day": "2025-01-01"})
    words = read_words(page.form)
    assert "outside of the training rows (46 to 5140,5)" in words  # as the field takes them
    assert "outside of the training rows (2024-01-05 to 2024-12-05)" in words
    see(qtbot, page, "weight 9,999 lies outside what was trained on (46 to 5,140.5).")
    page.take_files([tmp_path])
    see(qtbot, page, "Not answered: is a folder; give a CSV or Parquet file.")


def test_code_of_a_network_is_run_by_no_question_before_somebody_agreed(
    qtbot: QtBot, make_context: Callable[..., AppContext], tmp_path: Path
) -> None:
    context = make_context()
    log, file = tmp_path / "log.txt", tmp_path / "network.py"
    file.write_text(_NETWORK.format(log=str(log)), encoding="utf-8")
    record = start_run(_with_network(small("classification", tmp_path / "data"), file), context.workspace)
    assert log.is_file()
    log.unlink()
    (data_folder() / "trusted.json").unlink()  # as on another computer
    _window, page = open_page(qtbot, context)
    context.model_to_try.choose(Path(str(record.last_checkpoint)))
    page.take_files([tmp_path])
    qtbot.waitUntil(lambda: bool(page.model.refusal), timeout=PATIENCE)
    assert not log.exists()
    shown = answer_next_dialog(qtbot, ConsentDialog, "Cancel")
    press(page, "Look at the code …")
    assert "network.py" in shown[0]
    assert page.model.description is None
    assert not log.exists()
    answer_next_dialog(qtbot, ConsentDialog, "Trust and run")
    press(page, "Look at the code …")
    qtbot.waitUntil(lambda: bool(page.answers.bars), timeout=PATIENCE)
    assert log.read_text().startswith("ran")


def _with_network(config: RunConfig, file: Path) -> RunConfig:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    agree(digest, file.name)
    settings = config.model_dump(mode="json")
    settings["model"] = {"kind": "user_file", "path": str(file), "trusted": digest}
    return parse_config(settings)
