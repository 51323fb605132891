"""The panel of cards from which a dataset, a network or a task is chosen."""

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from studio.forms.kinds.card import KindCard
from studio.forms.kinds.choices import find_groups
from studio.forms.kinds.chooser import CardChooser
from studio.forms.kinds.panel import KindPanel
from studio.forms.section_form import SectionForm
from studio.state.drafts.draft import Draft
from studio.theme import icon_names
from training import catalog
from training.config import RunConfig
from training.config.rules.task import find_misfits, task_problems
from training.config.run import alternatives


@pytest.fixture
def draft() -> Draft:
    return Draft()


def chooser_of(qtbot: QtBot, draft: Draft, section: str) -> CardChooser:
    form = SectionForm(draft, section)
    qtbot.addWidget(form)
    form.resize(500, 700)
    with qtbot.waitExposed(form):
        form.show()
    assert isinstance(form.chooser, CardChooser)
    return form.chooser


def open_panel(qtbot: QtBot, chooser: CardChooser) -> KindPanel:
    qtbot.mouseClick(chooser.card, Qt.MouseButton.LeftButton)
    assert chooser.panel is not None
    assert chooser.panel.isVisible()
    return chooser.panel


def card(panel: KindPanel, kind: str) -> KindCard:
    return next(card for card in panel.cards if card.choice.kind == kind)


def shown(panel: KindPanel) -> list[str]:
    return [card.choice.kind for card in panel.cards if card.isVisible()]


def focused(panel: KindPanel) -> str:
    part = panel.focusWidget()
    return part.choice.kind if isinstance(part, KindCard) else "search" if part is panel.search else ""


def test_every_kind_has_one_card_with_an_icon_and_a_line(draft: Draft) -> None:
    for section in ("dataset", "model", "objective"):
        choices = [choice for group in find_groups(draft, section) for choice in group.choices]
        assert sorted(choice.kind for choice in choices) == sorted(row.kind for row in catalog.entries(section))
        assert all(choice.title and choice.line and choice.icon in icon_names() for choice in choices)
    groups = {group.title: [choice.kind for choice in group.choices] for group in find_groups(draft, "dataset")}
    assert list(groups) == ["Images", "Tabular", "Text", "Your own", "Synthetic"]
    assert groups["Tabular"] == ["table", "ranking", "npz"]
    assert groups["Text"] == ["text"]


def test_a_card_is_chosen_by_a_click_and_then_shown(qtbot: QtBot, draft: Draft) -> None:
    chooser = chooser_of(qtbot, draft, "dataset")
    panel = open_panel(qtbot, chooser)
    assert card(panel, "shapes").property("mark") == "current"
    qtbot.mouseClick(card(panel, "table"), Qt.MouseButton.LeftButton)
    assert draft.kind("dataset") == "table"
    assert chooser.card.accessibleName() == "Dataset type: Table. Change…"
    assert not panel.isVisible()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert chooser.panel is None
    draft.undo()
    assert chooser.card.choice.kind == "shapes"


def test_typing_finds_cards_and_enter_takes_the_first(qtbot: QtBot, draft: Draft) -> None:
    chooser = chooser_of(qtbot, draft, "dataset")
    panel = open_panel(qtbot, chooser)
    assert focused(panel) == "search"
    qtbot.keyClicks(panel.search, "parquet quer")
    assert shown(panel) == ["ranking"]
    assert card(panel, "ranking").property("mark") == "aimed"
    qtbot.keyClicks(panel.search, "zzz")
    assert shown(panel) == []
    assert panel.nothing.text() == "Nothing here is called “parquet querzzz”."
    qtbot.keyClick(panel.search, Qt.Key.Key_Return)
    assert draft.kind("dataset") == "shapes"
    panel.search.setText("modality of none")
    panel.search.setText("make_moons")  # what scikit-learn calls it
    qtbot.keyClick(panel.search, Qt.Key.Key_Return)
    assert draft.kind("dataset") == "moons"


def test_the_panel_is_used_by_the_keyboard_alone(qtbot: QtBot, draft: Draft) -> None:
    chooser = chooser_of(qtbot, draft, "dataset")
    chooser.card.setFocus()
    qtbot.keyClick(chooser.card, Qt.Key.Key_Space)
    panel = chooser.panel
    assert panel is not None
    qtbot.keyClick(panel.search, Qt.Key.Key_Down)
    assert focused(panel) == "shapes"  # what is chosen
    qtbot.keyClick(card(panel, "shapes"), Qt.Key.Key_Left)
    assert focused(panel) == "table"
    qtbot.keyClick(card(panel, "table"), Qt.Key.Key_Left)
    assert focused(panel) == "image_folder"
    qtbot.keyClick(card(panel, "image_folder"), Qt.Key.Key_Down)
    assert focused(panel) == "image_table"
    for kind in ("image_table", "image_folder"):
        qtbot.keyClick(card(panel, kind), Qt.Key.Key_Up)
    assert focused(panel) == "search"
    qtbot.keyClick(panel.search, Qt.Key.Key_Escape)
    assert not panel.isVisible()
    assert draft.kind("dataset") == "shapes"
    qtbot.keyClick(chooser.card, Qt.Key.Key_Return)
    assert chooser.panel is not None
    qtbot.keyClick(card(chooser.panel, "spiral"), Qt.Key.Key_Return)
    assert draft.kind("dataset") == "spiral"


@pytest.mark.parametrize("data", ["image_folder", "table", "text"])  # whose folder or file nobody has named yet
def test_what_does_not_go_with_the_data_cannot_be_chosen_and_says_why(qtbot: QtBot, draft: Draft, data: str) -> None:
    draft.set_kind("dataset", data)
    for section, fits, misfit in (("model", {"text": "gpt"}, {"text": "unet"}), ("objective", {}, {})):
        panel = open_panel(qtbot, chooser_of(qtbot, draft, section))
        usable = [card.choice.kind for card in panel.cards if card.isEnabled()]
        assert usable
        assert fits.get(data, usable[0]) in usable
        assert misfit.get(data, "language_model" if section == "objective" and data != "text" else "-") not in usable
        for made in panel.cards:
            if not made.isEnabled():
                assert " needs " in made.choice.reason or " gives " in made.choice.reason
                assert made.accessibleDescription() == made.choice.reason
                qtbot.mouseClick(made, Qt.MouseButton.LeftButton)
        assert panel.isVisible()
        panel.close()


def test_an_undo_closes_a_panel_whose_cards_no_longer_go_with_the_data(qtbot: QtBot, draft: Draft) -> None:
    draft.set_kind("dataset", "text")
    panel = open_panel(qtbot, chooser_of(qtbot, draft, "model"))
    assert card(panel, "gpt").isEnabled()
    draft.undo()
    assert not panel.isVisible()
    draft.redo()  # while the panel is on its way out


def test_a_photo_folder_has_no_use_for_u_net(qtbot: QtBot, draft: Draft) -> None:
    draft.set_kind("dataset", "image_folder")
    panel = open_panel(qtbot, chooser_of(qtbot, draft, "model"))
    reason = "U-Net gives an answer for each pixel, but the data asks for one answer for each sample."
    assert card(panel, "unet").choice.reason == reason
    assert card(panel, "unet").toolTip() == reason
    assert card(panel, "gpt").choice.reason == "GPT needs text, but the data gives images."
    panel.search.setText("u-net")
    qtbot.keyClick(panel.search, Qt.Key.Key_Return)
    assert draft.kind("model") != "unet"


def test_kinds_fit_when_the_rules_of_the_configuration_say_so() -> None:
    """A task that fits goes with the data, a model that fits with both; there is always one."""
    usual = RunConfig()
    for dataset in alternatives("dataset").values():
        config = usual.model_copy(update={"dataset": dataset.model_construct()})
        tasks = [kind for kind in alternatives("objective") if kind not in find_misfits(config, "objective")]
        assert tasks
        for task in tasks:
            chosen = config.model_copy(update={"objective": alternatives("objective")[task].model_construct()})
            models = [kind for kind in alternatives("model") if kind not in find_misfits(chosen, "model")]
            assert {*models} - {"user_file"}
            for model in models:
                made = chosen.model_copy(update={"model": alternatives("model")[model].model_construct()})
                assert not [problem for problem in task_problems(made) if problem.path.endswith(".kind")]


def test_reasons_follow_the_task_and_the_number_of_classes(qtbot: QtBot, draft: Draft) -> None:
    draft.set_kind("dataset", "npz_pictures")
    panel = open_panel(qtbot, chooser_of(qtbot, draft, "model"))
    reason = "U-Net gives an answer for each pixel, but the task asks for one answer for each sample."
    assert card(panel, "unet").choice.reason == reason
    panel.close()
    draft.set_kind("objective", "segmentation")
    panel = open_panel(qtbot, chooser_of(qtbot, draft, "model"))
    assert card(panel, "unet").isEnabled()
    panel.close()
    draft.set_kind("dataset", "torchvision")
    tasks = chooser_of(qtbot, draft, "objective")
    tasks.count_classes = lambda: 10
    panel = open_panel(qtbot, tasks)
    assert card(panel, "binary").choice.reason == "It needs exactly two classes, but the data has 10."
    assert (
        card(panel, "ranking").choice.reason
        == "Ranking needs items to rank, but the data gives one class for each sample."
    )
    panel.close()


def test_a_network_that_the_engine_has_no_package_for_says_so(qtbot: QtBot, draft: Draft) -> None:
    chooser = chooser_of(qtbot, draft, "model")
    reason = "timm is not installed where the engine works"
    chooser.list_lacking = lambda: {"timm": reason}
    panel = open_panel(qtbot, chooser)
    lacking = card(panel, "timm")
    assert not lacking.isEnabled()
    assert lacking.accessibleDescription() == reason
    assert any(label.text() == "Not installed in the engine" for label in panel.findChildren(QLabel))
    assert card(panel, "torchvision").isEnabled()
