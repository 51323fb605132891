"""What the table of runs shows: its columns, its groups, archived runs; remembered from one start to the next."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from studio.pages.runs.name_dialog import choose_names
from studio.pages.runs.table import RunsTable
from studio.services.settings import SettingsStore
from studio.state.runs.run_columns import FIXED, NAME, STAR
from studio.state.runs.run_table import REPEATS, RunTableModel
from studio.state.runs.run_values import RunValues
from studio.widgets import button
from training.runs.query.names import FACTS, best_key

_GROUPS = (
    ("No groups", ()),
    ("Repeats (everything but the seed is the same)", (REPEATS,)),
    ("By dataset", ("dataset",)),
    ("By model", ("model",)),
    ("By name", ("name",)),
)
_TIP = "Columns, groups, archived runs"
_CHOSEN = "By settings …"
_TITLES = {column.title: at for at, column in enumerate(FIXED) if at not in (NAME, STAR)}


class ViewMenu(QWidget):
    """Signals: `columns_changed()`: others are shown. `replaced(words, undo)`: the person chose others, and ``undo`` shows those before."""

    columns_changed, replaced = Signal(), Signal(str, object)

    def __init__(self, settings: SettingsStore, table: RunsTable, model: RunTableModel, values: RunValues) -> None:
        super().__init__()
        self._settings, self._table, self._model, self._values = settings, table, model, values
        self.menu = QMenu(self)
        self.menu.addAction("Columns …", self.choose_columns)
        self._groups = self.menu.addMenu("Group runs")
        self._groups.aboutToShow.connect(self._fill_groups)
        self.archived = QAction("Show archived runs", self, checkable=True)
        self.archived.toggled.connect(model.show_archived)
        self.menu.addAction(self.archived)
        self.button: QPushButton = button("View", "sliders", "secondary", tooltip=_TIP)
        self.button.setMenu(self.menu)
        self.hide()
        self._show_columns()
        self._show_groups()

    def tell_unfitting(self, titles: tuple[str, ...]) -> None:
        """Say which columns the window is too narrow for."""
        self.button.setText(f"View · {len(titles)} hidden" if titles else "View")
        self.button.setToolTip(
            f"{_TIP}. No room here for {', '.join(titles)}: make the window wider, or choose fewer." if titles else _TIP
        )

    @Slot()
    def choose_columns(self) -> None:
        """Ask which settings and metrics are shown, beside the columns that every run has."""
        metrics = sorted(self._values.names.measured)
        offered = [*_TITLES, *metrics, *map(best_key, metrics), *sorted(self._values.names.settings)]
        hidden = self._list_hidden()
        shown = [title for title in _TITLES if title not in hidden] + list(self._model.keys)
        text = "Every setting, and every metric: its newest value, or the best."
        chosen = choose_names(self._table, "Columns", text, offered, shown)
        if chosen is not None:
            left_out = [f"-{title}" for title in _TITLES if title not in chosen]
            before = self._settings.get().run_columns
            self._set_columns("\n".join([*(name for name in chosen if name not in _TITLES), *left_out]))
            if self._settings.get().run_columns != before:
                self.replaced.emit("Other columns are shown.", lambda: self._set_columns(before))

    def _set_columns(self, columns: str) -> None:
        self._settings.update(run_columns=columns)
        self._show_columns()

    def _list_hidden(self) -> set[str]:
        return {name[1:] for name in self._lines("run_columns") if name.startswith("-")}

    def _lines(self, name: str) -> list[str]:
        return [line for line in str(getattr(self._settings.get(), name)).split("\n") if line]

    def _show_columns(self) -> None:
        keys = [name for name in self._lines("run_columns") if not name.startswith("-")]
        if keys:
            self._values.want(keys)
        self._model.set_columns(keys)
        self._table.hide_columns(frozenset(_TITLES[title] for title in self._list_hidden() if title in _TITLES))
        self.columns_changed.emit()

    @Slot()
    def _fill_groups(self) -> None:
        self._groups.clear()
        now = tuple(self._lines("run_groups"))
        for title, names in _GROUPS:
            self._add_choice(title, now == names).triggered.connect(lambda _on, names=names: self.group(names))
        others = now not in [names for _title, names in _GROUPS]
        title = f"By {', '.join(now)} …" if others else _CHOSEN
        self._add_choice(title, others).triggered.connect(self._choose_groups)

    def _add_choice(self, title: str, on: bool) -> QAction:
        action = self._groups.addAction(title)
        action.setCheckable(True)
        action.setChecked(on)
        return action

    @Slot()
    def _choose_groups(self) -> None:
        names = [
            *(name for name in FACTS if name not in ("age", "created", "run", "notes")),
            *sorted(self._values.names.settings),
        ]
        chosen = choose_names(
            self._table,
            "Group runs",
            "Runs that have the same values of all of these come into one row.",
            names,
            [name for name in self._lines("run_groups") if name != REPEATS],
        )
        if chosen is not None:
            self.group(tuple(chosen))

    def group(self, names: tuple[str, ...]) -> None:
        """Group runs by ``names`` from now on."""
        self._settings.update(run_groups="\n".join(names))
        self._show_groups()

    def _show_groups(self) -> None:
        names = self._lines("run_groups")
        if names:
            self._values.want([name for name in names if name != REPEATS])
        self._model.group(names)
