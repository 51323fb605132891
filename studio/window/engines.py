"""Engines in the preferences: which Pythons can train here, which one is used, and a further one to install."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from studio.actions.question import Answer as Choice
from studio.actions.question import ask
from studio.state.context import AppContext
from studio.state.engines import engines_of
from studio.theme import SPACING, Tone
from studio.widgets import STRETCH, Card, ElidedLabel, PathEdit, StatusPill, button, empty, hbox, in_widget, label, vbox
from studio.window.engine_install import InstallCard
from training.engines.overview import Engine, explain_origin
from training.errors import list_first, pluralize
from training.queue.of_engines import Dependents

_MOST_NAMED = 3
_TONES: dict[str, tuple[str, Tone]] = {
    "ready": ("Ready", "success"),
    "limited": ("Parts left out", "warning"),
    "unfit": ("Cannot train", "danger"),
    "gone": ("Gone", "danger"),
}


class EngineRow(QWidget):
    """One engine: what it is, what it can, what it lacks, and what can be done with it."""

    def __init__(self, context: AppContext, engine: Engine) -> None:
        super().__init__()
        self.engine, self._context = engine, context
        engines = engines_of(context)
        chosen, trying = engines.is_chosen(engine), engine.python in engines.trying
        self.pill = StatusPill()
        if trying or engine.verdict is None:
            self.pill.set_status("Trying …" if trying else "Not tried", "neutral")
        else:
            self.pill.set_status(*_TONES[engine.verdict.state])
        self.use = button("Use", clicked=lambda: engines.choose(engine))
        self.use.setAccessibleName(f"Use {engine.found.name}")
        self.use.setVisible(engine.can_train and not chosen)
        self.again = button("Try again", "refresh", "ghost", clicked=lambda: engines.try_again(engine.python))
        self.again.setAccessibleName(f"Try {engine.found.name} again")
        self.again.setEnabled(not trying)
        self.remove = button("Remove", "trash", "ghost", clicked=self._on_remove)
        self.remove.setAccessibleName(f"Remove {engine.found.name}")
        self.remove.setVisible(engine.found.origin in ("installed", "added") and not _is_gone(engine))
        in_use = StatusPill("In use", "accent")
        in_use.setVisible(chosen)
        head = hbox(label(engine.found.name, "section"), in_use, self.pill, STRETCH, self.again, self.remove, self.use)
        place = ElidedLabel(f"{explain_origin(engine.found)} · {engine.python}")
        place.setProperty("role", "caption")
        vbox(in_widget(head), place, *self._make_lines(), parent=self, spacing=SPACING.xs)

    def _make_lines(self) -> list[QWidget]:
        engine = self.engine
        lines: list[QWidget] = []
        if engine.describe():
            lines.append(label(engine.describe(), "help", wrap=True))
        if engine.verdict is not None and engine.verdict.problem:
            lines.append(label(engine.verdict.problem, "problem", wrap=True))
            lines.append(label(engine.verdict.remedy, "help", wrap=True, selectable=True))
        lacks = engine.verdict.lacks if engine.verdict is not None else ()
        lines += [label(text, "help", wrap=True) for text in (*lacks, engine.told) if text]
        return lines

    @Slot()
    def _on_remove(self) -> None:
        engines_of(self._context).find_dependents(self.engine, self._ask_and_remove)

    def _ask_and_remove(self, needed: Dependents) -> None:
        engine = self.engine
        text = (
            f"Its folder is deleted: {engine.python}. It would have to be downloaded again."
            if engine.is_ours
            else "It is not listed any more; nothing of it is deleted."
        )
        if needed.unfinished:
            count = pluralize(len(needed.unfinished), "unfinished run")
            text += (
                f"\n\nIt computed {count}: {list_first(needed.unfinished[:_MOST_NAMED], len(needed.unfinished))}. Another engine can go on with them, "
                "but may differ in the last bits."
            )
        if needed.waiting:
            count = pluralize(len(needed.waiting), "run")
            text += f"\n\nThe queue has {count} for it: {list_first(needed.waiting[:_MOST_NAMED], len(needed.waiting))}. Without it they are passed over."
        if engines_of(self._context).is_chosen(engine):
            text += "\n\nIt is in use: the next run needs another one."
        if ask(self, f"Remove the engine {engine.found.name}?", text, (Choice("remove", "Remove", "danger"),)):
            engines_of(self._context).remove(engine)


class EngineForms(QWidget):
    """The list of engines, and the card that installs one. What is chosen here takes effect at once."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._shows_others = False
        self.rows: list[EngineRow] = []
        self._shown: tuple[bool, list[tuple[Engine, bool, bool]]] | None = None
        self.card = Card("Engines", "cpu")
        self.card.add(
            label(
                "Training is done by a Python with PyTorch: the one in use trains the next run, from the moment it is chosen.",
                "help",
                wrap=True,
            )
        )
        self._list = QWidget()
        self._column = vbox(parent=self._list, spacing=SPACING.m)
        self.others = button("", variant="ghost", clicked=self._on_others)
        self.path = PathEdit("file", title="Choose the python program of an environment")
        self.path.set_placeholder("Another environment: its folder, or python")
        self.path.line_edit.setAccessibleName("Python of another engine")
        self.add = button("Add", "plus", clicked=self._on_add)
        self.problem = label("", "problem", wrap=True, selectable=True)
        self.card.add(self._list, hbox(self.others, STRETCH), hbox((self.path, 1), self.add), self.problem)
        self.install = InstallCard(context)
        vbox(self.card, self.install, STRETCH, parent=self, spacing=SPACING.m)
        self.path.path_changed.connect(lambda text: self.add.setEnabled(bool(text.strip())))
        self.add.setEnabled(False)
        engines_of(context).changed.connect(self.show_engines)
        engines_of(context).added.connect(self._on_added)
        self.show_engines()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        engines_of(self._context).refresh()

    @Slot()
    def show_engines(self) -> None:
        """List what is known by now."""
        engines = engines_of(self._context)
        shown = [each for each in engines.engines if self._is_shown(each)]
        hidden = len(engines.engines) - len(shown)
        rows = [(each, engines.is_chosen(each), each.python in engines.trying) for each in shown]
        if (engines.is_loaded, rows) != self._shown:  # else the keyboard would be taken from a row for nothing
            self._shown = engines.is_loaded, rows
            empty(self._column)
            self.rows = [EngineRow(self._context, each) for each in shown]
            for row in self.rows:
                self._column.addWidget(row)
            if not self.rows:
                words = (
                    "No Python that can train was found: install an engine below." if engines.is_loaded else "Looking …"
                )
                self._column.addWidget(label(words, "subtitle", wrap=True))
        others = f"Show {hidden} more that cannot train"
        self.others.setText("Hide those that cannot train" if self._shows_others else others)
        self.others.setVisible(bool(hidden) or self._shows_others)
        self.problem.setText(engines.problem)
        self.problem.setVisible(bool(engines.problem))

    def _is_shown(self, engine: Engine) -> bool:
        engines = engines_of(self._context)
        kept = engine.found.origin in ("installed", "added", "bundled") or engines.is_chosen(engine)
        return self._shows_others or kept or engine.can_train

    @Slot()
    def _on_others(self) -> None:
        self._shows_others = not self._shows_others
        self.show_engines()

    @Slot()
    def _on_add(self) -> None:
        engines_of(self._context).add(self.path.path().strip())

    @Slot(str)
    def _on_added(self, text: str) -> None:
        if self.path.path().strip() == text:  # else the next one is being typed
            self.path.set_path("")


def _is_gone(engine: Engine) -> bool:
    return engine.verdict is not None and engine.verdict.state == "gone"
