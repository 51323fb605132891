"""The speed check: how many times as fast each setting makes the steps, and which change results."""

from __future__ import annotations

from studio.charts.interval_bars import IntervalBar, IntervalBars
from studio.pages.studies.finders.results.result_view import ResultView
from studio.state.studies.readings import Factor, SpeedFound
from studio.widgets import label, make_breakable
from training.statistics.intervals import Interval
from training.studies.speed.study import MAY_CHANGE

_CHANGES = {True: "results change", False: "results may change"}


class SpeedView(ResultView):
    """Bars from 1, which is as fast as without the setting."""

    def __init__(self) -> None:
        super().__init__("Times as fast")
        self.bars = IntervalBars()
        self.said = label("", "help", wrap=True, selectable=True)
        self.add(self.bars, self.said)
        self.set_subtitle(
            "Bars begin at 1, as fast as without the setting; each is on top of those that were kept before it."
        )

    def show_found(self, found: SpeedFound) -> None:
        bars = [_make_bar(each, self.say(each.name)) for each in found.factors]
        if found.whole is not None:
            whole = found.whole
            bars.append(
                IntervalBar("All that is kept", whole.value - 1.0, whole.low - 1.0, whole.high - 1.0, _show(whole))
            )
        self.wait("" if bars else "The first pair is being measured.")
        self.bars.setVisible(bool(bars))
        self.bars.set_bars("Times as fast", bars)
        change = [each.name for each in found.factors if each.was_seen]
        may = [each.name for each in found.factors if each.differs and not each.was_seen]
        said = [f"Results change with {', '.join(change)}."] if change else []
        said += [f"Results {MAY_CHANGE} with {', '.join(may)}."] if may else []
        if bars and not (change or may):
            said.append("None of these changed the losses of the first steps, or is declared to.")
        said += [f"Could not run: {each.rstrip('.')}." for each in found.refused]
        said += [f"Never run on this machine: {', '.join(found.never_run)}."] if found.never_run else []
        self.said.setText(make_breakable(self.say("\n".join(said))))
        self.said.setVisible(bool(said))


def _make_bar(factor: Factor, name: str) -> IntervalBar:
    ratio = factor.ratio
    notes = [_show(ratio), *["kept"] * factor.is_kept, *[_CHANGES[factor.was_seen]] * factor.differs]
    return IntervalBar(name, ratio.value - 1.0, ratio.low - 1.0, ratio.high - 1.0, " · ".join(notes), not factor.tells)


def _show(ratio: Interval) -> str:
    return f"{ratio.value:.3g}× ({ratio.low:.3g} to {ratio.high:.3g})"
