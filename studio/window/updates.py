"""Updates in the preferences: whether a newer version is asked for, and what the answer was."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.identity import APP_NAME, VERSION
from studio.services.updates import explain_update, name_source
from studio.state.context import AppContext
from studio.state.updates import updates_of
from studio.theme import SPACING
from studio.widgets import STRETCH, Card, Switch, button, hbox, label, vbox


class UpdateForm(QWidget):
    """What is chosen here counts at once."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._updates, self._settings = updates_of(context), context.settings
        settings = self._settings
        self.daily = Switch("Check for updates once a day, after a start")
        self.daily.setChecked(settings.get().update_check)
        self.daily.toggled.connect(lambda on: settings.update(update_check=on))
        self.check = button("Check now", "refresh", clicked=self._updates.ask)
        self.source = label("", "help", wrap=True)
        self.answer = label("", wrap=True, selectable=True)
        self.problem = label("", "problem", wrap=True, selectable=True)
        card = Card("Updates", "download")
        card.add(
            label(f"This is {APP_NAME} {VERSION}.", wrap=True),
            self.daily,
            self.source,
            hbox(self.check, STRETCH),
            self.answer,
            self.problem,
        )
        vbox(card, STRETCH, parent=self, spacing=SPACING.m)
        self._updates.changed.connect(self.show_answer)
        settings.changed.connect(self.show_answer)
        self.show_answer()

    @Slot()
    def show_answer(self) -> None:
        """Tell what is known by now."""
        updates = self._updates
        self.source.setText(
            f"Fetches the names of {APP_NAME}'s files, some kilobytes, from {name_source(self._settings.get())}. Nothing about you or your work is "
            "sent, and nothing is installed."
        )
        self.check.setEnabled(not updates.is_asking)
        if updates.is_asking:
            words = "Asking …"
        elif updates.newer:
            words = "{}. {}".format(*explain_update(updates.newer))
        else:
            words = "There is no newer version." if updates.is_answered and not updates.problem else ""
        for each, text in ((self.answer, words), (self.problem, updates.problem)):
            each.setText(text)
            each.setVisible(bool(text))
