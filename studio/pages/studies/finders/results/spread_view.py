"""Seeds and folds: the value of each run, their mean and its interval."""

from __future__ import annotations

import math
from functools import partial

from studio.charts.value_strips import Strip, ValueStrips
from studio.pages.studies.finders.results.result_view import ResultView
from studio.state.formats import format_metric, metric_title
from studio.state.studies.readings import SpreadFound, Values
from training.errors import pluralize
from training.metric_names import is_share


def make_strip(metric: str, found: Values, name: str) -> Strip:
    """The row of one way."""
    mean, read = found.mean, partial(format_metric, metric)
    text = " · ".join([read(mean.value), *([pluralize(len(found.values), "value")] if found.values else [])])
    if found.values and len({read(each).lstrip("-−") for each in (mean.value, mean.low, mean.high)}) == 1:
        text = f"{read(mean.value)} · the same in all {len(found.values)}"
    elif math.isfinite(mean.low):
        text = f"{read(mean.value)} ({read(mean.low)} to {read(mean.high)})"
    return Strip(name, found.values, mean.value, mean.low, mean.high, text)


def limits_of(metric: str) -> tuple[float, float] | None:
    """Between which its values lie; None where there are none."""
    return (0.0, 1.0) if is_share(metric) else None


class SpreadView(ResultView):
    """A row for each way that is compared."""

    def __init__(self, waits_for: str) -> None:
        super().__init__("Values")
        self._waits_for = waits_for
        self.strips = ValueStrips()
        self.add(self.strips)

    def show_found(self, found: SpreadFound) -> None:
        title = metric_title(found.metric)
        self.set_title(f"{title[:1].upper()}{title[1:]}")
        self.set_subtitle("A dot is a run. The line is their mean, the tint its 95 % interval.")
        strips = [make_strip(found.metric, each, self.say(each.name)) for each in found.ways]
        if found.whole is not None and math.isfinite(found.whole.value):
            together = make_strip(found.metric, Values("", (), found.whole), "All answers together")
            strips.append(together)
        self.wait("" if strips else self._waits_for)
        self.strips.setVisible(bool(strips))
        self.strips.show_strips(title, strips, partial(format_metric, found.metric), limits_of(found.metric))
