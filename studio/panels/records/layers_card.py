"""Norms of each layer, and its dead and saturated units, over the steps of a run, as a heat map."""

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
from training.runs.records.units import SHARES, unit_layers, unit_shares

_NORMS = {
    "gradient": ("Gradient", "gradient norm"),
    "weight": ("Weights", "weight norm"),
    "ratio": ("Update-to-weight ratio", "update-to-weight ratio"),
}
_UNITS = {"dead": ("Dead units", "dead units"), "saturated": ("Saturated units", "saturated units")}
_OFF = (
    "Not recorded: switch on “Norms of each layer” (loop.layer_norms) on the Setup page, or resume with "
    "--set loop.layer_norms=true. No result changes by it."
)
_WHOLE = (
    "Not recorded: a step that is compiled or recorded as a whole (precision.compile, precision.cuda_graphs) cannot be looked into. "
    "precision.compile = “model” can."
)
_NO_UNITS = {
    "": "No units were looked at: the network has no activation whose units can be {}, or it was not recorded yet.",
    "model": "Not recorded: a compiled network (precision.compile) cannot be looked into.",
}
_READING = "Reading what the run recorded …"
_USUAL = (1e-4, 1e-2)
_RATIO = (
    "About 1e-3 is usual (the mark beside the scale: 1e-4 to 1e-2); 1e-1 points to a learning rate too high, 1e-6 to one too low. "
    "Small networks train well with more."
)
_MEANING = {
    "dead": "pass no gradient on for 99 % of the samples looked at",
    "saturated": "sit where tanh or sigmoid is less than a tenth as steep as in the middle",
}


class LayersCard(Card):
    """Shows ``layers.bin`` and ``units.bin`` of a run: one quantity at a time, a row for each layer, from the input to the output. Hidden
    until the first norms of a run that is to have some, or the page would have to be scrolled for nothing."""

    def __init__(self, background: Background) -> None:
        super().__init__("Layers", "chart")
        self._why = self._why_no_units = ""  # there is nothing
        self._layers: tuple[str, ...] = ()
        self._bins = HeatBins(0)
        self._unit_layers: tuple[str, ...] = ()
        self._unit_bins = HeatBins(0)
        self.quantity = Segmented([(key, title) for key, (title, _) in (_NORMS | _UNITS).items()])
        self.quantity.setAccessibleName("Quantity")
        self.quantity.current_changed.connect(self._draw)
        self.map = HeatMap()
        self.add_action(self.quantity)
        self.add(self.map)
        self.follower = ColumnFollower(background, self)
        self.follower.began.connect(self._on_began)
        self.follower.rows_arrived.connect(self._on_rows)
        self.follower.looked.connect(self._draw)
        self.unit_follower = ColumnFollower(background, self)
        self.unit_follower.began.connect(self._on_units_began)
        self.unit_follower.rows_arrived.connect(self._on_unit_rows)
        self.unit_follower.looked.connect(self._draw)
        self._draw()

    def set_run(self, folder: RunFolder | None, config: RunConfig | None, growing: bool) -> None:
        """Look at another run, or none, or again at the same; ``growing``: more may come."""
        self._why = _explain(config, growing)
        self._why_no_units = _NO_UNITS["model" if config is not None and config.precision.compile == "model" else ""]
        self.follower.follow(folder.layers_file if folder else None)
        self.unit_follower.follow(folder.units_file if folder else None)
        self._draw()

    @Slot()
    def refresh(self) -> None:
        """Read what is new."""
        self.follower.refresh()
        self.unit_follower.refresh()

    def begin_again(self) -> None:
        """Rows that were read are void: the run went back."""
        self.follower.begin_again()
        self.unit_follower.begin_again()

    # ------------------------------------------------------------------------------------------- inside

    @Slot(object)
    def _on_began(self, columns: Columns | None) -> None:
        self._layers = layers_of(columns) if columns else ()
        self._bins = HeatBins(len(self._layers) * len(_NORMS))
        self._draw()

    @Slot(object)
    def _on_units_began(self, columns: Columns | None) -> None:
        self._unit_layers = unit_layers(columns) if columns else ()
        self._unit_bins = HeatBins(len(self._unit_layers) * len(SHARES))
        self._draw()

    @Slot(object)
    def _on_rows(self, rows: Rows) -> None:
        if not self._layers:
            return
        measured = {key: layer_norms(rows, key) for key in _NORMS}
        measured["gradient"] = np.where(np.isnan(measured["gradient"]), np.inf, measured["gradient"])
        self._bins.add(rows["step"], np.concatenate(list(measured.values()), axis=1))
        self._draw()

    @Slot(object)
    def _on_unit_rows(self, rows: Rows) -> None:
        if self._unit_layers:
            self._unit_bins.add(rows["step"], np.concatenate([unit_shares(rows, share) for share in SHARES], axis=1))
            self._draw()

    @Slot()
    def _draw(self) -> None:
        there = bool(self._layers) and len(self._bins.first) > 0
        self.quantity.setVisible(there)
        self.setVisible(there or bool(self._why))
        key = self.quantity.current()
        heat = None
        if there:
            heat = self._heat_of_units(key) if key in _UNITS else self._heat_of_norms(key)
        self.map.setVisible(heat is not None)
        self.map.show_heat(heat)
        if not there:
            self.set_subtitle(self._why if self.follower.has_looked else _READING)
        elif heat is None:
            self.set_subtitle(self._why_no_units.format(key) if self.unit_follower.has_looked else _READING)
        elif key in _UNITS:
            self.set_subtitle(_describe_units(key, heat))
        else:
            self.set_subtitle(
                _RATIO if key == "ratio" else _describe_growth(heat.noun, heat.names, self._bins, heat.values)
            )

    def _heat_of_norms(self, key: str) -> Heat:
        at = list(_NORMS).index(key) * len(self._layers)
        values = self._bins.values[:, at : at + len(self._layers)]
        usual = _USUAL if key == "ratio" else None
        return Heat(_NORMS[key][1], self._layers, self._bins.first, self._bins.last, values, usual=usual)

    def _heat_of_units(self, key: str) -> Heat | None:
        """Of the layers whose activation can be so; None where there are none."""
        at = list(_UNITS).index(key) * len(self._unit_layers)
        values = self._unit_bins.values[:, at : at + len(self._unit_layers)]
        known = np.flatnonzero(np.isfinite(values).any(0))
        if not len(known):
            return None
        names = tuple(self._unit_layers[place] for place in known)
        bins = self._unit_bins
        return Heat(_UNITS[key][1], names, bins.first, bins.last, values[:, known], are_shares=True, usual=(0.0, 0.5))


def _explain(config: RunConfig | None, growing: bool) -> str:
    if config is not None and not config.loop.layer_norms:
        return _OFF
    if config is not None and (config.precision.compile == "step" or config.precision.cuda_graphs == "on"):
        return _WHOLE
    return "" if growing else "This run recorded no norms of its layers."


def _describe_units(key: str, heat: Heat) -> str:
    """What the share means, and where it is largest now."""
    newest = np.nan_to_num(heat.values[-1])
    most = int(newest.argmax())
    now = f"At step {heat.last[-1]:,} it is {newest[most]:.0%} in layer {heat.names[most]}, the most."
    return f"Share of a layer's units that {_MEANING[key]}; more than half is too many. {now}"


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
