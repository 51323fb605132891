"""Texts beside the axes."""

import pytest

from studio.charts.number_labels import decade_label, reading, tick_labels


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


def test_only_decades_are_named_on_a_logarithmic_axis() -> None:
    assert [decade_label(at) for at in (-5, -2, 0, 3, 0.30103)] == ["1e-5", "0.01", "1", "1000", ""]


def test_a_reading_keeps_its_width() -> None:
    assert [reading(value) for value in (0.0774, 0.07745, 0.0, float("nan"), 3e-4, 1234.0)] == [
        "0.07740",
        "0.07745",
        "0.000",
        "–",
        "3.00e-4",
        "1234",
    ]
