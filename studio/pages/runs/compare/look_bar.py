"""How the curves of compared runs are drawn: the axis, smoothing, groups, which charts."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QToolButton, QWidget

from studio.charts.smoothing_slider import SmoothingSlider
from studio.services.settings import SettingsStore
from studio.state.runs.comparison import EACH, REPEATS, Comparison, Look
from studio.widgets import ComboBox, Segmented, Switch, button, hbox, in_widget, label
from training.runs.comparison.compared_run import Axis
from training.runs.groups import differing

_AXES: dict[Axis, str] = {"step": "Steps", "epoch": "Epochs", "samples": "Samples", "time": "Time"}
_CENTERED = "The mean of as many samples on both sides of each, as calm as the exponential average of this weight and without its lag"


class LookBar(QWidget):
    """Its ``parts`` stand wherever there is room for them.

    Signals: `look_changed()`; `log_toggled(bool)`; `fit_asked()`.
    """

    look_changed = Signal()
    log_toggled = Signal(bool)
    fit_asked = Signal()

    def __init__(self, settings: SettingsStore) -> None:
        super().__init__()
        self.axis = Segmented(tuple(_AXES.items()))
        self.axis.setAccessibleName("Horizontal axis")
        self.smoothing = SmoothingSlider("average")
        self.smoothing.setFixedWidth(80)
        self.smoothing.set_weight(settings.get().smoothing)
        self.centered = Switch("Centered")
        self.centered.setToolTip(_CENTERED)
        self.log = Switch("Log scale")
        self.log.setChecked(settings.get().log_scale)
        self.group = ComboBox()
        self.group.setAccessibleName("Group runs")
        self.group.setToolTip("Draw the mean of the runs of a group, with a band")
        self.group.addItem("Each run", EACH)
        self.group.setMaximumWidth(160)
        self.band = Segmented([("range", "Min–max"), ("std", "± std")])
        self.band.setAccessibleName("Band around a mean")
        self.band.hide()
        self.charts = QToolButton()
        self.charts.setText("Charts")
        self.charts.setToolTip("Choose which quantities are drawn")
        self.charts.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        fit = button("Fit", "fit", "ghost", tooltip="Show all; pressed again, the spikes too", clicked=self.fit_asked)
        smooth = in_widget(hbox(label("Smoothing", "caption"), self.smoothing, self.smoothing.reading, self.centered))
        grouped = in_widget(hbox(label("Group", "caption"), self.group, self.band))
        self.parts: tuple[QWidget, ...] = (self.axis, smooth, grouped, self.log, in_widget(hbox(self.charts, fit)))
        self.hide()
        self._allow_centered()
        self.axis.current_changed.connect(self.look_changed)
        self.smoothing.valueChanged.connect(self._on_smoothing)
        self.centered.toggled.connect(self.look_changed)
        self.group.currentIndexChanged.connect(self._on_group)
        self.band.current_changed.connect(self.look_changed)
        self.log.toggled.connect(self.log_toggled)

    def look(self) -> Look:
        """What was chosen."""
        axis = next(axis for axis in _AXES if axis == self.axis.current())
        weight, way = self.smoothing.weight(), self.group.currentData()
        return Look(axis, weight, self.centered.isChecked(), way, self.band.current())

    def is_log(self) -> bool:
        """Whether losses and norms are drawn on a logarithmic axis."""
        return self.log.isChecked()

    def offer_settings(self, comparison: Comparison) -> None:
        """Let the person group by whatever differs among the runs."""
        chosen = self.group.currentData()
        ways = {EACH: "Each run", REPEATS: "Repeats (all but the seed)"}
        ways |= {path: f"By {path}" for path in differing(run.settings for run in comparison.list_read())}
        with QSignalBlocker(self.group):
            self.group.clear()
            for way, title in ways.items():
                self.group.addItem(title, way)
            self.group.setCurrentIndex(max(self.group.findData(chosen), 0))

    def _on_smoothing(self) -> None:
        self._allow_centered()
        self.look_changed.emit()

    def _on_group(self) -> None:
        self.band.setVisible(self.group.currentData() != EACH)
        self.look_changed.emit()

    def _allow_centered(self) -> None:
        self.centered.setEnabled(self.smoothing.weight() > 0)
