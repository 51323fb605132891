"""Add a trial by hand: a field for each setting that the sweep varies; what is left empty the sampler proposes."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QFormLayout, QWidget
from shiboken6 import isValid

from studio.pages.studies.sweeps.names import SettingNames
from studio.services.background import Background
from studio.theme import SPACING, set_invalid
from studio.widgets import STRETCH, ComboBox, NumberEdit, button, hbox, label, vbox
from training.sweeps.by_hand import add_trial
from training.sweeps.dimension import Dimension, show_value
from training.sweeps.folder import Sweep
from training.sweeps.records import TrialRecord

_PROPOSED = "proposed by the sampler"
_WIDTH = 480


class TrialDialog(QDialog):
    """``like`` fills the fields with the settings of a trial. ``number`` is that of the trial once it was added; ``pass_over`` is
    called with that of one that came to be after this was canceled."""

    def __init__(
        self,
        sweep: Sweep,
        names: SettingNames,
        like: TrialRecord | None,
        background: Background,
        pass_over: Callable[[int], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Add a trial")
        self.setModal(True)
        self.number: int | None = None
        self._sweep, self._names, self._background, self._pass_over = sweep, names, background, pass_over
        self._is_canceled = False
        self.rejected.connect(self._cancel)
        self.fields: dict[str, ComboBox | NumberEdit] = {}
        form = QFormLayout()
        form.setHorizontalSpacing(SPACING.l)
        form.setVerticalSpacing(SPACING.m)
        for dimension in sweep.space.dimensions:
            field = self.fields[dimension.path] = self._make_field(dimension, like)
            title = label(names.titles[dimension.path], "field")
            title.setToolTip(dimension.path)
            field.setAccessibleName(title.text())
            form.addRow(title, hbox(field, label(_describe_range(dimension), "caption"), STRETCH))
        self.problem = label("", "problem", wrap=True)
        self.problem.hide()
        self.add = button("Add", "plus", "primary", clicked=self._add)
        self.add.setDefault(True)
        vbox(
            label("Add a trial by hand", "section"),
            label(
                "It is trained next, whatever the budget; what is left empty the sampler proposes.", "help", wrap=True
            ),
            form,
            self.problem,
            hbox(STRETCH, self.add, button("Cancel", clicked=self.reject)),
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.xl, SPACING.l, SPACING.xl, SPACING.l),
        )
        self.setMinimumWidth(_WIDTH)

    def overrides(self) -> list[str]:
        """As ``--set`` takes them."""
        found = []
        for path, field in self.fields.items():
            text = str(field.currentData() or "") if isinstance(field, ComboBox) else field.text().strip()
            if text:
                found.append(f"{path}={text}")
        return found

    def _make_field(self, dimension: Dimension, like: TrialRecord | None) -> ComboBox | NumberEdit:
        value = like.params.get(dimension.path) if like is not None else None
        if dimension.sort == "choice":
            combo = ComboBox()
            combo.addItem(_PROPOSED, "")
            for choice in dimension.choices:
                combo.addItem(self._names.tell(dimension, choice), choice)
            combo.setCurrentIndex(max(combo.findData(value), 0))
            return combo
        line = NumberEdit("int" if dimension.sort == "int" else "float", log=dimension.log, optional=True)
        line.setFixedWidth(120)
        line.setPlaceholderText("proposed")
        if value is not None:
            line.setText(show_value(value, dimension.sort))
        return line

    def _add(self) -> None:
        overrides, sweep = self.overrides(), self._sweep
        if not overrides:
            self._tell("Give at least one value: a trial with none is any other proposal.", "")
            return
        self.add.setEnabled(False)
        self._background.submit(lambda: add_trial(sweep, overrides), self._take, self._fail)

    @Slot()
    def _cancel(self) -> None:
        self._is_canceled = True

    def _take(self, number: int) -> None:
        if self._is_canceled or not isValid(self):
            self._pass_over(number)
            return
        self.number = number
        self.accept()

    def _fail(self, error: Exception) -> None:
        if self._is_canceled or not isValid(self):
            return
        self.add.setEnabled(True)
        head, _, words = str(error).partition(": ")
        path = head.removeprefix("--set ").partition("=")[0]
        if head.startswith("--set") and path in self.fields:
            self._tell(f"{self._names.titles[path]}: {words}", path)
        else:
            self._tell(words[:1].upper() + words[1:] if head.startswith("--set") else str(error), "")

    def _tell(self, words: str, path: str) -> None:
        self.problem.setText(words)
        self.problem.show()
        for name, field in self.fields.items():
            set_invalid(field, name == path)


def _describe_range(dimension: Dimension) -> str:
    return "" if dimension.sort == "choice" else dimension.words
