"""How often curves are drawn: by what it costs, on what power, and whether anybody sees it."""

from __future__ import annotations

from typing import cast

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.charts.redraw_clock import INTERVAL_MS, Power, RedrawClock


class Screen:
    """What a clock asks of a window and of its handle."""

    def __init__(self) -> None:
        self.minimized = False
        self.exposed = True

    def isMinimized(self) -> bool:
        return self.minimized

    def windowHandle(self) -> Screen:
        return self

    def isExposed(self) -> bool:
        return self.exposed


class Plot:
    """Costs ``seconds`` of processor time whenever it is drawn."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.screen = Screen()
        self.seconds = seconds
        self.spent = 0.0
        self.drawn = 0
        self.visible = True

    def prepare(self) -> None: ...

    def draw(self) -> None:
        self.drawn += 1
        self.spent += self.seconds

    def is_seen(self) -> bool:
        return self.visible

    def window(self) -> QWidget:
        return cast(QWidget, self.screen)


def clock_of(plot: Plot, on_battery: bool = False) -> RedrawClock:
    return RedrawClock(power=Power(lambda: on_battery), spent=lambda: plot.spent)


def draw(clock: RedrawClock, plot: Plot, times: int) -> None:
    for count in range(plot.drawn + 1, plot.drawn + times + 1):
        clock.request(plot)
        assert clock._timer.isActive()
        clock._timer.timeout.emit()  # without the wait
        assert plot.drawn == count


def test_cheap_plots_are_drawn_at_the_usual_rate_and_dear_ones_less_often(qtbot: QtBot) -> None:
    cheap = Plot(0.002)
    clock = clock_of(cheap)
    draw(clock, cheap, 3)
    assert clock.interval() == INTERVAL_MS
    dear = Plot(0.03)
    clock = clock_of(dear)
    draw(clock, dear, 6)
    assert INTERVAL_MS < clock.interval() <= 600  # 30 ms are a twentieth of 600
    dearest = Plot(0.2)
    clock = clock_of(dearest)
    draw(clock, dearest, 3)
    assert clock.interval() == 1000
    dearest.seconds = 0.0
    draw(clock, dearest, 6)
    assert clock.interval() < 1000


def test_what_was_not_drawn_for_a_while_is_drawn_at_once_and_then_at_the_usual_rate(qtbot: QtBot) -> None:
    plot = Plot()
    now = [100.0]
    clock = RedrawClock(power=Power(lambda: False), spent=lambda: plot.spent, now=lambda: now[0])
    for later, wait in ((0.0, 0), (0.0, INTERVAL_MS), (0.05, INTERVAL_MS - 50), (5.0, 0)):
        now[0] += later
        clock.request(plot)
        assert clock._timer.interval() == wait
        drawn = plot.drawn
        qtbot.waitUntil(lambda: plot.drawn == drawn + 1)  # noqa: B023 - waited for here


def test_a_page_that_was_built_meanwhile_slows_nothing(qtbot: QtBot) -> None:
    plot = Plot(0.002)
    clock = clock_of(plot)
    plot.spent += 3.0
    draw(clock, plot, 2)
    assert clock.interval() == INTERVAL_MS


def test_on_battery_half_as_many_are_drawn(qtbot: QtBot) -> None:
    assert clock_of(Plot(), on_battery=True).interval() == 2 * clock_of(Plot()).interval()


def test_the_battery_is_asked_seldom() -> None:
    now = 100.0
    asked: list[float] = []

    def probe() -> bool:
        asked.append(now)
        return len(asked) > 1

    power = Power(probe, clock=lambda: now)
    assert [power.on_battery() for _ in range(50)] == [False] * 50
    now += 31.0
    assert power.on_battery()
    assert asked == [100.0, 131.0]


def test_a_window_that_is_minimized_or_covered_draws_nothing_until_it_is_seen(qtbot: QtBot) -> None:
    for hide in ("minimized", "exposed"):
        plot = Plot()
        clock = clock_of(plot)
        setattr(plot.screen, hide, hide == "minimized")
        for _ in range(20):
            clock.request(plot)
            qtbot.wait(INTERVAL_MS // 10)
        assert plot.drawn == 0
        assert clock._timer.isActive()  # what waits is drawn when the window comes back
        setattr(plot.screen, hide, hide != "minimized")
        qtbot.waitUntil(lambda: plot.drawn == 1)  # noqa: B023 - waited for here
        assert not clock._timer.isActive()


def test_a_plot_that_is_hidden_keeps_no_timer_alive(qtbot: QtBot) -> None:
    plot = Plot()
    clock = clock_of(plot)
    plot.visible = False
    clock.request(plot)
    assert not clock._timer.isActive()
