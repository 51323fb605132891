"""The field that runs are filtered by: words, or a filter; what is wrong stands beside it, names are completed, filters kept."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QStringListModel, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QListView, QMenu, QToolButton, QWidget

from studio.services.settings import SettingsStore
from studio.state.runs.run_values import RunValues
from studio.theme import set_invalid
from studio.widgets import SearchLine, hbox, icon_button, label
from training.runs.query import FilterError, Query, complete, parse

_HINT = "Search, or filter: val/accuracy > 0.9 and lr < 1e-3"
_EXAMPLES = ("val/accuracy > 0.9", "star", "age < 7d", 'status == "completed" and lr < 1e-3')
_MOST_KEPT, _MOST_OFFERED = 30, 200


class FilterLine(SearchLine):
    """A line that offers the names which may stand where the cursor is."""

    def __init__(self, values: RunValues) -> None:
        super().__init__("Search or filter runs", _HINT)
        self._values = values
        self._span = 0, 0
        self._names = QStringListModel(self)
        self.popup = QListView()
        self.names = QCompleter(self._names, self)
        self.names.setPopup(self.popup)
        self.names.setWidget(self)  # not setCompleter, which would complete the whole text
        self.names.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.names.activated.connect(self._take)
        self.textEdited.connect(self._offer)

    @Slot()
    def _offer(self) -> None:
        start, end, names = complete(self.text(), self.cursorPosition(), self._values.names)
        typed = self.text()[start:end]
        if not names or names == [typed] or len(typed) < 2:
            self.popup.hide()
            return
        self._span = start, end
        self._names.setStringList(names[:_MOST_OFFERED])
        self.names.complete()

    @Slot(str)
    def _take(self, name: str) -> None:
        start, end = self._span
        text = self.text()
        self.setText(f"{text[:start]}{name}{text[end:]}")
        self.setCursorPosition(start + len(name))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        popup = self.popup
        if popup.isVisible() and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
            if popup.currentIndex().isValid():
                self._take(popup.currentIndex().data())
            popup.hide()
            return
        super().keyPressEvent(event)


class FilterField(QWidget):
    """``problem`` says what is wrong with a filter that cannot be read, and belongs below the field.

    Signals: `query_changed(Query or None)`: another filter is to be applied; one that cannot be read changes nothing.
    `forgotten(words, undo)`: a kept one is no longer, and ``undo`` keeps it again.
    """

    query_changed, forgotten = Signal(object), Signal(str, object)

    def __init__(self, values: RunValues, settings: SettingsStore) -> None:
        super().__init__()
        self._values, self._settings = values, settings
        self._applied = ""  # the last filter that could be read
        self.line = FilterLine(values)
        self.line.setMinimumWidth(200)
        self.problem = label("", "problem", wrap=True)
        self.problem.hide()
        self.kept = icon_button("bookmark", "Saved filters")
        self.kept.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self._fill_menu)
        self.kept.setMenu(self._menu)
        hbox((self.line, 1), self.kept, parent=self)
        self.line.textChanged.connect(self._apply)

    def text(self) -> str:
        """What is typed."""
        return self.line.text()

    def clear(self) -> None:
        """No filter."""
        self.line.clear()

    @Slot()
    def read_again(self) -> None:
        """What could not be read may be readable now that more names are known."""
        if self.problem.isVisibleTo(self):
            self._apply()

    @Slot()
    def _apply(self) -> None:
        text = self.line.text().strip()
        try:
            query: Query | None = parse(text, self._values.names) if text else None
        except FilterError as error:
            words = f"{error}\nBelow are the runs of the filter before: {self._applied or 'all of them.'}"
            self.problem.setText(words)
            self.problem.show()
            self.line.setAccessibleDescription(words)
            set_invalid(self.line, True)
            return
        self._applied = text
        self.problem.hide()
        self.line.setAccessibleDescription("")
        set_invalid(self.line, False)
        if query is not None:
            self._values.want(query.names)
        self.query_changed.emit(query)

    def _list_kept(self) -> list[str]:
        return [each for each in self._settings.get().run_filters.split("\n") if each]

    @Slot()
    def _fill_menu(self) -> None:
        self._menu.clear()
        kept, text = self._list_kept(), self.line.text().strip()
        for each in kept or _EXAMPLES:
            self._menu.addAction(each.replace("&", "&&"), partial(self.line.setText, each))
        if not kept:
            self._menu.actions()[0].setToolTip("Examples")
        self._menu.addSeparator()
        if text in kept:
            self._menu.addAction("Forget this filter", lambda: self._forget(kept, text))
        else:
            save = self._menu.addAction("Save this filter", lambda: self._keep([text, *kept]))
            save.setEnabled(bool(text) and not self.problem.isVisibleTo(self))

    def _forget(self, kept: list[str], text: str) -> None:
        self._keep([each for each in kept if each != text])
        self.forgotten.emit(f"The filter {text} is not kept any more.", lambda: self._keep(kept))

    def _keep(self, filters: list[str]) -> None:
        self._settings.update(run_filters="\n".join(filters[:_MOST_KEPT]))
