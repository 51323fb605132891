"""Whether the probabilities can be believed: a reliability diagram, and the temperature that mends them."""

from __future__ import annotations

import logging
from functools import partial

import numpy as np
from shiboken6 import isValid

from studio.charts.reliability_diagram import ReliabilityDiagram
from studio.pages.evaluate.view import View
from studio.state.context import AppContext
from studio.state.evaluations.confidence import describe_confidence, find_between, find_confidences
from studio.state.evaluations.per_class import Figure, choose_groups, describe_figure
from studio.state.evaluations.selection import Selection
from studio.widgets import ComboBox, KeyValueTable, Segmented, flow_box, in_widget, label
from training.errors import InputError
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.probabilities import find_temperature, has_probabilities
from training.statistics.calibration import Reliability, reliability
from training.statistics.intervals import Interval, Metric, bootstrap_together
from training.statistics.metrics import calibration_error
from training.system.plain_table import Table

logger = logging.getLogger(__name__)

_FORMS = ("width", "mass")
_FITTED_ON = "validation"
_ERROR = "calibration_error"

_Way = tuple[float, str]
"""A temperature and the form of bins."""


class CalibrationView(View):
    """The temperature is fitted on the validation part of the same step, in the background."""

    key = "calibration"
    heading = "Calibration"
    tab = "Calibration"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self._evaluation: Evaluation | None = None
        self._binned: dict[_Way, Reliability] = {}  # as the selection is now
        self._rows = np.zeros(0, bool)
        self._metrics: dict[_Way, Metric] = {}
        self._intervals: dict[_Way, Interval] = {}  # come a moment later
        self._resampling = context.background.make_other()
        self._shown: Reliability | None = None
        self.temperature: float | None = None
        self.names = ComboBox()
        self.names.setAccessibleName("Label")
        self.names.activated.connect(self._on_name)
        self.form = Segmented([("width", "Equal width"), ("mass", "Equal mass")])
        self.form.setAccessibleName("Bins")
        self.form.current_changed.connect(self._show_bins)
        self.state = Segmented([("before", "As trained"), ("after", "With temperature")])
        self.state.setAccessibleName("Probabilities")
        self.state.current_changed.connect(self._show_bins)
        self.chart = ReliabilityDiagram()
        self.chart.chosen.connect(self._on_chosen)
        self.figures = KeyValueTable()
        self.words = label("", "help", wrap=True)
        choices = in_widget(flow_box(self.state, self.form, self.names))
        self.add(choices, self.chart, self.figures, self.words)
        self.set_subtitle(
            "Bars on the line are calibrated. Lines: 95% intervals. Below: samples in each bin. Click a bin to see them."
        )
        self.offer(self.chart, self.tabulate)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return has_probabilities(record)

    def show_evaluation(self, evaluation: Evaluation) -> None:
        record = evaluation.record
        names = list(record.names) if record.target == "labels" else []
        if names != [self.names.itemText(at) for at in range(self.names.count())]:
            self.names.clear()
            self.names.addItems(names)
        self.names.setVisible(bool(names))
        self._evaluation, self.temperature = evaluation, None
        self._find_temperature(evaluation)

    def follow(self) -> None:
        evaluation = self._evaluation
        if evaluation is None:
            return
        after = self.temperature is not None
        self.state.setEnabled(after)
        if not after:
            self.state.set_current("before")
        self._binned, self._metrics, self._intervals = {}, {}, {}
        for temperature in {1.0, self.temperature or 1.0}:
            self._bin(temperature)
        self._show_bins()
        self._find_intervals(evaluation)

    def _show_bins(self) -> None:
        evaluation = self._evaluation
        if evaluation is None or not self._binned:
            return
        self._shown = self._binned[self._temperature_in_sight, self.form.current()]
        confidence = describe_confidence(evaluation.record, self._number)
        self.chart.show_bins(confidence, self._shown.bins, self._find_bin())
        self._show_errors()

    def tabulate(self) -> Table:
        """The bins as they are shown."""
        assert self._shown is not None
        bins = self._shown.bins
        return {
            "from": [each.low for each in bins],
            "to": [each.high for each in bins],
            "samples": [each.samples for each in bins],
            "confidence": [each.confidence for each in bins],
            "accuracy": [each.accuracy.value for each in bins],
            "accuracy low": [each.accuracy.low for each in bins],
            "accuracy high": [each.accuracy.high for each in bins],
        }

    # ------------------------------------------------------------------------------------------- inside

    @property
    def _number(self) -> int:
        return max(self.names.currentIndex(), 0)

    @property
    def _temperature_in_sight(self) -> float:
        return self.temperature if self.temperature is not None and self.state.current() == "after" else 1.0

    def _bin(self, temperature: float) -> None:
        """By both forms."""
        assert self._evaluation is not None
        values, correct, counted = find_confidences(self._evaluation, self._number, temperature)
        mask = self.selection.mask_of_others(self.key)
        rows = counted if mask is None else counted & mask
        self._rows, some, true = rows, values[rows], correct[rows]
        groups = choose_groups(self._evaluation, rows)
        for form in _FORMS:
            by_mass = form == "mass"
            self._binned[temperature, form] = reliability(some, true, equal_mass=by_mass, groups=groups)
            if rows.any():
                self._metrics[temperature, form] = calibration_error(some, true, equal_mass=by_mass)

    def _find_intervals(self, evaluation: Evaluation) -> None:
        """Of whole groups, where there are any, in the background."""
        wanted, rows = self._metrics, self._rows

        def find() -> dict[_Way, Interval]:
            if wanted is not self._metrics or not wanted:  # other samples were selected meanwhile
                return {}
            metrics = {f"{way}": metric for way, metric in wanted.items()}
            found = bootstrap_together(metrics, choose_groups(evaluation, rows))
            return {way: found[f"{way}"][0] for way in wanted}

        def take(found: dict[_Way, Interval]) -> None:
            if self._shows(evaluation) and wanted is self._metrics:
                self._intervals = found
                self._show_errors()

        self._resampling.submit(find, take, lambda error: logger.warning("ECE of %s: %s", evaluation.folder, error))

    def _show_errors(self) -> None:
        self.figures.set_rows([(f"ECE, equal {form}", self._describe_error(form)) for form in _FORMS])

    def _describe_error(self, form: str) -> str:
        """As trained, and with the temperature."""
        words = self._describe_way(1.0, form)
        if self.temperature is not None and not np.isnan(self._binned[1.0, form].error):
            words += f", with temperature {self._describe_way(self.temperature, form)}"
        return words

    def _describe_way(self, temperature: float, form: str) -> str:
        limits = self._intervals.get((temperature, form))
        between = (limits.low, limits.high) if limits is not None else ()
        return describe_figure(_ERROR, Figure(self._binned[temperature, form].error, *between))

    def _find_temperature(self, evaluation: Evaluation) -> None:
        validation = self._find_validation(evaluation)
        if validation is None:
            self.words.setText(
                "To fit a temperature, evaluate this checkpoint on the validation part, too: the samples that are looked at must not "
                "choose it."
            )
            return
        self.words.setText("Fitting a temperature …")

        def take(temperature: float) -> None:
            if self._shows(evaluation):
                self.temperature = temperature
                self.words.setText(self._describe_temperature(temperature, validation is evaluation))
                try:
                    self.follow()
                except InputError as error:  # its files were damaged meanwhile
                    self.words.setText(str(error))

        def fail(error: Exception) -> None:
            if self._shows(evaluation):
                self.words.setText(f"No temperature: {error}")

        self.context.background.submit(partial(find_temperature, validation), take, fail)

    def _shows(self, evaluation: Evaluation) -> bool:
        """Whether it is still there, and shows this one."""
        return isValid(self) and self.selection.evaluation is self._evaluation is evaluation

    def _find_validation(self, evaluation: Evaluation) -> Evaluation | None:
        """That of the same weights; itself, where it is one."""
        if evaluation.record.on == _FITTED_ON:
            return evaluation
        step = evaluation.record.step
        known = self.context.evaluation.evaluations
        return next((each for each in known if (each.record.on, each.record.step) == (_FITTED_ON, step)), None)

    def _describe_temperature(self, temperature: float, on_itself: bool) -> str:
        how = "less sure" if temperature > 1 else "surer"
        words = (
            f"Temperature {temperature:.3g}, fitted on the validation part: logits are divided by it, which makes the model {how} and "
            "changes no answer."
        )
        return f"{words} Seen on the very samples it was fitted on, it looks a little too good." if on_itself else words

    def _on_name(self) -> None:
        self.follow()
        if self.find_chosen() is not None:
            self.selection.remove(self.key)

    def _find_bin(self) -> int | None:
        """The bin that was chosen, if such bins are shown."""
        bins = self._shown.bins if self._shown is not None else []
        return next(
            (at for at, each in enumerate(bins) if self._place(each.low, each.high) == self.find_chosen()), None
        )

    def _place(self, low: float, high: float) -> tuple[object, ...]:
        return low, high, self.form.current(), self._temperature_in_sight, self._number

    def _on_chosen(self, number: int | None) -> None:
        if number is None or self._shown is None or self._evaluation is None:
            self.selection.remove(self.key)
            return
        each = self._shown.bins[number]
        closed = self.form.current() == "mass" or number == len(self._shown.bins) - 1
        find = partial(
            find_between,
            number=self._number,
            temperature=self._temperature_in_sight,
            low=each.low,
            high=each.high,
            closed=closed,
        )
        what = describe_confidence(self._evaluation.record, self._number)
        with_temperature = (
            "" if self._temperature_in_sight == 1.0 else f", temperature {self._temperature_in_sight:.3g}"
        )
        self.choose(
            f"{what} {each.low:.3g} to {each.high:.3g}{with_temperature}", find, self._place(each.low, each.high)
        )
