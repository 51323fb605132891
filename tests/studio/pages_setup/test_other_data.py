"""Other data, other settings: what suits it is set up in one step, and what was there before is one click away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.state.drafts.recipes import name_after_change, preset_data, recipe
from studio.state.drafts.setting_specs import RUN, Settings, join_sections
from tests.reports import inspect
from tests.studio.pages_setup.fakes import Asked, FakeContext, branch_from_draft, words
from tests.studio.pages_setup.test_files_and_keys import choosing, drop, press
from training.catalog import DATASETS
from training.config import RunConfig
from training.config.rules.task import task_problems
from training.config.run import alternatives
from training.config.sections.data.dataset_section import DatasetSection
from training.presets.recipes import RECIPES

SHARED = Path(__file__).parents[4] / "shared" / "data" / "tables"


def flowers(folder: Path, name: str = "flowers") -> Path:
    """Three classes in the last column."""
    rows = [f"{row % 17}.5,{row % 13}.25,{('setosa', 'versicolor', 'virginica')[row % 3]}" for row in range(90)]
    (folder / f"{name}.csv").write_text("\n".join(["length,width,species", *rows]) + "\n")
    return folder / f"{name}.csv"


def prices(folder: Path) -> Path:
    """A number in the last column."""
    rows = [f"{row % 17},{'abc'[row % 3]},{row * 7 % 101}.5" for row in range(90)]
    (folder / "prices.csv").write_text("\n".join(["size,cut,price", *rows]) + "\n")
    return folder / "prices.csv"


def shared_table(name: str) -> Path:
    if not (SHARED / name).is_file():
        pytest.skip(f"the real {name} is not beside the checkout (../shared/data/tables)")
    return SHARED / name


def read(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    """Let the engine answer for the data as the form has it, once the page has asked."""
    question, asked = page.previews.dataset, context.engine.inspections
    for _ in range(3):  # a table whose columns are not what the form says is asked for once more
        config = context.draft.usable_config("dataset")
        if not question.unread or config is None:
            break
        _wait_for(qtbot, asked, config.model_dump(mode="json")["dataset"])
        asked[-1].done(inspect(config))
    assert not question.unread


def _wait_for(qtbot: QtBot, asked: list[Asked], dataset: dict[str, Any]) -> None:
    qtbot.waitUntil(lambda: bool(asked) and asked[-1].config["dataset"] == dataset)


def drop_and_read(qtbot: QtBot, page: SetupPage, context: FakeContext, file: Path) -> None:
    drop(page, file)
    qtbot.waitUntil(lambda: context.draft.settings()["dataset"].get("path") == str(file))
    read(qtbot, page, context)


def opened(context: FakeContext, name: str, path: Path | None = None, **settings: Any) -> Settings:
    """A preset chosen by hand, and what the draft holds then."""
    context.open_config(f"preset:{name}")
    context.draft.apply({"dataset.path": str(path)} | settings if path else settings)
    return context.draft.settings()


def expected(name: str, file: Path) -> Settings:
    data = preset_data(name)
    data["dataset"]["path"], data[RUN]["name"] = str(file), file.stem
    return data


def press_keep(page: SetupPage) -> None:
    (button,) = [each for each in page.other_data.banner.findChildren(QPushButton) if each.text() == "Keep my settings"]
    button.click()


@pytest.mark.parametrize(
    ("name", "then"),
    [("photos cleaned", "iris"), ("photos cleaned from step 1,200", "iris"), ("mine cleaned", "mine cleaned")],
)
def test_a_name_made_of_the_data_before_does_not_outlive_it(name: str, then: str) -> None:
    settings: Settings = {RUN: {"name": name}, "dataset": {"path": "/data/iris.csv"}}
    assert name_after_change(settings, "/data/photos") == then


def test_there_is_a_recipe_for_all_data_and_it_fits() -> None:
    for row in DATASETS:
        chosen = alternatives("dataset")[row.kind]
        assert issubclass(chosen, DatasetSection)
        for target in chosen.model_construct(None, name="MNIST").possible_targets:
            assert (row.kind, target) in RECIPES
    for kind, target in RECIPES:
        data = recipe(kind, target)
        data["dataset"] |= {"path": "somewhere"} if data["dataset"].get("path", "") == "" else {}
        data["dataset"] = {name: value for name, value in data["dataset"].items() if name in _names(kind)}
        data["dataset"] |= {"name": "CelebA"} if (kind, target) == ("torchvision", "labels") else {}
        assert not list(task_problems(RunConfig.model_validate(join_sections(data)), target))
        assert target != "tasks" or data["dataset"]["task"] == "tasks"


def _names(kind: str) -> set[str]:
    return {"kind", *alternatives("dataset")[kind].model_fields}


@pytest.mark.parametrize("real", [False, True])
def test_a_table_dropped_on_a_language_model_is_what_its_preset_makes_of_it(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path, real: bool
) -> None:
    (tmp_path / "text.txt").write_text("To be, or not to be. " * 99)
    before = opened(context, "gpt", tmp_path / "text.txt")
    read(qtbot, page, context)
    for make, name in ((flowers, "iris.csv"), (prices, "diamonds.csv")):
        file = shared_table(name) if real else make(tmp_path)
        drop_and_read(qtbot, page, context, file)
        assert context.draft.settings() == expected("table-classes" if make is flowers else "table-values", file)
        assert not context.draft.problems()
        shown = words(page.other_data.banner)
        assert page.other_data.banner.isVisible()
        assert "Other data, other settings: " in shown
        assert "GPT → Tabular MLP, Language model → " in shown
        assert "Muon → AdamW" in shown
        assert "Batch size 12 → " in shown
        page.header.undo.click()
        assert context.draft.settings() == before
        assert page.other_data.banner.isHidden()
        read(qtbot, page, context)
        assert context.draft.settings() == before


def test_keep_my_settings_puts_back_all_but_the_data(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("To be, or not to be. " * 99)
    before = opened(context, "gpt", tmp_path / "text.txt", **{"optimizer.lr": 0.0123, "seed": 5})
    read(qtbot, page, context)
    drop_and_read(qtbot, page, context, prices(tmp_path))
    press_keep(page)
    after = context.draft.settings()
    assert {name: value for name, value in after.items() if name != "dataset"} == {
        name: value for name, value in before.items() if name != "dataset"
    }
    assert (after["dataset"]["kind"], after["dataset"]["path"]) == ("table", str(tmp_path / "prices.csv"))
    assert page.other_data.banner.isHidden()
    context.draft.set("dataset.targets", ["size"])
    read(qtbot, page, context)
    assert context.draft.kind("objective") == "language_model"  # they were to be kept
    context.draft.undo()
    context.draft.undo()
    assert context.draft.kind("objective") == "regression"


def test_what_is_set_while_the_data_are_read_stays(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    own = {"loop.epochs": 3, "optimizer.lr": 0.0123, "model.dropout": 0.4, "dataset.split_seed": 7, "name": "mine"}
    before = opened(context, "sample")
    read(qtbot, page, context)
    file = prices(tmp_path)  # numbers, where classes are set up until the preview has told
    drop(page, file)
    qtbot.waitUntil(lambda: context.draft.settings()["dataset"].get("path") == str(file))
    for path, value in own.items():
        context.draft.set(path, value)
    assert page.other_data.banner.isHidden()
    read(qtbot, page, context)
    assert context.draft.kind("objective") == "regression"
    assert {path: context.draft.value(path) for path in own} == own
    assert context.draft.value("loop.batch_size") == preset_data("table-values")["loop"]["batch_size"]
    assert "Epochs" not in words(page.other_data.banner)
    press_keep(page)
    assert context.draft.kind("objective") == before["objective"]["kind"]
    own.pop("model.dropout")  # of another network
    assert {path: context.draft.value(path) for path in own} == own


def test_settings_are_kept_for_the_data_at_hand_and_no_other(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("To be, or not to be. " * 99)
    opened(context, "gpt", tmp_path / "text.txt")
    read(qtbot, page, context)
    drop_and_read(qtbot, page, context, prices(tmp_path))
    press_keep(page)
    assert context.draft.kind("objective") == "language_model"
    drop_and_read(qtbot, page, context, flowers(tmp_path))
    assert context.draft.kind("objective") == "classification"
    assert context.draft.kind("model") == "tabular"
    assert page.other_data.banner.isVisible()


def test_a_setting_of_the_same_data_sets_nothing_up(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    opened(context, "table-values", flowers(tmp_path), **{"dataset.task": "auto"})  # which are classes
    read(qtbot, page, context)
    assert context.draft.problems()
    context.draft.set("dataset.validation_fraction", 0.3)
    read(qtbot, page, context)
    assert context.draft.kind("objective") == "regression"
    assert page.other_data.banner.isHidden()
    context.draft.set("dataset.ignored", ["species"])  # what is learned is the last column that is left
    read(qtbot, page, context)
    assert not context.draft.problems()
    context.draft.set("dataset.ignored", [])
    read(qtbot, page, context)
    assert context.draft.kind("objective") == "classification"


@pytest.mark.parametrize("by_key", [False, True])
def test_what_was_kept_is_taken_back_by_the_very_next_key(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path, by_key: bool
) -> None:
    read(qtbot, page, context)
    page.go_to("dataset.samples")  # a row that goes with the sample
    drop_and_read(qtbot, page, context, flowers(tmp_path))
    (keep,) = [each for each in page.other_data.banner.findChildren(QPushButton) if each.text() == "Keep my settings"]
    dropped = context.draft.settings()
    with qtbot.waitActive(page):
        page.activateWindow()
    assert not isinstance(QApplication.focusWidget(), QLineEdit)
    if by_key:
        keep.setFocus()
        press("Space")
    else:
        qtbot.mouseClick(keep, Qt.MouseButton.LeftButton)
    assert context.draft.settings() != dropped
    assert not isinstance(QApplication.focusWidget(), QLineEdit)
    press("Ctrl+Z")
    assert context.draft.settings() == dropped


def test_a_rotation_of_the_sample_does_not_reach_a_folder_but_ones_own_does(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    folder = tmp_path / "photos"
    (folder / "cat").mkdir(parents=True)
    (folder / "cat" / "1.jpg").touch()
    assert context.draft.value("dataset.rotation") == 10.0
    drop(page, folder)
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == "image_folder")
    assert context.draft.settings() == expected("pictures", folder)
    context.draft.load_preset()
    own = {"dataset.rotation": 25.0, "optimizer.lr": 0.007, "loop.batch_size": 17, "model.kind": "mlp", "seed": 4}
    for path, value in own.items():
        section, _, name = path.rpartition(".")
        context.draft.set_kind(section, str(value)) if name == "kind" else context.draft.set(path, value)
    drop(page, folder)
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == "image_folder")
    data = context.draft.settings()
    assert data["dataset"]["rotation"] == 25.0
    assert data["dataset"]["flip"] is True  # of the recipe
    assert (data["optimizer"]["lr"], data["loop"]["batch_size"], data[RUN]["seed"]) == (0.007, 17, 4)
    assert data["model"]["kind"] == "mlp"
    assert data["loop"]["epochs"] == preset_data("pictures")["loop"]["epochs"]


def test_another_file_for_the_same_task_leaves_all_as_it_is(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    opened(context, "table-classes", flowers(tmp_path), **{"loop.epochs": 7, "dataset.targets": ["species"]})
    read(qtbot, page, context)
    before = context.draft.settings()
    assert before[RUN]["name"] == "table classes"
    drop_and_read(qtbot, page, context, flowers(tmp_path, "others"))
    after = context.draft.settings()
    assert after[RUN]["name"] == "others"
    assert after["dataset"]["path"] == str(tmp_path / "others.csv")
    after[RUN]["name"], after["dataset"]["path"] = before[RUN]["name"], before["dataset"]["path"]
    assert after == before
    assert page.other_data.banner.isHidden()
    context.draft.undo()
    assert context.draft.settings() == before


def test_a_table_with_other_columns_is_read_without_the_names_of_the_one_before(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    before = opened(context, "table-classes", flowers(tmp_path), **{"dataset.targets": ["species"]})
    read(qtbot, page, context)
    drop_and_read(qtbot, page, context, prices(tmp_path))
    assert context.draft.settings() == expected("table-values", tmp_path / "prices.csv")
    context.draft.undo()
    assert context.draft.settings() == before


def test_another_target_of_another_task_is_set_up_and_both_are_one_step(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    before = opened(context, "table-classes", flowers(tmp_path))
    read(qtbot, page, context)
    context.draft.set("dataset.targets", ["length"])
    context.draft.finish_edit()
    assert not page.bar.start_button.isEnabled()
    read(qtbot, page, context)
    wanted = expected("table-values", tmp_path / "flowers.csv")
    wanted["dataset"]["targets"] = ["length"]
    assert context.draft.settings() == wanted
    assert page.bar.start_button.isEnabled()
    assert "Classification → Regression" in words(page.other_data.banner)
    context.draft.undo()
    assert context.draft.settings() == before
    read(qtbot, page, context)
    context.draft.set("dataset.targets", ["length"])
    read(qtbot, page, context)
    press_keep(page)
    assert context.draft.value("dataset.targets") == ["length"]
    assert context.draft.kind("objective") == "classification"


def test_a_kind_chosen_by_hand_is_set_up_at_once_and_for_its_target_when_that_is_known(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    before = context.draft.settings()
    chooser = page.forms[1].chooser
    assert chooser is not None
    chooser.chosen.emit("dataset", "table")
    assert context.draft.kind("model") == "tabular"
    assert context.draft.value("name") == "table classes"
    assert page.other_data.banner.isVisible()
    assert [path for path, _ in page.problem_sentences()] == ["dataset.path"]
    editor = page.forms[1].rows()["dataset.path"].editor.findChildren(QLineEdit)[0]
    qtbot.keyClicks(editor, str(prices(tmp_path)))
    read(qtbot, page, context)
    assert context.draft.settings() == expected("table-values", tmp_path / "prices.csv")
    press_keep(page)
    kept = context.draft.settings()
    assert {name: kept[name] for name in kept if name != "dataset"} == {
        name: before[name] for name in before if name != "dataset"
    }
    chooser.chosen.emit("dataset", "text")
    assert context.draft.kind("model") == "gpt"
    assert context.draft.value("dataset.path") == ""


def test_kinds_chosen_one_after_another_leave_nothing_of_their_recipes(page: SetupPage, context: FakeContext) -> None:
    for kind in ("image_folder", "idx", "spiral", "idx"):
        context.draft.set_kind("dataset", kind)
        shown, usual = context.draft.settings()["dataset"], recipe(kind, "class")["dataset"]
        assert {name for name in usual if shown[name] != usual[name]} <= {"path", "task"}, kind
    context.draft.set("dataset.validation_fraction", 0.3)  # one's own
    context.draft.set_kind("dataset", "image_table")
    assert context.draft.value("dataset.validation_fraction") == 0.3


def test_small_images_named_in_the_field_keep_their_size(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    for name in ("cat", "dog"):
        (tmp_path / "small" / name).mkdir(parents=True)
        for at in range(4):
            Image.new("RGB", (24, 24)).save(tmp_path / "small" / name / f"{at}.png")
    context.draft.set_kind("dataset", "image_folder")
    assert context.draft.value("dataset.image_size") == 64
    context.draft.set("dataset.path", str(tmp_path / "small"))
    read(qtbot, page, context)
    assert context.draft.value("dataset.image_size") is None
    read(qtbot, page, context)
    context.draft.set("dataset.image_size", 64)
    read(qtbot, page, context)
    assert context.draft.value("dataset.image_size") == 64


def test_a_preset_chosen_by_hand_is_not_overridden(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    """Its data may be named in the dialog, or later in the form: what is trained on it was chosen."""
    choosing("Tabular classification", lambda dialog: dialog.use.click())
    page.header.choose_action.trigger()
    chosen = context.draft.settings()
    editor = page.forms[1].rows()["dataset.path"].editor.findChildren(QLineEdit)[0]
    qtbot.keyClicks(editor, str(prices(tmp_path)))
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    read(qtbot, page, context)
    assert context.draft.settings() == {
        **chosen,
        "dataset": {**chosen["dataset"], "path": str(tmp_path / "prices.csv")},
    }
    assert page.other_data.banner.isHidden()


def test_a_branch_keeps_what_it_begins_with(page: SetupPage, context: FakeContext) -> None:
    branch_from_draft(context)
    before = context.draft.settings()
    context.draft.set_kind("dataset", "text")
    after = context.draft.settings()
    assert {name: after[name] for name in after if name != "dataset"} == {
        name: before[name] for name in before if name != "dataset"
    }


def test_the_offer_ends_with_the_next_setting_of_ones_own(page: SetupPage, context: FakeContext) -> None:
    context.draft.set_kind("dataset", "moons")
    assert page.other_data.banner.isVisible()
    context.draft.set("loop.epochs", 3)
    assert page.other_data.banner.isHidden()
