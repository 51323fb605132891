"""Texts beside the axes."""

import math

import pytest

from studio.charts.ticks import log_labels, log_ticks, reading, tick_labels


@pytest.mark.parametrize(
    ("values", "spacing", "texts"),
    [
        ([0.0, 0.5, 1.0], 0.5, ["0.0", "0.5", "1.0"]),
        ([0.0, 1.0, 2.0], 1.0, ["0", "1", "2"]),
        ([0.0, 5e-5, 1e-4], 5e-5, ["0", "5.0e-5", "1.0e-4"]),
        ([0.0, 10_000.0, 12_500.0], 2_500.0, ["0", "10k", "12.5k"]),
        ([0.998, 0.999], 0.001, ["0.998", "0.999"]),
    ],
)
def test_ticks_have_the_digits_that_tell_them_apart(values: list[float], spacing: float, texts: list[str]) -> None:
    assert tick_labels(values, spacing) == texts


@pytest.mark.parametrize(
    ("low", "high", "length", "texts"),
    [
        (1.1, 1.6, 200, ["1.2", "1.3", "1.4", "1.5"]),
        (2.5, 4.2, 200, ["3.0", "3.5", "4.0"]),
        (0.015, 0.9, 200, ["0.02", "0.05", "0.1", "0.2", "0.5"]),
        (0.008, 1.2, 200, ["0.01", "0.1", "1"]),
        (3e-7, 3e4, 200, ["1e-6", "1e-4", "0.01", "1", "100", "1e4"]),
        (3e-7, 6e-6, 200, ["5e-7", "1e-6", "2e-6", "5e-6"]),
        (2.302e-12, 2.316e-12, 200, ["2.305e-12", "2.310e-12", "2.315e-12"]),
        (1e-320, 1e308, 200, ["1e-300", "1e-200", "1e-100", "1", "1e100", "1e200"]),
        (2.05, 9.9, 65, ["4", "8"]),
    ],
)
def test_a_logarithmic_axis_has_numbers_at_every_range(
    low: float, high: float, length: float, texts: list[str]
) -> None:
    ticks = log_ticks(math.log10(low), math.log10(high), length)
    assert log_labels(ticks.at, ticks.step) == texts


def test_a_reading_keeps_its_width() -> None:
    assert [reading(value) for value in (0.0774, 0.07745, 0.0, float("nan"), 3e-4, 1234.0)] == [
        "0.07740",
        "0.07745",
        "0.000",
        "–",
        "3.00e-4",
        "1234",
    ]
