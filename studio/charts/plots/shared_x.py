"""The x range and the cursor that several plots have in common."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from studio.charts.plots.spans import Span, clamp_span, span_extents

_GROWTH = 1.5
_NARROWEST = 2.0  # steps: between fewer there is nothing to be seen


class SharedX(QObject):
    """Follows the newest data until the person zooms or pans; `fit` follows again.

    The range grows in steps of 1.5: axes are rebuilt a few times in a run instead of at each redraw, which is most of
    what a redraw costs. Once nothing more is to come it ends where the data do.

    Signals: `range_changed()`; `cursor_moved(float | None)` with the position under the mouse.
    """

    range_changed = Signal()
    cursor_moved = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.first = 0.0
        self.last = 1.0
        self.is_following = True
        self.is_growing = True
        self._is_fitted = False
        self._extents: list[Callable[[], Span | None]] = []

    def add_source(self, extent: Callable[[], Span | None]) -> None:
        """`extent` says from where to where one plot's data reach; None while it has none."""
        self._extents.append(extent)

    def remove_source(self, extent: Callable[[], Span | None]) -> None:
        """A plot is gone."""
        self._extents.remove(extent)

    def reach(self) -> float:
        """How far any data go, 0 without any."""
        extent = self._extent()
        return extent[1] if extent else 0.0

    def follow(self) -> None:
        """Make room for new data, if the range is ours to choose."""
        extent = self._extent()
        if extent is None:
            return
        low, high = extent
        if not self.is_following and (self.first >= high or self.last <= low):
            self.is_following, self._is_fitted = True, False  # what was chosen is void: the series was cut
        if not self.is_following:
            return
        if not self._is_fitted or not self.is_growing:
            self._set(low, high)
            self._is_fitted = True
        elif high > self.last or low < self.first:
            self._set(low, low + (high - low) * _GROWTH)
        elif high - low < (self.last - self.first) / 3:
            self._set(low, high)  # the series was cut

    def fit(self) -> None:
        """Show everything, and follow again."""
        self.is_following = True
        self._is_fitted = False
        self.follow()

    def move_by_hand(self, first: float, last: float) -> None:
        """The person chose this range; as far as there are data it stays until `fit`. To have chosen all of them is to fit."""
        if (extent := self._extent()) is None:
            return
        if (missing := _NARROWEST - (last - first)) > 0:
            first, last = first - missing / 2, last + missing / 2
        span = clamp_span((first, last), extent)
        if span == extent:
            self.fit()
            return
        self.is_following = False
        self._set(*span)

    def _extent(self) -> Span | None:
        return span_extents([extent for source in self._extents if (extent := source()) is not None])

    def _set(self, first: float, last: float) -> None:
        if last <= first:
            last = first + 1.0
        if (first, last) != (self.first, self.last):
            self.first, self.last = first, last
            self.range_changed.emit()
