"""Whether the computer runs on its battery."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

_CHECK_SECONDS = 30.0  # asking the system takes a millisecond on some laptops, and plugs are pulled seldom


def battery_says() -> bool:
    """Ask the system; False where there is no battery, or nobody knows."""
    sensors = getattr(psutil, "sensors_battery", None)  # not on every system
    battery = sensors() if sensors is not None else None
    return battery is not None and battery.power_plugged is False


class Power:
    """Remembers the answer for half a minute."""

    def __init__(self, probe: Callable[[], bool] = battery_says, clock: Callable[[], float] = time.monotonic) -> None:
        self._probe = probe
        self._clock = clock
        self._asked = -_CHECK_SECONDS
        self._answer = False

    def on_battery(self) -> bool:
        """Whether every drawing costs the person battery time."""
        now = self._clock()
        if now - self._asked >= _CHECK_SECONDS:
            self._asked, self._answer = now, self._probe()
        return self._answer
