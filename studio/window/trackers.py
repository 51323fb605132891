"""The trackers in the preferences: which are used, where they are, their keys, and whether they answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from PySide6.QtWidgets import QLineEdit, QWidget

from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, PathEdit, Segmented, Switch, label, vbox
from studio.window.far_ends import FarEndCard, FarEndForms
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
_KEYS: Final[dict[Name, tuple[tuple[str, str], ...]]] = {
    "tensorboard": (),
    "mlflow": (("Token", "MLFLOW_TRACKING_TOKEN"),),
    "wandb": (("API key", "WANDB_API_KEY"),),
}
_MODES: Final = (("online", "Online"), ("offline", "Offline, for wandb sync"))


class TrackerCard(FarEndCard):
    """One tracker."""

    def __init__(self, name: Name) -> None:
        super().__init__(TITLES[name], _KEYS[name], collapsible=True)
        self.name: Name = name
        self.on = Switch("Send every new run")
        self.on.setAccessibleName(f"Send every new run to {TITLES[name]}")
        self.add_action(self.on)
        self.lines: dict[str, QLineEdit] = {}
        self.mode: Segmented | None = None
        self.add_rows(*self._make_rows())
        self.on.toggled.connect(lambda on: self.set_collapsed(not on))
        self.set_collapsed(True)  # a connection can be tested before it is used: the title opens it

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


class TrackerForms(FarEndForms):
    """All trackers. The person's file is read when they are made, and written by ``save``."""

    def __init__(self, context: AppContext) -> None:
        self.cards = {name: TrackerCard(name) for name in NAMES}
        super().__init__(context, list(self.cards.values()))
        for card in self.cards.values():
            card.test_asked.connect(lambda card=card: self._test(card))
            for line in card.lines.values():
                line.textChanged.connect(lambda _, card=card: self.forget_test(card))
            if card.mode is not None:
                card.mode.current_changed.connect(lambda _, card=card: self.forget_test(card))
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

    def _test(self, card: TrackerCard) -> None:
        try:
            said = json.dumps(self.settings().model_dump())
        except InputError as error:
            card.show_result(str(error), works=False)
            return
        self.try_card(card, TITLES[card.name], ["track", "--test", card.name, "--settings", "-", "--json"], said)
