"""What the forms for trackers and for copies share: keys in the system's keyring, and a test of the connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from studio.actions.question import Answer as Choice
from studio.actions.question import ask
from studio.engine.side_command import Answer, SideCommand
from studio.state.context import AppContext
from studio.theme import SPACING, set_role
from studio.widgets import Card, button, hbox, in_widget, label, vbox

_PLACES: Final = {
    "environment": "It is set in the environment.",
    "keyring": "It is in the system's keyring.",
    "": "None is known. A key is kept in the system's keyring, never in a file.",
}


class KeyRow(QWidget):
    """A key, called ``variable`` in the environment and the keyring: to type, to keep and to remove. The signal ``typed(str)`` says to
    keep this key; "": remove the one there is."""

    typed = Signal(str)

    def __init__(self, variable: str, title: str, owner: str) -> None:
        super().__init__()
        self.variable = variable
        self.line = QLineEdit()
        self.line.setEchoMode(QLineEdit.EchoMode.Password)
        self.line.setAccessibleName(f"{owner}: {title}")
        self.place = label("", "help", wrap=True)
        self.keep = button("Keep key", "lock", clicked=lambda: self.typed.emit(self.line.text().strip()))
        self.remove = button("Remove key", "trash", clicked=self._on_remove)
        row = in_widget(hbox((self.line, 1), self.keep, self.remove))
        vbox(label(title, "field"), row, self.place, parent=self, spacing=SPACING.s)
        self.line.textChanged.connect(lambda text: self.keep.setEnabled(bool(text.strip())))
        self.keep.setEnabled(False)
        self.remove.hide()

    @Slot()
    def _on_remove(self) -> None:
        text = "It is taken out of the system's keyring, and this program keeps no copy: type it again to have it back."
        if ask(self, f"Remove the key {self.variable}?", text, (Choice("remove", "Remove", "danger"),)):
            self.typed.emit("")

    def show_place(self, place: str, problem: str = "") -> None:
        """Say where the key is: "environment", "keyring" or "", and why it cannot be kept."""
        self.remove.setVisible(place == "keyring")
        _say(self.place, problem or _PLACES[place], works=not problem)


class FarEndCard(Card):
    """A place that runs are sent to. The signal ``test_asked()``: whether it answers is to be found out."""

    test_asked = Signal()

    def __init__(self, title: str, keys: Iterable[tuple[str, str]], *, collapsible: bool = False) -> None:
        """``keys``: the title and the variable of each."""
        super().__init__(title, collapsible=collapsible)
        self.keys = {variable: KeyRow(variable, words, title) for words, variable in keys}
        self.test = button("Test connection", "refresh", clicked=self.test_asked)
        self.result = label("", "help", wrap=True)

    def add_rows(self, *rows: QWidget) -> None:
        """Fill the card: ``rows``, then keys and the test."""
        test = in_widget(hbox(self.test, (self.result, 1)))
        self.add(vbox(*rows, *self.keys.values(), test, spacing=SPACING.s))

    def show_result(self, text: str, works: bool = True) -> None:
        """Say what came of a test."""
        _say(self.result, text, works)


class FarEndForms(QWidget):
    """Forms for far ends: asks the engine's interpreter, which has their clients."""

    def __init__(self, context: AppContext, cards: Sequence[FarEndCard]) -> None:
        super().__init__()
        self._context, self._cards = context, cards
        self._commands: dict[str, SideCommand] = {}  # on their way, by what they are for
        self._looked = False
        self.problem = ""  # why the settings cannot be shown
        for card in cards:
            for row in card.keys.values():
                row.typed.connect(lambda key, row=row: self._keep(row, key))

    def give_up(self) -> None:
        """The dialog closes: nobody waits for an answer any more."""
        for command in self._commands.values():
            command.give_up()
        self._commands.clear()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._looked and not self.problem:
            self._looked = True
            for row in self._rows():
                row.place.setText("Looking for a key …")
            self._ask("keys", ["key", "--json"], self._show_keys)

    def try_card(self, card: FarEndCard, whom: str, words: Sequence[str], text: str = "") -> None:
        """Have ``python -m training WORDS`` find out whether ``whom`` answers, with ``text`` as its standard input, and tell it."""
        card.test.setEnabled(False)
        card.show_result(f"Asking {whom} …")

        def tell(answer: Answer) -> None:
            card.test.setEnabled(True)
            told = _parse(answer)
            card.show_result(str(told.get("message", answer.error or "It gave no answer.")), bool(told.get("works")))

        self._ask(f"test {id(card)}", words, tell, text)

    def forget_test(self, card: FarEndCard) -> None:
        """The form says something else by now: what a test found, or would find, is not about that."""
        if command := self._commands.pop(f"test {id(card)}", None):
            command.give_up()
            card.test.setEnabled(True)
        card.show_result("")

    def _rows(self) -> list[KeyRow]:
        return [row for card in self._cards for row in card.keys.values()]

    def _ask(self, purpose: str, words: Sequence[str], told: Callable[[Answer], object], text: str = "") -> None:
        def tell(answer: Answer) -> None:
            self._commands.pop(purpose, None)
            told(answer)

        if purpose in self._commands:
            self._commands.pop(purpose).give_up()
        python = self._context.settings.get().engine_python
        self._commands[purpose] = SideCommand(self, python, words, tell, text)

    def _show_keys(self, answer: Answer) -> None:
        said = _parse(answer)
        for row in self._rows():
            place = said.get("keys", {}).get(row.variable, "")
            row.show_place(place, "" if place else said.get("problem", "") or (answer.error if not said else ""))

    def _keep(self, row: KeyRow, key: str) -> None:
        for each in (row.keep, row.remove):
            each.setEnabled(False)

        def tell(answer: Answer) -> None:
            row.remove.setEnabled(True)
            if answer.code == 0:
                row.line.clear()
                row.show_place(str(_parse(answer).get(row.variable, "")))
            else:
                row.keep.setEnabled(bool(row.line.text().strip()))
                _say(row.place, answer.error, works=False)

        self._ask(f"key {row.variable}", ["key", row.variable, "--json", *([] if key else ["--remove"])], tell, key)


def _say(place: QLabel, text: str, works: bool) -> None:
    set_role(place, "help" if works else "problem")
    place.setText(text)


def _parse(answer: Answer) -> dict[str, Any]:
    """The JSON object at the end of what was printed; empty where there is none."""
    last = answer.out.strip().splitlines()[-1:]
    try:
        data = json.loads(last[0]) if last else {}
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
