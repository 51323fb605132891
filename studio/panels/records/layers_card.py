"""Norms of each layer over the steps of a run, as a heat map."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Slot

from studio.charts.heat_bins import HeatBins
from studio.charts.heat_map import Heat, HeatMap
from studio.services.background import Background
from studio.state.runs.column_follower import ColumnFollower
from studio.widgets import Card, Segmented
from training.config import RunConfig
from training.runs.folder import RunFolder
from training.runs.records.columns import Columns
from training.runs.records.layers import layer_norms, layers_of
from training.runs.records.series import Rows

_QUANTITIES = {
    "gradient": ("Gradient", "gradient norm"),
    "weight": ("Weights", "weight norm"),
    "ratio": ("Update-to-weight ratio", "update-to-weight ratio"),
}
_OFF = (
    "Not recorded: switch on “Norms of each layer” (loop.layer_norms) on the Setup page, or resume with "
    "--set loop.layer_norms=true. No result changes by it."
)
_WHOLE = (
    "Not recorded: a step that is compiled or recorded as a whole (precision.compile, precision.cuda_graphs) cannot be looked into. "
    "precision.compile = “model” can."
)
_RATIO = "About 1e-3 is usual: 1e-1 points to a learning rate too high, 1e-6 to one too low."


class LayersCard(Card):
    """Shows ``layers.bin`` of a run: one quantity at a time, a row for each layer, from the input to the output. Hidden until the
    first norms of a run that is to have some, or the page would have to be scrolled for nothing."""

    def __init__(self, background: Background) -> None:
        super().__init__("Layers", "chart")
        self._why = ""  # there is nothing
        self._layers: tuple[str, ...] = ()
        self._bins = HeatBins(0)
        self.quantity = Segmented([(key, title) for key, (title, _) in _QUANTITIES.items()])
        self.quantity.setAccessibleName("Quantity")
        self.quantity.current_changed.connect(self._draw)
        self.map = HeatMap()
        self.add_action(self.quantity)
        self.add(self.map)
        self.follower = ColumnFollower(background, self)
        self.follower.began.connect(self._on_began)
        self.follower.rows_arrived.connect(self._on_rows)
        self._draw()

    def set_run(self, folder: RunFolder | None, config: RunConfig | None, growing: bool) -> None:
        """Look at another run, or none, or again at the same; ``growing``: more may come."""
        self._why = _explain(config, growing)
        self.follower.follow(folder.layers_file if folder else None)
        self._draw()

    # ------------------------------------------------------------------------------------------- inside

    @Slot(object)
    def _on_began(self, columns: Columns | None) -> None:
        self._layers = layers_of(columns) if columns else ()
        self._bins = HeatBins(len(self._layers) * len(_QUANTITIES))
        self._draw()

    @Slot(object)
    def _on_rows(self, rows: Rows) -> None:
        if not self._layers:
            return
        measured = {key: layer_norms(rows, key) for key in _QUANTITIES}
        measured["gradient"] = np.where(np.isnan(measured["gradient"]), np.inf, measured["gradient"])
        self._bins.add(rows["step"], np.concatenate(list(measured.values()), axis=1))
        self._draw()

    @Slot()
    def _draw(self) -> None:
        there = bool(self._layers) and len(self._bins.first) > 0
        self.quantity.setVisible(there)
        self.map.setVisible(there)
        self.setVisible(there or bool(self._why))
        if not there:
            self.map.show_heat(None)
            self.set_subtitle(self._why)
            return
        key, layers = self.quantity.current(), self._layers
        at = list(_QUANTITIES).index(key) * len(layers)
        values = self._bins.values[:, at : at + len(layers)]
        _, noun = _QUANTITIES[key]
        self.map.show_heat(Heat(noun, layers, self._bins.first, self._bins.last, values))
        self.set_subtitle(_RATIO if key == "ratio" else _describe_growth(noun, layers, self._bins, values))


def _explain(config: RunConfig | None, growing: bool) -> str:
    if config is not None and not config.loop.layer_norms:
        return _OFF
    if config is not None and (config.precision.compile == "step" or config.precision.cuda_graphs == "on"):
        return _WHOLE
    return "" if growing else "This run recorded no norms of its layers."


def _describe_growth(noun: str, layers: tuple[str, ...], bins: HeatBins, values: np.ndarray) -> str:
    """How the newest norms are beside the first: in the middle, and where they changed most."""
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = values[-1] / values[0]
    known = np.isfinite(growth) & (growth > 0)
    if len(values) < 2 or not known.any():
        return ""
    change = np.where(known, np.abs(np.log(np.where(known, growth, 1.0))), -1.0)
    most, middle = int(change.argmax()), float(np.median(growth[known]))
    return (
        f"From step {bins.first[0]:,} to step {bins.last[-1]:,} the {noun} {_word_change(middle)} in the median layer; it changed most in "
        f"layer {layers[most]}, where it {_word_change(float(growth[most]))}."
    )


def _word_change(factor: float) -> str:
    """What became of a number that was multiplied by this."""
    if f"{factor:.3g}" == "1":
        return "stayed as it was"
    return f"grew to {factor:.3g} times its size" if factor > 1 else f"shrank to {factor:.3g} of its size"
