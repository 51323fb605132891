"""Presets, files, drops, branches, search, keyboard."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.pages.setup.presets import PresetDialog
from studio.services.notifier import Notification
from tests.studio.pages_setup.fakes import FakeContext, branch_from_draft, words
from tests.studio.window_driver import carry, drag, let_go
from training.presets import preset


def said(context: FakeContext) -> list[str]:
    texts: list[str] = []

    def note(notification: Notification) -> None:
        texts.append(notification.text)

    context.notifier.notified.connect(note)
    return texts


def choosing(title: str, act: Callable[[PresetDialog], None]) -> None:
    """Once the dialog is open, mark the preset called ``title`` and let ``act`` do the rest."""

    def choose() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, PresetDialog)
        try:
            (item,) = dialog.list.findItems(title, Qt.MatchFlag.MatchContains)
            dialog.list.setCurrentItem(item)
            QApplication.processEvents()  # what was added to an open dialog is shown a moment later
            act(dialog)
        finally:
            dialog.close()  # a test that fails must not wait for a person

    QTimer.singleShot(0, choose)


def test_the_preset_menu_opens_presets_and_resets(page: SetupPage, context: FakeContext) -> None:
    actions = {action.text(): action for action in page.header.presets.menu().actions()}
    choosing("Spiral", lambda dialog: dialog.use.click())
    actions["Choose a preset…"].trigger()
    assert context.draft.kind("dataset") == "spiral"
    assert context.draft.value("model.hidden") == [128, 128]
    actions["Reset all settings"].trigger()
    assert context.draft.kind("dataset") == "shapes"


def test_a_preset_says_what_it_is_and_asks_for_its_data(page: SetupPage, context: FakeContext, tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte").touch()
    seen: list[str] = []

    def give_folder(dialog: PresetDialog) -> None:
        seen.extend(label.text() for label in dialog.findChildren(QLabel) if not label.isHidden())
        dialog.fields["dataset.path"].set_path(str(tmp_path))
        dialog.use.click()

    choosing("MNIST in five epochs", give_folder)
    page.header.choose_action.trigger()
    row = preset("mnist")
    assert {row.title, row.when, f"Memory: {row.memory}.", f"It needs {row.asks[0].what}:"} <= set(seen)
    assert context.draft.value("dataset.path") == str(tmp_path)
    assert context.draft.value("loop.epochs") == 5
    assert context.draft.config() is not None


def test_a_preset_whose_data_was_not_named_is_opened_and_its_field_asks(page: SetupPage, context: FakeContext) -> None:
    heard = said(context)
    page.tabs.setCurrentIndex(3)
    choosing("MNIST in five epochs", lambda dialog: dialog.use.click())
    page.header.choose_action.trigger()
    assert heard == []  # the field says it, where the page has gone
    assert page.tabs.currentIndex() == 0
    row = page.forms[1].rows()["dataset.path"]
    assert "Required. Choose a folder." in words(row)
    assert page.focusWidget() is row.findChild(QLineEdit)
    assert "Fill in the required fields to see a preview." in words(page.panels[0])
    page.tabs.setCurrentIndex(3)
    seen = words(page.panels[3].preview).splitlines()
    assert "Fill in the required fields to see the figures." in seen
    assert not {"–", "Validation, checkpoints and memory"} & set(seen)  # no empty card
    assert context.draft.value("dataset.path") == ""  # and not a path that nobody named
    assert context.draft.value("name") == "mnist"
    assert [path for path, _ in page.problem_sentences()] == ["dataset.path"]


def test_a_file_whose_data_is_gone_is_opened_at_the_field_that_names_it(
    page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    file = tmp_path / "moved.toml"
    file.write_text('name = "moved"\n[dataset]\nkind = "image_folder"\npath = "gone"\n', encoding="utf-8")
    page.tabs.setCurrentIndex(3)
    assert context.open_config(str(file))
    assert page.tabs.currentIndex() == 0
    row = page.forms[1].rows()["dataset.path"]
    assert f"{tmp_path / 'gone'} does not exist; check the spelling or choose another folder." in words(row)
    assert page.focusWidget() is row.findChild(QLineEdit)


def test_a_preset_is_not_used_when_the_dialog_is_canceled(page: SetupPage, context: FakeContext) -> None:
    before = context.draft.data()
    choosing("Spiral", lambda dialog: dialog.reject())
    page.header.choose_action.trigger()
    assert context.draft.data() == before


def drop(page: SetupPage, path: Path) -> None:
    data = carry(path)
    assert drag(page, data)
    let_go(page, data)


def test_a_dropped_folder_of_class_folders_becomes_the_dataset(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    folder = tmp_path / "Größe und Maß"
    for part in ("train", "val"):
        (folder / part / "Kätzchen").mkdir(parents=True)
        (folder / part / "Kätzchen" / "1.JPG").touch()
    drop(page, folder)
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == "image_folder")
    assert context.draft.value("dataset.path") == str(folder)
    assert context.draft.value("name") == "Größe und Maß"
    assert context.draft.config() is not None


def test_dropped_mnist_files_become_the_dataset(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    file = tmp_path / "train-images-idx3-ubyte.gz"
    file.touch()
    drop(page, file)
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == "idx")
    assert context.draft.value("dataset.path") == str(tmp_path)


@pytest.mark.parametrize(
    ("files", "dropped", "kind"),
    [
        (["train/images/a.png", "train/masks/a.png"], ".", "segmentation"),
        pytest.param(["JPEGImages/a.jpg", "SegmentationClass/a.png"], ".", "segmentation", marks=pytest.mark.slow),
        (["rows.csv"], "rows.csv", "table"),
        pytest.param(["rows.parquet"], "rows.parquet", "table", marks=pytest.mark.slow),
        (["pictures.csv", "a.jpg"], "pictures.csv", "image_table"),
        pytest.param(["poem.txt"], "poem.txt", "text", marks=pytest.mark.slow),
        (["one.txt", "two.txt"], ".", "text"),
    ],
)
def test_other_data_that_is_dropped_is_recognized(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path, files: list[str], dropped: str, kind: str
) -> None:
    folder = tmp_path / "data.v2"
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        text = '"name",kind\n"a.jpg",cat\n' if file == "pictures.csv" else "x,y\n1,2\n"
        (folder / file).write_text(text)
    drop(page, folder / dropped)
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == kind)
    assert context.draft.value("dataset.path") == str(folder / dropped)
    assert context.draft.value("name") == ("data.v2" if dropped == "." else Path(dropped).stem)


def test_a_dropped_configuration_is_opened_and_unknown_settings_are_named(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    heard = said(context)
    file = tmp_path / "lab.toml"
    file.write_text('name = "lab"\n[loop]\nepochs = 0\ntempo = 3\n')
    drop(page, file)
    qtbot.waitUntil(lambda: context.draft.value("name") == "lab")
    assert page.problem_sentences() == [("loop.epochs", "Epochs: must be at least 1, but is 0.")]
    assert len(heard) == 1
    assert "loop.tempo" in heard[0]


def test_a_folder_without_data_changes_nothing_and_says_so(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    heard = said(context)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").touch()
    drop(page, tmp_path)
    qtbot.waitUntil(lambda: bool(heard))
    assert "holds no dataset" in heard[0]
    assert context.draft.kind("dataset") == "shapes"


def test_a_branch_says_where_it_comes_from_and_what_is_changed(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    branch_from_draft(context)
    assert page.sheet.isVisible()
    assert "Branching from shapes, step 1,400" in words(page.sheet)
    assert page.bar.start_button.text() == "Start branch"
    context.draft.set("loop.epochs", 8)
    assert "Epochs: 5 → 8" in words(page.sheet)
    context.cancel_branch()
    assert not page.sheet.isVisible()
    assert page.bar.start_button.text() == "Start training"


def test_search_goes_from_one_to_the_next_over_all_panels(qtbot: QtBot, page: SetupPage) -> None:
    qtbot.keyClick(page, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    search = page.header.search
    qtbot.waitUntil(search.hasFocus)
    qtbot.keyClicks(search, "seed")
    assert page.finder.found[0] == "seed"
    assert page.tabs.currentIndex() == 3
    assert set(page.finder.found) >= {"dataset.split_seed", "dataset.data_seed", "seed"}
    while page.finder.found[page.finder.current] != "dataset.split_seed":
        qtbot.keyClick(search, Qt.Key.Key_Return)
    assert page.tabs.currentIndex() == 0
    rows = page.forms[1].rows()
    assert rows["dataset.split_seed"].property("found") == "current"
    assert rows["dataset.data_seed"].property("found") == "match"
    qtbot.keyClick(search, Qt.Key.Key_Escape)
    assert rows["dataset.split_seed"].property("found") == ""
    qtbot.keyClicks(search, "slurm")  # no setting of the run, and looked for all the same
    assert page.finder.found == ["where"]
    assert page.tabs.currentIndex() == 3
    assert words(page.where).startswith("Where it runs")


def test_tab_visits_the_rows_in_the_order_they_stand_also_after_another_kind(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    page.tabs.setCurrentIndex(2)
    context.draft.set_kind("optimizer", "sgd")
    form = next(form for form in page.forms if form.section == "optimizer")
    wanted = list(form.focus_widgets())
    qtbot.wait(10)
    visited, current = [], wanted[0]
    for _ in range(len(wanted)):
        visited.append(current)
        following = current.nextInFocusChain()
        while following is not None and following not in wanted and following is not wanted[0]:
            following = following.nextInFocusChain()
        if following is None:
            break
        current = following
    assert visited == wanted


def test_undo_and_redo_by_button_and_key(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    assert not page.header.undo.isEnabled()
    context.draft.set("loop.epochs", 9)
    qtbot.mouseClick(page.header.undo, Qt.MouseButton.LeftButton)
    assert context.draft.value("loop.epochs") == 5
    page.bar.start_button.setFocus()
    qtbot.keyClick(
        page.bar.start_button, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert context.draft.value("loop.epochs") == 9


def press(keys: str) -> None:
    """On the keyboard, wherever it is."""
    found = QApplication.focusWidget()
    assert found is not None
    QTest.keySequence(found, QKeySequence(keys))


def test_undo_by_key_takes_settings_back_from_the_line_of_search_too(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    page.activateWindow()
    context.draft.set("loop.epochs", 9)
    search = page.header.search
    search.setFocus()
    qtbot.waitUntil(search.hasFocus)
    press("Ctrl+Z")
    assert context.draft.value("loop.epochs") == 5
    for keys in ("Ctrl+Y", "Ctrl+Z", "Ctrl+Shift+Z"):
        search.setFocus()  # undo and redo show what they changed
        press(keys)
    assert context.draft.value("loop.epochs") == 9
    search.setFocus()
    QTest.keyClicks(search, "lr")
    press("Ctrl+Z")  # what was typed there comes first
    assert (search.text(), context.draft.value("loop.epochs")) == ("", 9)


def test_undo_by_key_goes_on_after_what_was_typed_in_the_field(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    with qtbot.waitActive(page):
        page.activateWindow()
    context.draft.set("loop.epochs", 9)
    editor = page.forms[1].rows()["dataset.samples"].editor
    page.go_to("dataset.samples")
    qtbot.waitUntil(lambda: QApplication.focusWidget() in editor.findChildren(QLineEdit))
    press("Ctrl+Z")
    assert context.draft.value("loop.epochs") == 5
    press("Ctrl+Shift+Z")
    assert context.draft.value("loop.epochs") == 9
    page.go_to("dataset.samples")
    qtbot.waitUntil(lambda: QApplication.focusWidget() in editor.findChildren(QLineEdit))
    before = context.draft.value("dataset.samples")
    press("7")
    assert context.draft.value("dataset.samples") != before
    press("Ctrl+Z")
    assert (context.draft.value("dataset.samples"), context.draft.value("loop.epochs")) == (before, 9)


@pytest.mark.parametrize("width", [700, 1100])
def test_the_preview_is_put_away_where_there_is_no_room_beside_the_forms(
    qtbot: QtBot, page: SetupPage, width: int
) -> None:
    page.resize(width, 540)
    panel = page.panels[0]
    qtbot.waitUntil(lambda: page.width() == width and panel.preview.isVisible() is (width == 1100))
    form = panel.forms[0]
    assert form.mapTo(panel, QPoint(form.width(), 0)).x() <= panel.width()


def test_a_folder_that_vanished_is_noticed_when_the_window_is_looked_at_again(
    page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    context.draft.set_kind("dataset", "image_folder")
    context.draft.set("dataset.path", str(folder))
    assert page.bar.reason.text() == "Reading the preview of images …"
    folder.rmdir()
    context.draft.recheck()
    assert "does not exist" in dict(page.problem_sentences())["dataset.path"]
    assert page.bar.start_button.toolTip() == "1 setting to put right: Dataset › Folder"


def test_the_list_of_presets_ends_with_a_whole_row(qtbot: QtBot) -> None:
    dialog = PresetDialog()
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    for height in (520, 531, 600):
        dialog.resize(760, height)
        qtbot.waitUntil(lambda height=height: dialog.height() == height)  # type: ignore[misc]
        rows, room = dialog.list.visualItemRect(dialog.list.item(0)).height(), dialog.list.viewport().height()
        assert room % rows == 0
        assert room > 200


def test_undo_shows_what_it_undid_wherever_it_stands(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    notices: list[Notification] = []
    context.notifier.notified.connect(notices.append)
    kind = context.draft.kind("model")
    context.draft.set_kind("model", "mlp")
    page.tabs.setCurrentIndex(3)
    page.draft.undo()
    assert context.draft.kind("model") == kind
    assert page.tabs.currentIndex() == 1
    chooser = page.panels[1].forms[0].chooser
    assert chooser is not None
    assert chooser.property("flash") is True
    qtbot.waitUntil(lambda: chooser.property("flash") is False)
    told = notices[-1]
    assert (told.title, told.text) == ("Undone", "Architecture: MLP → Small CNN")
    page.draft.redo()
    assert notices[-1].title == "Redone"


def test_control_y_makes_an_edit_again(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    context.draft.set("loop.epochs", 9)
    page.draft.undo()
    qtbot.keyClick(page.bar.start_button, Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
    assert context.draft.value("loop.epochs") == 9
