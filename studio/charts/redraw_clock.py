"""When curves are drawn: data may come at any rate, drawing happens at its own pace and only if it is seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Protocol

import psutil
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

INTERVAL_MS = 200
_SLOWEST_MS = 1000
_UNSEEN_MS = 1000
_OTHER_WORK = 0.25  # seconds: who took as long since the last drawing was building a page, not drawing
_SHARE = 0.05
"""Of one core, for everything the window does between two drawings. Where Qt draws in software and a run computes on
every core, whatever the window takes is taken from the run: measured on two cores, four plots take 20 ms a drawing, and
at ten drawings a second the run kept 0.77 of its speed."""


class Redrawn(Protocol):
    """What the clock draws: `prepare` settles what linked plots share, `draw` draws."""

    def prepare(self) -> None: ...
    def draw(self) -> None: ...
    def is_seen(self) -> bool: ...
    def window(self) -> QWidget: ...


class RedrawClock(QObject):
    """One timer for several plots. It runs only while something waits to be drawn that can be seen.

    Five drawings a second; fewer where they are dear, so that they take a twentieth of a core, and half as many on
    battery, but never less than one a second. The request of a plot that is hidden, or scrolled out of view, is dropped: plots ask
    again when they are painted.
    """

    def __init__(
        self,
        parent: QObject | None = None,
        *,
        power: Power | None = None,
        spent: Callable[[], float] = time.thread_time,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`spent` tells the seconds of CPU time that the window's thread has taken so far."""
        super().__init__(parent)
        self._power = power or Power()
        self._spent = spent
        self._now = now
        self._spent_before = spent()
        self._drawn = -math.inf  # when, in seconds
        self._cost = 0.0  # seconds of work from one drawing to the next, averaged
        self._waiting: list[Redrawn] = []
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._on_timeout)

    def request(self, plot: Redrawn) -> None:
        """Draw `plot` at the next tick: at once, when nothing was drawn for a while."""
        if plot not in self._waiting:
            self._waiting.append(plot)
        if not self._timer.isActive() and plot.is_seen():
            since = 1000 * (self._now() - self._drawn)
            self._timer.start(round(max(0.0, self.interval() - since)))

    def interval(self) -> int:
        """Milliseconds from one drawing to the next, by what drawing costs."""
        usual = INTERVAL_MS * (2 if self._power.on_battery() else 1)
        return min(max(usual, round(1000 * self._cost / _SHARE)), _SLOWEST_MS)

    def _on_timeout(self) -> None:
        seen = self._find_seen()
        if seen and not is_on_screen(seen[0].window()):
            self._waiting = seen
            self._timer.start(_UNSEEN_MS)
            return
        for plot in seen:
            plot.prepare()  # may make linked plots ask, too: they are drawn in the same tick
        seen, self._waiting = self._find_seen(), []
        self._timer.stop()
        self._drawn = self._now()
        for plot in seen:
            plot.draw()
        self._note_cost()

    def _note_cost(self) -> None:
        """Painting follows a drawing when Qt gets to it, so it is counted with the next one."""
        spent = self._spent()
        last, self._spent_before = spent - self._spent_before, spent
        if last < _OTHER_WORK:
            # Down fast: a page's first layout is dear, and must not make the drawings after it rare for seconds.
            self._cost += (0.7 if last < self._cost else 0.3) * (last - self._cost)

    def _find_seen(self) -> list[Redrawn]:
        """Of those that wait; one may have been deleted since it asked."""
        return [plot for plot in self._waiting if isValid(plot) and plot.is_seen()]


def is_on_screen(window: QWidget) -> bool:
    """Whether anything of a window can be seen: not minimized, and not covered where the system tells."""
    handle = window.windowHandle()
    return not window.isMinimized() and (handle is None or handle.isExposed())


_CHECK_SECONDS = 30.0  # asking the system takes a millisecond on some laptops, and plugs are pulled seldom


def battery_says() -> bool:
    """Ask the system; False where there is no battery, or nobody knows."""
    sensors = getattr(psutil, "sensors_battery", None)  # not on every system
    try:
        battery = sensors() if sensors is not None else None
    except OSError:  # a container without the system's list of power supplies
        return False
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
