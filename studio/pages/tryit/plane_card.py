"""The plane of a model of two numbers: the decision boundary of any checkpoint, and what it says of the place that is clicked."""

from __future__ import annotations

import base64

import numpy as np
from PySide6.QtCore import Qt, Signal

from studio.charts.boundary_plot import BoundaryPlot
from studio.charts.class_legend import PointLegend
from studio.pages.tryit.asked_model import AskedModel
from studio.state.context import AppContext
from studio.widgets import Card, hbox
from training.protocol.model_answers import InputColumn, ModelDescription, PlaneAnswer
from training.protocol.model_questions import DrawPlane
from training.runs.boundary.frames import FRAME, GRID, MOST_CLASSES, Plane, Points, read_boundary
from training.runs.folder import RunFolder

_NONE = Points(x=(), y=(), classes=())


class PlaneCard(Card):
    """Hidden for other models. Signals: ``point_chosen(x, y)``."""

    point_chosen = Signal(float, float)

    def __init__(self, context: AppContext, model: AskedModel) -> None:
        super().__init__("Decision boundary", "chart", subtitle="Click a place to ask about it.")
        self._context = context
        self._model = model
        self.plot = BoundaryPlot()
        self.legend = PointLegend()
        self.add(hbox((self.plot, 0, Qt.AlignmentFlag.AlignHCenter)), self.legend)
        self.plot.clicked.connect(self.point_chosen)
        self.hide()

    def set_model(self, description: ModelDescription | None) -> None:
        """Show the plane of another model."""
        path = self._context.model_to_try.path
        fits = description is not None and description.plane and 2 <= len(description.classes) <= MOST_CLASSES
        self.setVisible(fits)
        if description is None or path is None or not fits:
            self.plot.show_plane(None)
            return
        plane = _find_plane(description, None if description.is_export else RunFolder(path.parent.parent))
        self.plot.show_plane(plane)
        self.legend.set_names(plane.names)
        self.plot.setAccessibleName(f"Decision boundary between {len(plane.names)} classes of {description.title}")
        request = DrawPlane(model=path, x=plane.x, y=plane.y)
        self._model.ask("plane", request, PlaneAnswer, self._on_drawn, self.set_subtitle)

    def _on_drawn(self, answer: PlaneAnswer) -> None:
        parts = [
            np.frombuffer(base64.b64decode(each), np.uint8) for each in (answer.classes_base64, answer.certainty_base64)
        ]
        if all(part.size == GRID * GRID for part in parts):
            classes, certainty = (part.reshape(GRID, GRID) for part in parts)
            self.plot.show_frame(np.array([(0, 0, classes, certainty)], FRAME)[0])


def _find_plane(description: ModelDescription, run: RunFolder | None) -> Plane:
    """The part of the plane that the run looks at, with its samples; else where most of the training data lie."""
    known = read_boundary(run.boundary_file) if run is not None else None
    if known is not None and known.plane.names == description.classes:
        return known.plane
    spans = [_find_span(column) for column in description.columns]
    spans = [(low, high if high > low else low + 1.0) for low, high in spans]
    names = (description.columns[0].name, description.columns[1].name)
    return Plane(x=spans[0], y=spans[1], columns=names, names=description.classes, train=_NONE, validation=_NONE)


def _find_span(column: InputColumn) -> tuple[float, float]:
    """Where its training rows lie, or most of them."""
    if column.low is not None and column.high is not None:
        return column.low, column.high
    middle, std = column.middle or 0.0, column.std or 0.5
    return middle - 2 * std, middle + 2 * std
