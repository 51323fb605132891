"""The views of the Evaluate page, in the order in which they stand on it."""

from __future__ import annotations

from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.calibration_view import CalibrationView
from studio.pages.evaluate.views.classes_view import ClassesView
from studio.pages.evaluate.views.compare_view import CompareView
from studio.pages.evaluate.views.confusion_view import ConfusionView
from studio.pages.evaluate.views.figures_view import FiguresView
from studio.pages.evaluate.views.importance_view import ImportanceView
from studio.pages.evaluate.views.loss_view import LossView
from studio.pages.evaluate.views.neighbors_view import NeighborsView
from studio.pages.evaluate.views.predictions_view import PredictionsView
from studio.pages.evaluate.views.ranking_view import RankingView
from studio.pages.evaluate.views.residuals_view import ResidualsView
from studio.pages.evaluate.views.slices_view import SlicesView
from studio.pages.evaluate.views.suspicious_view import SuspiciousView
from studio.pages.evaluate.views.threshold_view import ThresholdView
from studio.pages.evaluate.views.tokens_view import TokensView

VIEWS: tuple[type[View], ...] = (
    ConfusionView,
    PredictionsView,
    ResidualsView,
    TokensView,
    RankingView,
    FiguresView,
    NeighborsView,
    ClassesView,
    ThresholdView,
    CalibrationView,
    SlicesView,
    SuspiciousView,
    LossView,
    ImportanceView,
    CompareView,
)
