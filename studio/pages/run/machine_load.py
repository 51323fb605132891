"""How busy the machine is with the run: CPU, memory, GPU, waiting for data."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.engine.state import RunState
from studio.state.runs.shown_run import ShownRun
from studio.theme import SPACING, set_role
from studio.widgets import ElidedLabel, IconLabel, SteadyLabel, hbox, in_widget
from training.errors import format_bytes
from training.runs.records.gpu_memory import describe_gpu_memory
from training.runs.records.series import Rows

_WAIT_WARNING = 0.3  # share of the time spent waiting for data from which the loader is the bottleneck
_GPU_COLUMNS = ("gpu_allocated_mb", "gpu_memory_mb", "gpu_peak_mb")
_GPU_WORDS = (
    "Allocated is what tensors hold, reserved what PyTorch keeps for them, peak the most that tensors have held since the run was "
    "started or resumed."
)


class MachineLoad(QWidget):
    """One quiet line of figures of the run shown; what cannot be measured is left out, and all of them while nothing works."""

    def __init__(self, shown: ShownRun) -> None:
        super().__init__()
        self._shown = shown
        shown.telemetry_arrived.connect(self.add_telemetry)
        shown.looked.connect(self._on_looked)
        self.setAccessibleName("Machine load")
        row = hbox(parent=self, spacing=SPACING.xs, margins=(SPACING.xs, 0, SPACING.xs, 0))
        self._cpu = self._add(row, "cpu", "CPU use of the engine, of all cores")
        self._memory = self._add(row, "layers", "Memory of the engine")
        self._gpu = self._add(row, "bolt", _GPU_WORDS)
        self._wait = self._add(row, "clock", "Share of the time the engine waits for data")
        self.device = ElidedLabel("", Qt.TextElideMode.ElideRight)
        self.device.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        set_role(self.device, "caption")
        self.device_row = in_widget(hbox((self.device, 1)))  # its tool tip is not the label's, which is its whole text
        row.addWidget(self.device_row, 1)
        self.clear()

    def clear(self) -> None:
        """Another run."""
        self._clear_figures()
        self.device.setText("")
        self.device_row.setToolTip("")

    @Slot()
    def _on_looked(self) -> None:
        if not self._shown.run.live or self._shown.run.state is RunState.PAUSED:
            self._clear_figures()  # the last ones would say that something works

    def _clear_figures(self) -> None:
        for part in (self._cpu, self._memory, self._gpu, self._wait):
            part.hide()

    @Slot(object)
    def add_telemetry(self, rows: Rows) -> None:
        """The newest look at the engine."""
        last = rows[-1]
        self._show(self._cpu, "CPU", _share(float(last["cpu_share"])))
        self._show(self._memory, "Memory", _mebibytes(float(last["memory_mb"])))
        gpu = [_share(float(last["gpu_share"])), _gpu_memory(last)]
        self._show(self._gpu, "GPU", ", ".join(part for part in gpu if part))
        self._gpu.setToolTip(f"GPU memory: {describe_gpu_memory(last)}.\n{_GPU_WORDS}")
        wait = float(rows["wait_share"][-10:].mean())
        self._show(self._wait, "Data-loading stall", _share(wait), warn=wait > _WAIT_WARNING)

    def _add(self, row: QHBoxLayout, icon_name: str, tooltip: str) -> _Figure:
        figure = _Figure(icon_name, tooltip)
        row.addWidget(figure)
        return figure

    @staticmethod
    def _show(figure: _Figure, name: str, value: str, warn: bool = False) -> None:
        figure.setVisible(bool(value))
        if value:
            figure.set_text(f"{name} {value}", warn)


class _Figure(QWidget):
    def __init__(self, icon_name: str, tooltip: str) -> None:
        super().__init__()
        self._text = SteadyLabel("caption")
        self.setToolTip(tooltip)
        hbox(IconLabel(icon_name, 15), self._text, parent=self, spacing=SPACING.xs + 1, margins=(0, 0, SPACING.s, 0))

    def set_text(self, text: str, warn: bool) -> None:
        self._text.setText(text)
        if self._text.property("tone") != ("warning" if warn else ""):
            self._text.setProperty("tone", "warning" if warn else "")
            self._text.style().polish(self._text)


def _share(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) and value >= 0 else ""


def _gpu_memory(row: Any) -> str:
    """``315 of 537 MB, peak 472 MB``: allocated, reserved and the most that was allocated."""
    allocated, reserved, peak = (_mebibytes(float(row[name])) for name in _GPU_COLUMNS)
    if not allocated:
        return reserved  # all that earlier versions measured
    number, _, unit = allocated.partition(" ")
    return f"{number if reserved.endswith(f' {unit}') else allocated} of {reserved}, peak {peak}"


def _mebibytes(value: float) -> str:
    return format_bytes(value * 2**20) if math.isfinite(value) and value > 0 else ""
