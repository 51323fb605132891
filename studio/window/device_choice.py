"""The device in the preferences that new configurations begin with."""

from __future__ import annotations

from PySide6.QtCore import Slot

from studio.state.context import AppContext
from studio.widgets import ComboBox

_AUTO = "auto"
_NAMES = {_AUTO: "Automatic: the first GPU, else the CPU", "cpu": "CPU", "mps": "Apple GPU (mps)"}


class DeviceChoice(ComboBox):
    """Those that the engine in use reports, and the one that was chosen, whether it is there or not."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._engine, self._kept = context.engine, context.settings.get().device
        self.setAccessibleName("Device of new configurations")
        self._shown: tuple[object, ...] = ()
        self._fill(self._kept)
        self._engine.state_changed.connect(self.show_devices)

    def device(self) -> str:
        """What is chosen, as ``precision.device`` has it."""
        return str(self.currentData())

    @Slot()
    def show_devices(self) -> None:
        """Offer what is there by now."""
        self._fill(self.device())

    def _fill(self, chosen: str) -> None:
        info = self._engine.info
        there = (_AUTO, *(info.devices if info is not None else ("cpu",)))
        offered = dict.fromkeys((*there, self._kept, chosen))
        if (info is not None, *offered) == self._shown:
            return  # it may be open
        self._shown = (info is not None, *offered)
        self.clear()
        for device in offered:
            gone = info is not None and device not in there
            self.addItem(f"{_NAMES.get(device, device)}{' (the engine in use has none)' if gone else ''}", device)
        self.setCurrentIndex(list(offered).index(chosen))
