"""Whether the computer runs on its battery: asked of the system, which may not know."""

import psutil
import pytest

from studio.charts.redraw_clock import battery_says


def test_a_container_without_power_supplies_has_no_battery(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise FileNotFoundError(2, "No such file or directory", "/sys/class/power_supply")

    monkeypatch.setattr(psutil, "sensors_battery", absent, raising=False)
    assert battery_says() is False
