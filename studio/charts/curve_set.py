"""The curves of one plot taken together: from where to where they reach, what of them is drawn, what is nearest."""

import math

from studio.charts.curve import Curve, Line
from studio.charts.markers import Marker
from studio.charts.series import Series
from studio.charts.shared_x import spanned
from studio.charts.value_scale import ValueScale


class CurveSet(dict[str, Curve]):
    """Curves by name, in the order in which they are drawn."""

    def extent(self) -> tuple[float, float] | None:
        """The first and the last position of any; None while all are empty."""
        return spanned([extent for curve in self.values() if (extent := curve.series.extent) is not None])

    def truncate(self, x: float) -> None:
        """Drop samples beyond ``x``; what is faded is of another stretch, and stays."""
        for curve in self.values():
            if not curve.is_faded:
                curve.series.truncate(x)

    def clear_samples(self) -> None:
        """Drop all samples; the curves stay."""
        for curve in self.values():
            curve.series.clear()

    def nearest_position(self, x: float) -> float:
        """The position of a sample that is closest to ``x``."""
        samples = [curve.series.nearest(x) for curve in self.values()]
        return min((sample[0] for sample in samples if sample), key=lambda at: abs(at - x), default=x)

    def lines(self, first: float, last: float, pixels: int, scale: ValueScale) -> list[tuple[Line, Line]]:
        """Each curve's raw and smoothed line as they are to be drawn; ``scale`` is fitted to them."""
        scale.hides_values = False
        found = [(curve, curve.lines(first, last, pixels, scale)) for curve in self.values()]
        noisy = [raw[1] for curve, (raw, _) in found if curve.is_noisy]
        scale.fit_to([raw[1] for curve, (raw, _) in found if not curve.is_noisy], noisy)
        return [lines for _, lines in found]

    def height_of(self, marker: Marker, scale: ValueScale) -> float:
        """Where a marker stands: on a curve, or near the upper edge."""
        if marker.kind in ("event", "resume"):
            return scale.near_top()
        filled = [curve.series for curve in self.values() if len(curve.series) and not curve.is_faded]
        # The best checkpoint is chosen by a validation figure, which is the later curve where there are two.
        series = filled[-1 if marker.kind == "best" else 0] if filled else Series()
        sample = series.nearest(marker.x, smoothed=True)
        return scale.height(sample[1] if sample else math.nan)
