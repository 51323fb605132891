"""The classes to train on, chosen in the form: a line of names, and check boxes once the preview knows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.forms.classes_editor import ClassesEditor
from studio.pages.setup.page import SetupPage
from tests.studio.pages_setup.fakes import FakeContext, refusal, report

PATH = "dataset.classes"
NAMES = ("cat", "dog", "owl")


def _report(*names: str, kept: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    choices = [
        {"name": name, "samples": 10 * (n + 1), "kept": not kept or name in kept} for n, name in enumerate(names)
    ]
    return report(class_choices=choices, **changes)


def _editor(page: SetupPage) -> ClassesEditor:
    found = next(form.rows()[PATH].editor for form in page.forms if PATH in form.rows())
    assert isinstance(found, ClassesEditor)
    return found


def _answer_next(qtbot: QtBot, context: FakeContext, asked: int, answer: dict[str, Any]) -> None:
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    context.engine.inspections[-1].done(answer)


def _click(qtbot: QtBot, editor: ClassesEditor, name: str) -> None:
    view = editor.list.view
    item = next(item for item in view.items() if item.text(0) == name)
    view.scrollToItem(item)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualItemRect(item).center())


@pytest.fixture
def editor(qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path) -> ClassesEditor:
    """Of a folder of three classes whose preview is there."""
    asked = len(context.engine.inspections)
    context.draft.apply({"dataset.kind": "image_folder", "dataset.path": str(tmp_path)})
    assert not _editor(page).list.isVisibleTo(page)
    _answer_next(qtbot, context, asked, _report(*NAMES))
    assert _editor(page).list.isVisibleTo(page)
    return _editor(page)


def test_names_are_typed_before_anybody_knows_them(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    context.draft.set_kind("dataset", "image_folder")
    editor = _editor(page)
    editor.setFocus()
    qtbot.keyClicks(editor.focusProxy(), "owl, cat")
    assert context.draft.value(PATH) == ["owl", "cat"]


def test_each_check_box_is_a_step_that_can_be_taken_back(
    qtbot: QtBot, editor: ClassesEditor, context: FakeContext
) -> None:
    draft = context.draft
    assert [(item.text(0), item.text(1)) for item in editor.list.view.items()] == [
        ("cat", "10"),
        ("dog", "20"),
        ("owl", "30"),
    ]
    _click(qtbot, editor, "dog")
    assert draft.value(PATH) == ["cat", "owl"]
    assert editor.list.told.text() == "2 of 3 classes"
    _click(qtbot, editor, "dog")
    assert draft.value(PATH) == []  # all of them
    qtbot.keyClick(editor.list.view, Qt.Key.Key_Space)
    assert draft.value(PATH) == ["cat", "owl"]
    for value, told in (([], "3 of 3"), (["cat", "owl"], "2 of 3"), ([], "3 of 3")):
        draft.undo()
        assert draft.value(PATH) == value
        assert editor.list.told.text() == f"{told} classes"


def test_none_is_no_choice_and_all_is_no_setting(
    qtbot: QtBot, editor: ClassesEditor, page: SetupPage, context: FakeContext
) -> None:
    draft = context.draft
    editor.list.none_button.click()
    assert draft.config() is None
    assert dict(page.problem_sentences())[PATH] == "Classes: check at least two classes."
    assert editor.list.told.text() == "0 of 3 classes"
    assert editor.list.isVisibleTo(page)
    _click(qtbot, editor, "owl")
    assert draft.value(PATH) == ["owl"]
    assert draft.config() is None
    _click(qtbot, editor, "cat")
    assert draft.value(PATH) == ["cat", "owl"]
    assert draft.config() is not None
    editor.list.all_button.click()
    assert draft.value(PATH) == []


def test_classes_stay_offered_while_the_preview_is_refused(
    qtbot: QtBot, editor: ClassesEditor, page: SetupPage, context: FakeContext
) -> None:
    asked = len(context.engine.inspections)
    _click(qtbot, editor, "cat")
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    context.engine.inspections[-1].failed(refusal("No sample of the validation part is of a class that is kept."))
    assert editor.list.isVisibleTo(page)
    _click(qtbot, editor, "cat")
    assert context.draft.value(PATH) == []


def test_a_name_that_the_data_does_not_have_can_be_switched_off(
    qtbot: QtBot, editor: ClassesEditor, context: FakeContext
) -> None:
    context.draft.set(PATH, ["zebra", "owl", "dog"])
    assert [item.text(0) for item in editor.list.view.items()] == ["zebra", *NAMES]
    assert editor.list.told.text() == "2 of 3 classes"
    _click(qtbot, editor, "zebra")
    assert context.draft.value(PATH) == ["dog", "owl"]


def test_classes_of_the_folder_before_do_not_keep_another_from_being_read(
    qtbot: QtBot, editor: ClassesEditor, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    context.draft.set(PATH, ["cat", "dog"])
    (tmp_path / "other").mkdir()
    asked = len(context.engine.inspections)
    context.draft.set("dataset.path", str(tmp_path / "other"))
    assert not editor.list.isVisibleTo(page)  # nobody knows yet
    assert context.draft.value(PATH) == ["cat", "dog"]
    problem = [PATH, "the data has no class 'cat'.", {}]
    refused = _report("ant", "bee", "dog", kept=("cat", "dog"), refused=f"{PATH}: x", problems=[problem])
    _answer_next(qtbot, context, asked, refused)
    assert editor.list.isVisibleTo(page)
    assert context.draft.value(PATH) == []


def test_many_classes_are_searched_and_switched_together(
    qtbot: QtBot, editor: ClassesEditor, page: SetupPage, context: FakeContext
) -> None:
    assert not editor.list.search.isVisibleTo(page)
    names = [f"{kind} {number}" for kind in ("bird", "fish") for number in range(10)]
    page.previews.ask_again()
    _answer_next(qtbot, context, len(context.engine.inspections), _report(*names))
    assert editor.list.search.isVisibleTo(page)
    editor.list.search.setText("Fish")
    editor.list.none_button.click()
    assert context.draft.value(PATH) == [f"bird {number}" for number in range(10)]
