"""Which settings a study tries: all of them, or those that are ticked."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.forms.class_list import CheckList, is_on, set_on
from studio.forms.field_row import TITLE_INDENT
from studio.forms.messages import kinds_of, tell_change, title_of
from studio.theme import SPACING
from studio.widgets import STRETCH, button, hbox, label, vbox
from training.config import RunConfig
from training.config.diff import Change, changes_from_defaults
from training.studies.ablation import find_settings
from training.studies.records import Kind
from training.studies.speed.candidates import FUSED, list_candidates

_MOST_ROWS = 9
_NOTHING = (
    "No setting of the recipe is away from its default, so there is nothing to take back. Change some in Setup first."
)
_NONE_TICKED = "Tick one setting at least."


class OnlySettings(QWidget):
    """All are ticked at first. Signals: `changed()`."""

    changed = Signal()

    def __init__(self, kind: Kind, config: RunConfig) -> None:
        super().__init__()
        self.list = CheckList()
        self.list.setAccessibleName("Settings to try")
        listed = _list_recipe(config) if kind == "ablation" else _list_speed(config)
        for place, (path, words) in enumerate(listed.items()):
            item = self.list.add(words, "", path, place)
            item.setData(0, Qt.ItemDataRole.UserRole, path)
            set_on(item, True)
        row = self.list.sizeHintForRow(0) if listed else 24
        self.list.setFixedHeight(min(max(len(listed), 1), _MOST_ROWS) * max(row, 22) + 8)
        self._is_empty = not listed
        self.problem = _NOTHING if self._is_empty else ""
        self._said = label(self.problem, "problem", wrap=True)
        self._said.setVisible(bool(self.problem))
        self.list.setVisible(not self._is_empty)
        self._turn = button("Untick all", variant="ghost", clicked=self._turn_all)
        self._turn.setVisible(not self._is_empty)
        head = label(
            "Settings that go back to their default" if kind == "ablation" else "Settings that are tried", "field"
        )
        vbox(
            hbox(head, STRETCH, self._turn),
            self.list,
            self._said,
            parent=self,
            spacing=SPACING.xs,
            margins=(TITLE_INDENT, SPACING.s, 0, 0),
        )
        self.list.switched.connect(self._judge)

    def list_ticked(self) -> list[str]:
        """Their paths."""
        return [item.data(0, Qt.ItemDataRole.UserRole) for item in self.list.items() if is_on(item)]

    def words(self) -> list[str]:
        """As the command line takes them; nothing where all are ticked."""
        ticked = self.list_ticked()
        if len(ticked) == self.list.topLevelItemCount():
            return []
        return [word for path in ticked for word in ("--only", path)]

    @Slot()
    def _turn_all(self) -> None:
        on = not self.list_ticked()
        for item in self.list.items():
            set_on(item, on)
        self._judge()

    @Slot()
    def _judge(self) -> None:
        self.problem = _NOTHING if self._is_empty else "" if self.list_ticked() else _NONE_TICKED
        self._said.setText(self.problem)
        self._said.setVisible(bool(self.problem))
        self._turn.setText("Untick all" if self.list_ticked() else "Tick all")
        self.changed.emit()


def _list_recipe(config: RunConfig) -> dict[str, str]:
    """What an ablation takes back, by its path."""
    can = {each.path for each in find_settings(config)[0]}
    found = [each for each in changes_from_defaults(config) if each.path in can]
    return {each.path: tell_change(Change(each.path, each.new, each.old), kinds_of(config)) for each in found}


def _list_speed(config: RunConfig) -> dict[str, str]:
    """What a speed check tries on any device, by its path."""
    every = [each.path for device in ("cpu", "cuda") for each in list_candidates(config, device)]
    gpu = {each.path for each in list_candidates(config, "cuda")} - {
        each.path for each in list_candidates(config, "cpu")
    }
    found = {}
    for path in dict.fromkeys(every):
        title = title_of(Change(path, None, None), kinds_of(config))
        found[path] = f"{title} (on an NVIDIA GPU)" if path in gpu else title
    return found | {FUSED: "Fused optimizer, beside its foreach form"}
