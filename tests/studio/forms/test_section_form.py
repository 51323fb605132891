"""The form of a section and the draft always say the same; what is wrong stands beside the field."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from studio.forms.field_row import FieldRow
from studio.forms.fix_link import FixLink
from studio.forms.kinds.chooser import CardChooser, ListChooser
from studio.forms.search import find_settings
from studio.forms.section_form import SectionForm
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import RUN, join_path, kinds, specs
from tests.studio.every_setting import EVERY_KIND, named, other_value, settings_of, wrong_value
from training import catalog
from training.config.run import SECTIONS
from training.data.inspect import inspect_dataset
from training.presets import preset_text
from training.toml_text import read_toml


@pytest.fixture
def draft() -> Draft:
    return Draft()


def form_of(qtbot: QtBot, draft: Draft, section: str) -> SectionForm:
    form = SectionForm(draft, section, title="Run" if section == RUN else "")
    qtbot.addWidget(form)
    form.show()
    return form


def line(row: QWidget | None) -> QLineEdit:
    found = row.findChild(QLineEdit) if row else None
    assert isinstance(found, QLineEdit)
    return found


@pytest.mark.parametrize(("section", "kind"), EVERY_KIND)
def test_every_setting_is_edited_doubted_and_reset_in_its_row(
    qtbot: QtBot, draft: Draft, section: str, kind: str, tmp_path: Path
) -> None:
    if kind:
        draft.set_kind(section, kind)
    form = form_of(qtbot, draft, section)
    for spec in settings_of(draft, section, kind, tmp_path):
        with named(section, kind, spec):
            edit_doubt_and_reset(draft, form.rows()[join_path(section, spec.name)], other_value(spec, tmp_path))


def edit_doubt_and_reset(draft: Draft, row: FieldRow, other: object) -> None:
    """A wrong value, then ``other``, then the default."""
    spec, path = row.spec, row.path
    assert row.editor.value() == draft.value(path)
    for value, right in ((wrong_value(spec), False), (other, True)):
        row.editor.set_value(value)
        row.editor.edited.emit()
        assert draft.value(path) == value
        assert (draft.config() is not None) is right, draft.problems()
        assert bool(row.sentence) is not right
        if row.sentence:
            assert row.sentence[0].isupper() or not row.sentence[0].isalpha()
            assert row.sentence.endswith(".")
            assert "[type=" not in row.sentence  # pydantic's own words
    assert row.is_changed is (draft.is_changed(path) and not spec.required)
    if row.is_changed:
        row.reset_asked.emit(path)
        assert not draft.is_changed(path)
        assert not row.is_changed
        assert row.editor.value() == draft.value(path)


@pytest.mark.parametrize("section", [section for section in SECTIONS if len(kinds(section)) > 1])
def test_every_kind_can_be_chosen_and_left_as_it_was(qtbot: QtBot, draft: Draft, section: str) -> None:
    form = form_of(qtbot, draft, section)
    assert form.chooser is not None
    first, before = draft.kind(section), draft.data()[section]
    for entry in catalog.entries(section):
        if isinstance(form.chooser, ListChooser):
            form.chooser.combo.setCurrentIndex(form.chooser.combo.findData(entry.kind))
            form.chooser.combo.activated.emit(form.chooser.combo.currentIndex())
        else:  # whose panel offers what goes with the data alone (tests/studio/forms/kinds)
            form.chooser.chosen.emit(section, entry.kind)
        assert draft.kind(section) == entry.kind
        assert set(form.rows()) == {path for path in form.rows() if path.startswith(f"{section}.")}
        tables = {spec.name for spec in specs(section, entry.kind).values() if spec.editor == "table"}
        assert {row.spec.name for row in form.rows().values()} | {"kind"} | tables == set(draft.settings()[section])
    draft.set_kind(section, first)
    assert draft.data()[section] == before
    if isinstance(form.chooser, ListChooser):
        assert form.chooser.combo.currentData() == first
    else:
        assert isinstance(form.chooser, CardChooser)
        assert form.chooser.card.choice.kind == first


def test_typing_goes_through_letter_by_letter_and_undo_comes_back(qtbot: QtBot, draft: Draft) -> None:
    form = form_of(qtbot, draft, "optimizer")
    row = form.rows()["optimizer.lr"]
    line(row).selectAll()
    qtbot.keyClicks(line(row), "-1")
    assert draft.value("optimizer.lr") == -1
    assert row.sentence == "Must be greater than 0, but is -1."
    draft.undo()
    assert line(row).text() == "0.003"
    assert row.sentence == ""


def test_the_dot_is_a_button_that_resets(qtbot: QtBot, draft: Draft) -> None:
    form = form_of(qtbot, draft, "loop")
    draft.set("loop.epochs", 9)
    row = form.rows()["loop.epochs"]
    dot = next(child for child in row.focus_widgets() if child.accessibleName() == "Reset Epochs to 5")
    assert dot.isVisible()
    qtbot.mouseClick(dot, Qt.MouseButton.LeftButton)
    assert draft.value("loop.epochs") == 5
    assert not dot.isVisible()


def test_advanced_settings_are_folded_counted_and_revealed(qtbot: QtBot, draft: Draft) -> None:
    form = form_of(qtbot, draft, "loop")
    row = form.rows()["loop.ema_decay"]
    fold = next(widget for widget in form.focus_widgets() if widget.property("fold"))
    assert not row.isVisible()
    assert fold.property("text") == "Advanced"
    draft.set("loop.ema_decay", 2.0)
    assert fold.property("text") == "Advanced (1 changed, 1 needs attention)"
    form.reveal("loop.ema_decay")
    assert row.isVisible()


def test_a_fault_deep_inside_stands_at_its_field(qtbot: QtBot, draft: Draft) -> None:
    form = form_of(qtbot, draft, "model")
    draft.set("model.channels", [32, 0])
    assert form.rows()["model.channels"].sentence == "Number 2 must be at least 1, but is 0."
    draft.reset("model.channels")
    draft.set_kind("dataset", "spiral")
    assert form.chooser is not None
    assert form.chooser.sentence == "Small CNN needs images, but the data gives points; choose MLP or Tabular MLP."


def test_a_way_out_is_one_click_away(qtbot: QtBot, draft: Draft) -> None:
    """Other data takes the model along, a setting its other one; one undo takes it back."""
    form = form_of(qtbot, draft, "model")
    draft.set_kind("dataset", "spiral")
    assert form.chooser is not None
    (link,) = form.chooser.findChildren(FixLink)
    assert link.isVisible()
    assert link.text() == "Use MLP"
    link.click()
    assert draft.kind("model") == "mlp"
    assert draft.config() is not None
    draft.undo()
    assert draft.kind("model") == "small_cnn"
    draft.set_kind("model", "mlp")
    assert not any(each.isVisible() for each in form.findChildren(FixLink))
    draft.set_kind("optimizer", "adagrad")
    schedule = form_of(qtbot, draft, "schedule")
    schedule.reveal("schedule.cycle_momentum")
    (link,) = schedule.rows()["schedule.cycle_momentum"].findChildren(FixLink)
    assert link.text() == "Set Cycle momentum to off"
    link.click()
    assert draft.config() is not None


def test_a_click_that_changes_the_task_takes_a_preset_s_name_along(qtbot: QtBot, draft: Draft, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("a,price\n" + "".join(f"{i},{i}.5\n" for i in range(40)))
    for name, then in (("table classes", "prices"), ("my own", "my own")):
        draft.set_data(read_toml(preset_text("table-classes"), "preset"))
        draft.apply({"name": name, "dataset.path": str(tmp_path / "prices.csv"), "dataset.task": "values"})
        assert draft.value("name") == name
        form = form_of(qtbot, draft, "objective")
        assert form.chooser is not None
        (link,) = form.chooser.findChildren(FixLink)
        assert link.text() == "Use Regression"
        link.click()
        assert draft.value("name") == then
        draft.undo()
        assert draft.value("name") == name


def test_what_the_data_need_is_said_in_the_forms_own_words(qtbot: QtBot, draft: Draft, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,price\n" + "".join(f"{i},{i}.5\n" for i in range(40)))
    draft.apply({"dataset.kind": "table", "dataset.path": str(tmp_path / "t.csv"), "dataset.task": "class"})
    draft.apply({"model.kind": "tabular"})
    config = draft.config()
    assert config is not None, draft.problems()
    draft.set_engine_problems(inspect_dataset(config).problems)
    row = form_of(qtbot, draft, "dataset").rows()["dataset.targets"]
    assert row.sentence == "Column 'price' holds fractions, which are no classes; set Task to Regression."
    (link,) = row.findChildren(FixLink)
    assert link.text() == "Set Task to Regression"
    link.click()
    assert draft.value("dataset.task") == "values"


def test_an_empty_path_is_asked_for_in_words(qtbot: QtBot, draft: Draft) -> None:
    form = form_of(qtbot, draft, "dataset")
    draft.set_kind("dataset", "image_folder")
    assert form.rows()["dataset.path"].sentence == "Choose a folder."


def test_explanation_and_fault_reach_the_screen_reader(qtbot: QtBot, draft: Draft) -> None:
    form = form_of(qtbot, draft, "optimizer")
    row = form.rows()["optimizer.lr"]
    assert line(row).accessibleDescription().startswith("Size of a step at its largest (lr): ")
    draft.set("optimizer.lr", "x")
    assert line(row).accessibleDescription().startswith("“x” is not a number")


def test_search_finds_by_title_name_choice_and_words_of_the_explanation(qtbot: QtBot, draft: Draft) -> None:
    forms = [form_of(qtbot, draft, section) for section in ("optimizer", "schedule", "loop", "precision")]
    assert find_settings("learning rate", forms)[0] == "optimizer.lr"
    assert find_settings("weight_decay", forms)[0] == "optimizer.weight_decay"
    assert find_settings("bf16", forms)[0] == "precision.compute"
    assert find_settings("tf32", forms) == ["precision.compute"]
    assert "schedule.kind" in find_settings("cosine", forms)
    assert find_settings("moving average", forms) == ["loop.ema_decay"]
    assert find_settings("zzz", forms) == []
    assert find_settings("  ", forms) == []


def test_rows_of_another_kind_do_not_stay(qtbot: QtBot, draft: Draft) -> None:
    form = form_of(qtbot, draft, "optimizer")
    draft.set_kind("optimizer", "sgd")
    expected = sorted(path for path, row in form.rows().items() if not row.spec.advanced)
    qtbot.waitUntil(lambda: sorted(row.path for row in form.findChildren(FieldRow) if row.isVisible()) == expected)


WORDS = [
    ("mirror", "RandomHorizontalFlip", "dataset.flip"),
    ("shift", "RandomCrop", "dataset.crop_padding"),
    ("smallest crop", "RandomResizedCrop", "dataset.resized_crop_scale"),
    ("outside", "padding mode", "dataset.padding_mode"),
    ("linear units", "hidden units", "model.hidden"),
    ("highest rate", "max_lr", "schedule.max_lr"),
    ("rising share", "pct_start", "schedule.pct_start"),
    ("compute in", "AMP", "precision.compute"),
    ("recompute", "torch.utils.checkpoint", "precision.activation_checkpointing"),
    ("clip norm", "clip_grad_norm_", "loop.clip_norm"),
    ("smallest gain", "min_delta", "loop.early_stopping_min_delta"),
    ("picture cache", "image cache", "loader.cache"),
    ("best by", "monitor", "checkpoints.monitor"),
    ("drawn shapes", "synthetic", "dataset.kind"),
    ("on plateau", "ReduceLROnPlateau", "schedule.kind"),
]
"""An old everyday word, one of the field's, and the setting that both find."""


def test_a_setting_is_found_by_the_old_everyday_word_and_by_the_field_s(qtbot: QtBot, draft: Draft) -> None:
    forms = [form_of(qtbot, draft, section) for section in SECTIONS]
    for everyday, of_the_field, path in WORDS:
        assert path in find_settings(everyday, forms), everyday
        assert path in find_settings(of_the_field, forms), of_the_field


@pytest.mark.parametrize("kind", kinds("optimizer"))
def test_the_learning_rate_comes_first_whatever_the_optimizer(qtbot: QtBot, draft: Draft, kind: str) -> None:
    draft.set_kind("optimizer", kind)
    form = SectionForm(draft, "optimizer")
    qtbot.addWidget(form)
    assert list(form.rows())[:2] == ["optimizer.lr", "optimizer.weight_decay"]
