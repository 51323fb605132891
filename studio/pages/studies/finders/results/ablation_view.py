"""Ablation: what having each setting as it is brings, over having it at its default."""

from __future__ import annotations

import math
from functools import partial

from studio.charts.interval_bars import IntervalBar, IntervalBars
from studio.charts.value_strips import ValueStrips
from studio.pages.studies.finders.results.result_view import ResultView
from studio.pages.studies.finders.results.spread_view import limits_of, make_strip
from studio.state.formats import format_metric, metric_title
from studio.state.studies.readings import AblationFound
from studio.widgets import label
from training.metric_names import is_share
from training.statistics.intervals import Interval
from training.studies.spread import show_size

_WORDS = {True: "helps", False: "harms", None: "noise"}


class AblationView(ResultView):
    """Effects, the largest first; above them the values as configured."""

    def __init__(self) -> None:
        super().__init__("What each setting brings")
        self.strips = ValueStrips()
        self.bars = IntervalBars()
        self._head = label("", "help", wrap=True)
        self.add(self.strips, self._head, self.bars)

    def show_found(self, found: AblationFound) -> None:
        title = metric_title(found.metric)
        strips = [make_strip(found.metric, found.as_is, found.as_is.name)] if found.as_is is not None else []
        self.wait("" if strips or found.effects else "The first run is under way.")
        self.strips.setVisible(bool(strips))
        self.strips.show_strips(title, strips, partial(format_metric, found.metric), limits_of(found.metric))
        effects = sorted(found.effects, key=lambda each: -abs(each[1].value))
        bars = [_make_bar(found.metric, self.say(name), effect, better) for name, effect, better in effects]
        self._head.setText(f"By how much {title} is higher as configured than with the setting at its default:")
        self._head.setVisible(bool(bars))
        self.bars.setVisible(bool(bars))
        self.bars.set_bars(f"Difference of {title}", bars)


def _make_bar(metric: str, name: str, effect: Interval, better: bool | None) -> IntervalBar:
    known = math.isfinite(effect.low) and math.isfinite(effect.high)
    low, high = (effect.low, effect.high) if known else (effect.value, effect.value)
    sign = "+" if effect.value > 0 else "−" if effect.value < 0 else ""
    text = f"{sign}{show_size(metric, abs(effect.value))}"
    if known:
        scale = 100.0 if is_share(metric) else 1.0
        text += f" ({scale * low:+.2g} to {scale * high:+.2g}) · {_WORDS[better]}"
    else:
        text += " · one pair tells nothing of noise"
    return IntervalBar(name, effect.value, low, high, text, better is None)
