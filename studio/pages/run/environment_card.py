"""What the newest attempt at the run shown was computed on: device, versions, threads, and its packages beside those here."""

from __future__ import annotations

import logging
from typing import NamedTuple

from PySide6.QtCore import QAbstractTableModel, Qt, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import (
    ALIGN_LEFT,
    NO_PARENT,
    AnyIndex,
    Card,
    ChoiceTable,
    KeyValueTable,
    SearchLine,
    Switch,
    fit_rows,
    hbox,
    in_widget,
    label,
    vbox,
)
from training.environment import Environment, list_facts
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.environment import newest_environment
from training.runs.records.history import read_history
from training.runs.records.packages import read_packages
from training.system.installed import list_packages

logger = logging.getLogger(__name__)

_ROW_HEIGHT = 28
_MOST_ROWS = 12
_NONE = "–"
_TITLES = ("Package", "This run", "Here")


class PackageRow(NamedTuple):
    """A package's version in the run and in this program's environment; "" where it is not installed."""

    name: str
    run: str
    here: str


class _Found(NamedTuple):
    environment: Environment
    packages: tuple[PackageRow, ...]
    problem: str


class PackageTable(QAbstractTableModel):
    """The packages whose name holds the words typed, all or those that differ."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[PackageRow] = []

    def replace(self, rows: list[PackageRow]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(_TITLES)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole) or not index.isValid():
            return None
        return self.rows[index.row()][index.column()] or _NONE

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_LEFT
        return _TITLES[section] if role == Qt.ItemDataRole.DisplayRole else None


class EnvironmentCard(Card):
    """Follows ``context.shown``; reads when it is seen."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Environment", "info")
        self._context = context
        self._folder: RunFolder | None = None
        self._stale = self._loading = False
        self._packages: tuple[PackageRow, ...] = ()
        self._problem = ""
        self.facts = KeyValueTable()
        self.facts.setMinimumWidth(
            1
        )  # a digest is one long word, for which the whole page would have to be scrolled sideways
        self.words = label("", "help", wrap=True, selectable=True)
        self.filter = SearchLine("Filter packages")
        self.filter.textChanged.connect(self._filter)
        self.differing = Switch("Only versions that differ here")
        self.differing.toggled.connect(self._filter)
        self.model = PackageTable(self)
        self.table = ChoiceTable("Packages of the run", _ROW_HEIGHT)
        self.table.setModel(self.model)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        row = hbox((self.filter, 1), self.differing, spacing=SPACING.m)
        self.packages = in_widget(vbox(row, self.table, spacing=SPACING.s))
        self.add(self.facts, self.words, self.packages)

    def set_run(self, folder: RunFolder | None) -> None:
        """Another run, or none."""
        self._folder = folder
        self.setVisible(folder is not None)
        self._show(Environment(), (), "Loading …")
        self.refresh()

    def refresh(self) -> None:
        """Read once more, as after another attempt began; as soon as the card is seen."""
        self._stale = True
        if self.isVisible():
            self._read()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._read()

    def _read(self) -> None:
        folder = self._folder
        if folder is None or self._loading or not self._stale:
            return
        self._stale, self._loading = False, True

        def end() -> bool:
            self._loading = False
            if self._stale:  # another run, or another attempt, meanwhile
                self._read()
            return folder == self._folder

        def handle_result(found: _Found) -> None:
            if end():
                self._show(*found)

        def handle_failure(error: Exception) -> None:
            logger.warning("The environment of a run could not be read: %s", error)
            if end():
                self._show(Environment(), (), f"The environment could not be read: {error}")

        self._context.background.submit(lambda: _find(folder), handle_result, handle_failure)

    def _show(self, environment: Environment, packages: tuple[PackageRow, ...], problem: str) -> None:
        host = [("Machine", environment.host)] if environment.host else []
        rows = [*host, *list_facts(environment)]
        self.facts.set_rows(rows)
        self.facts.setVisible(bool(rows))
        self._packages = packages
        self.packages.setVisible(bool(packages))
        self._problem = problem
        self._filter()

    @Slot()
    def _filter(self) -> None:
        wanted = self.filter.text().strip().lower()
        differing = [row for row in self._packages if row.run != row.here]
        chosen = differing if self.differing.isChecked() else self._packages
        rows = [row for row in chosen if wanted in row.name]
        self.model.replace(rows)
        fit_rows(self.table, _MOST_ROWS)
        installed = sum(bool(row.run) for row in self._packages)
        said = (
            f"Packages in this run: {installed:,}. Versions that differ here: {len(differing):,}. Shown: {len(rows):,}."
        )
        self.words.setText(self._problem or said)


def _find(folder: RunFolder) -> _Found:
    environment = newest_environment(folder, read_history(folder.events_file).attempts)
    try:
        run = {package.name: package.version for package in read_packages(folder, environment)}
    except InputError as error:
        return _Found(environment, (), error.message)
    here = {package.name: package.version for package in list_packages()}
    rows = (PackageRow(name, run.get(name, ""), here.get(name, "")) for name in sorted(run | here))
    return _Found(environment, tuple(rows), "")
