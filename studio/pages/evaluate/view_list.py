"""The views of the Evaluate page, in the order in which they stand on it."""

from __future__ import annotations

from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.calibration_view import CalibrationView
from studio.pages.evaluate.views.classes_view import ClassesView
from studio.pages.evaluate.views.compare_view import CompareView
from studio.pages.evaluate.views.confusion_view import ConfusionView
from studio.pages.evaluate.views.loss_view import LossView
VIEWS: tuple[type[View], ...] = (
    ConfusionView,
    PredictionsView,
    ResidualsView,
    ClassesView,
    ThresholdView,
    CalibrationView,
    SlicesView,
    LossView,
    CompareView,
)
from studio.pages.evaluate.views.threshold_view import ThresholdView

VIEWS: tuple[type[View], ...] = (
    ConfusionView,
VIEWS: tuple[type[View], ...] = (
    ConfusionView,
    PredictionsView,
    ResidualsView,
    ClassesView,
    ThresholdView,
    CalibrationView,
    SlicesView,
    LossView,
    CompareView,
)
    LossView,
    CompareView,
)
