"""Which settings go along with the results of many runs."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QWidget

from studio.charts.parallel_axes import AxisValues, ParallelAxes
from studio.pages.runs.compare.metrics_view import results_of
from studio.pages.runs.compare.text_table import TextTable
from studio.panels.charts.save_menu import SaveMenu
from studio.state.context import AppContext
from studio.state.formats import metric_title
from studio.state.runs.comparison import Comparison, say_setting
from studio.widgets import STRETCH, Card, ComboBox, hbox, icon_button, in_widget, label, scroll_area, vbox
from training.metric_names import is_known, metric
from training.runs.groups import SEED, decides, differing
from training.statistics.setting_shares import FEW_RUNS, Share, measure_share
from training.toml_text import Toml

_MOST_AXES = 8
_CARD, _TABLE = 330, 190  # pixels high, at least
_TITLES = ("Setting", "Share", "Direction", "By chance", "Values", "Runs")
_SOURCE = (
    "Share: how much of the differences among the results' ranks goes along with the setting, less what chance alone gives. Of numbers it "
    "is Spearman's rank correlation squared (1904), of choices the correlation ratio of Kruskal and Wallis (1952), both corrected as by "
    "Kelley (1935). By chance: how often shuffled results give as much. Settings that were changed together share what either did."
)


class SharesView(QWidget):
    """Signals: `run_chosen(RunFolder)` where a line was clicked."""

    run_chosen = Signal(object)

    def __init__(self, context: AppContext, comparison: Comparison) -> None:
        super().__init__()
        self._comparison = comparison
        self.result = ComboBox()
        self.result.setAccessibleName("Result")
        self.result.currentIndexChanged.connect(self._fill)
        self._note = label("", "help", wrap=True)
        self.table = TextTable("Importance of settings")
        self.axes = ParallelAxes()
        self.axes.line_pressed.connect(self._on_pressed)
        self._card = Card("Parallel coordinates")
        self._card.add((scroll_area(self.axes, "Parallel coordinates"), 1))
        self._source = label(_SOURCE, "caption", wrap=True)
        drawing = SaveMenu(context, self.axes, lambda: "compared-runs", drawing=self.axes)
        self.save = SaveMenu(context, self, lambda: "importance-of-settings", tabulate=lambda: [self.table.tabulate()])
        self._card.add_action(icon_button("save", "Copy or save this chart", clicked=drawing.open))
        save = icon_button("save", "Copy or save this table", clicked=self.save.open)
        head = hbox(label("Result", "caption"), self.result, STRETCH, save)
        self._card.setMinimumHeight(_CARD)
        self.table.setMinimumHeight(_TABLE)
        inside = in_widget(vbox(head, self._note, (self._card, 3), (self.table, 2), self._source))
        vbox((scroll_area(inside, "Which settings made the difference"), 1), parent=self)

    def rebuild(self) -> None:
        """Show the runs compared now."""
        names = list(dict.fromkeys(name for run in self._comparison.list_read() for name in results_of(run)))
        chosen = self.result.currentData()
        with QSignalBlocker(self.result):
            self.result.clear()
            for name in names:
                best = "best " if name.startswith("best ") else ""
                self.result.addItem(best + metric_title(name.removeprefix("best ")), name)
            self.result.setCurrentIndex(max(self.result.findData(chosen), 0))
        self._fill()

    def measure(self) -> dict[str, Share]:
        """The share of each setting that differs, the largest first."""
        runs, name = self._comparison.list_read(), self.result.currentData()
        results = [results_of(run).get(name, float("nan")) for run in runs]
        found = {path: measure_share([run.settings.get(path) for run in runs], results) for path in self._find_paths()}
        kept = {path: share for path, share in found.items() if share is not None}
        return dict(sorted(kept.items(), key=lambda each: -each[1].share))

    def _find_paths(self) -> list[str]:
        """The settings that differ and have a say in what a run becomes, but for the seed, whose numbers mean nothing."""
        paths = differing(run.settings for run in self._comparison.list_read())
        return [path for path in paths if path != SEED and decides(path)]

    def _fill(self) -> None:
        runs, name = self._comparison.list_read(), self.result.currentData()
        shares = self.measure() if name else {}
        rows = [
            [
                path,
                f"{share.share:.0%}",
                _say_direction(name, share),
                f"{share.chance:.1%}",
                str(share.values),
                str(share.n),
            ]
            for path, share in shares.items()
        ]
        self.table.show_rows(_TITLES, rows)
        paths = (list(shares) or self._find_paths())[:_MOST_AXES]
        result = AxisValues(self.result.currentText(), tuple(results_of(run).get(name) for run in runs))
        axes = [*(AxisValues(path, tuple(_place(run.settings.get(path)) for run in runs)) for path in paths), result]
        names = [self._comparison.title(run.folder) for run in runs]
        self.axes.show_runs(
            axes if name else [], names if name else [], [self._comparison.color(run.folder) for run in runs]
        )
        for part in (self._card, self.table, self._source):
            part.setVisible(bool(rows))
        self._note.setText(_judge(len(runs), len(rows), bool(name)))
        self._note.setVisible(bool(self._note.text()))

    def _on_pressed(self, number: int) -> None:
        self.run_chosen.emit(self._comparison.list_read()[number].folder)


def _judge(runs: int, rows: int, has_results: bool) -> str:
    if not has_results:
        return "None of these runs has a result yet."
    if not rows:
        return "Choose at least three runs that differ in a setting and in their result."
    if runs < FEW_RUNS:
        return f"These are {runs} runs. Below {FEW_RUNS}, a large share may well be chance: look at that column first."
    return ""


def _say_direction(name: str, share: Share) -> str:
    if share.rank_correlation is None:
        return "–"
    bare = name.removeprefix("best ")
    better = (share.rank_correlation > 0) == (is_known(bare) and metric(bare).maximize)
    return f"{share.rank_correlation:+.2f} (larger is {'better' if better else 'worse'})"


def _place(value: Toml) -> float | str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None if value is None else say_setting(value)
