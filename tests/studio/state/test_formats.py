"""Numbers as people read them."""

from __future__ import annotations

import math
import time

import pytest

from studio.state.formats import (
    format_ago,
    format_metric,
    format_number,
    format_rate,
    metric_title,
)
from training.errors import format_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min"), (273600, "3 d 4 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.123456, "0.1235"),
        (1e-5, "1.00e-5"),
        (18573.0, "18,570"),
        (9999.9, "10,000"),
        (-1234567.0, "-1.23e6"),
        (math.nan, "NaN"),
        (-math.inf, "−∞"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert format_number(value) == text


def test_metrics_and_rates() -> None:
    assert format_metric("val/accuracy", 0.98765) == "98.77%"
    assert format_metric("val/loss", 0.98765) == "0.9877"
    assert metric_title("val/accuracy") == "validation accuracy"
    assert [format_rate(rate) for rate in (3.14159, 12345.6)] == ["3.1", "12,346"]


def test_moments() -> None:
    now = time.mktime((2026, 3, 5, 15, 0, 0, 0, 0, -1))
    assert format_ago(now - 20, now) == "just now"
    assert format_ago(now - 120, now) == "2 min ago"
    assert format_ago(now - 3 * 3600, now) == "today 12:00"
    assert format_ago(now - 24 * 3600, now) == "yesterday 15:00"
    assert format_ago(now - 40 * 24 * 3600, now).endswith("2026")
