"""The trackers in the preferences: which are used, where they are, their keys, and whether they answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from studio.engine.side_command import Answer, SideCommand
from studio.state.context import AppContext
from studio.theme import SPACING, set_role
from studio.widgets import STRETCH, Card, PathEdit, Segmented, Switch, button, hbox, in_widget, label, vbox
from training.errors import InputError
from training.tracking.settings import (
    NAMES,
    TITLES,
    Name,
    TrackerSettings,
    load_tracker_settings,
    parse_tracker_settings,
    save_tracker_settings,
)

_FIELDS: Final[dict[Name, Mapping[str, tuple[str, str]]]] = {
    "tensorboard": {"folder": ("Folder", "In the folder of each run: tracking/tensorboard")},
    "mlflow": {"url": ("Server", "http://127.0.0.1:5000"), "experiment": ("Experiment", "Trainwright")},
    "wandb": {"project": ("Project", "trainwright"), "entity": ("Entity", "Your default entity")},
}
"""The title and the placeholder of each setting that is a text."""
_KEYS: Final[dict[Name, tuple[str, str]]] = {
    "mlflow": ("Token", "MLFLOW_TRACKING_TOKEN"),
    "wandb": ("API key", "WANDB_API_KEY"),
}
_PLACES: Final = {
    "environment": "It is set in the environment.",
    "keyring": "It is in the system's keyring.",
    "": "None is known. A key is kept in the system's keyring, never in a file.",
}
_MODES: Final = (("online", "Online"), ("offline", "Offline, for wandb sync"))


class TrackerCard(Card):
    """One tracker.

    Signals:
        test_asked(): whether it answers is to be found out.
        key_typed(str): keep this key; "": remove the one there is.
    """

    test_asked = Signal()
    key_typed = Signal(str)

    def __init__(self, name: Name) -> None:
        super().__init__(TITLES[name], collapsible=True)
        self.name: Name = name
        self.on = Switch("Send every new run")
        self.on.setAccessibleName(f"Send every new run to {TITLES[name]}")
        self.add_action(self.on)
        self.lines: dict[str, QLineEdit] = {}
        self.mode: Segmented | None = None
        self.key = QLineEdit()
        self.key_place = label("", "help", wrap=True)
        self.keep = button("Keep key", "lock", clicked=lambda: self.key_typed.emit(self.key.text().strip()))
        self.remove = button("Remove key", "trash", clicked=lambda: self.key_typed.emit(""))
        self.test = button("Test connection", "refresh", clicked=self.test_asked)
        self.result = label("", "help", wrap=True)
        self.add(vbox(*self._make_rows(), spacing=SPACING.s))
        self.on.toggled.connect(lambda on: self.set_collapsed(not on))
        self.set_collapsed(True)  # a connection can be tested before it is used: the title opens it
        self.key.textChanged.connect(lambda text: self.keep.setEnabled(bool(text.strip())))
        self.keep.setEnabled(False)
        self.remove.hide()

    def _make_rows(self) -> list[QWidget]:
        rows: list[QWidget] = []
        for name, (title, placeholder) in _FIELDS[self.name].items():
            path = PathEdit("folder", title="Choose where the event files lie") if name == "folder" else None
            line = path.line_edit if path else QLineEdit()
            line.setPlaceholderText(placeholder)
            line.setAccessibleName(f"{TITLES[self.name]}: {title}")
            self.lines[name] = line
            rows += [label(title, "field"), path or line]
        if self.name == "wandb":
            self.mode = Segmented(_MODES)
            self.mode.setAccessibleName("Weights & Biases: Mode")
            rows += [label("Mode", "field"), self.mode]
        if self.name in _KEYS:
            title = _KEYS[self.name][0]
            self.key.setEchoMode(QLineEdit.EchoMode.Password)
            self.key.setAccessibleName(f"{TITLES[self.name]}: {title}")
            rows += [label(title, "field"), in_widget(hbox((self.key, 1), self.keep, self.remove)), self.key_place]
        rows.append(in_widget(hbox(self.test, (self.result, 1))))
        return rows

    def show_settings(self, settings: Mapping[str, Any]) -> None:
        """Fill the form."""
        self.on.setChecked(bool(settings["on"]))
        for name, line in self.lines.items():
            line.setText(str(settings[name]))
        if self.mode is not None:
            self.mode.set_current(str(settings["mode"]))

    def settings(self) -> dict[str, Any]:
        """What the form says."""
        said: dict[str, Any] = {"on": self.on.isChecked()}
        said |= {name: line.text().strip() for name, line in self.lines.items()}
        return said | ({"mode": self.mode.current()} if self.mode is not None else {})

    def show_key(self, place: str, problem: str = "") -> None:
        """Say where the key is: "environment", "keyring" or "", and why it cannot be kept."""
        self.remove.setVisible(place == "keyring")
        _say(self.key_place, problem or _PLACES[place], works=not problem)

    def show_result(self, text: str, works: bool = True) -> None:
        """Say what came of a test."""
        _say(self.result, text, works)


class TrackerForms(QWidget):
    """All trackers. The person's file is read when they are made, and written by ``save``."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._commands: dict[str, SideCommand] = {}  # on their way, by what they are for
        self.cards = {name: TrackerCard(name) for name in NAMES}
        self.problem = ""  # why the settings cannot be shown
        for card in self.cards.values():
            card.test_asked.connect(lambda card=card: self._test(card))
            card.key_typed.connect(lambda key, card=card: self._keep(card, key))
        try:
            self._before = load_tracker_settings()
        except InputError as error:
            self.problem = str(error)
            self._before = TrackerSettings()
        for name, card in self.cards.items():
            card.show_settings(getattr(self._before, name).model_dump())
            card.setEnabled(not self.problem)
        words = (
            "A process of its own sends each run there while it trains; no run waits for it. What it needs is installed with "
            "pip install 'trainwright[mlflow]', [wandb] or [tensorboard]."
        )
        head = [label(words, "help", wrap=True)]
        if self.problem:
            head.append(label(self.problem, "problem", wrap=True))
        vbox(*head, *self.cards.values(), STRETCH, parent=self, spacing=SPACING.m)

    def settings(self) -> TrackerSettings:
        """What the forms say. Raises InputError naming the setting that is wrong."""
        return parse_tracker_settings({name: card.settings() for name, card in self.cards.items()})

    def save(self) -> None:
        """Write the person's file, where something changed. Raises InputError."""
        if not self.problem and (said := self.settings()) != self._before:
            save_tracker_settings(said)
            self._before = said

    def give_up(self) -> None:
        """The dialog closes: nobody waits for an answer any more."""
        for command in self._commands.values():
            command.give_up()
        self._commands.clear()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if "keys" not in self._commands and not self.problem:
            for card in self.cards.values():
                card.key_place.setText("Looking for a key …")
            self._ask("keys", ["key", "--json"], self._show_keys)

    def _ask(self, purpose: str, words: Sequence[str], told: Any, text: str = "") -> None:
        if purpose in self._commands:
            self._commands[purpose].deleteLater()
        python = self._context.settings.get().engine_python
        self._commands[purpose] = SideCommand(self, python, words, told, text)

    def _show_keys(self, answer: Answer) -> None:
        said = _parse(answer)
        for name, (_, variable) in _KEYS.items():
            place = said.get("keys", {}).get(variable, "")
            self.cards[name].show_key(
                place, "" if place else said.get("problem", "") or (answer.error if not said else "")
            )

    def _test(self, card: TrackerCard) -> None:
        try:
            said = json.dumps(self.settings().model_dump())
        except InputError as error:
            card.show_result(str(error), works=False)
            return
        card.test.setEnabled(False)
        card.show_result(f"Asking {TITLES[card.name]} …")

        def tell(answer: Answer) -> None:
            card.test.setEnabled(True)
            told = _parse(answer)
            card.show_result(str(told.get("message", answer.error or "It gave no answer.")), bool(told.get("works")))

        self._ask(f"test {card.name}", ["track", "--test", card.name, "--settings", "-", "--json"], tell, said)

    def _keep(self, card: TrackerCard, key: str) -> None:
        variable = _KEYS[card.name][1]
        for each in (card.keep, card.remove):
            each.setEnabled(False)

        def tell(answer: Answer) -> None:
            card.remove.setEnabled(True)
            if answer.code == 0:
                card.key.clear()
                card.show_key(str(_parse(answer).get(variable, "")))
            else:
                card.keep.setEnabled(bool(card.key.text().strip()))
                _say(card.key_place, answer.error, works=False)

        words = ["key", variable, "--json", *([] if key else ["--remove"])]
        self._ask(f"key {card.name}", words, tell, key)


def _say(place: Any, text: str, works: bool) -> None:
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
