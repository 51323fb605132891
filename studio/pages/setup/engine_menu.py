"""The menu beside Start: which engine trains the next run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from studio.state.context import AppContext
from studio.theme import icon

if TYPE_CHECKING:
    from studio.state.engines import Engines

_IN_PROCESS = "The engine runs inside the window: see Preferences"


class EngineMenu(QMenu):
    """Lists the engines that can train, the one in use checked. Nothing is looked for before it is opened first."""

    def __init__(self, context: AppContext, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Engine of the next run")
        self.setToolTipsVisible(True)
        self._context = context
        self._engines: Engines | None = None
        self.aboutToShow.connect(self._on_about_to_show)

    @Slot()
    def _on_about_to_show(self) -> None:
        from studio.state.engines import engines_of  # which knows how engines are fetched

        if self._engines is None:
            self._engines = engines_of(self._context)
            self._engines.changed.connect(self._fill)
        self._engines.refresh()
        self._fill()

    @Slot()
    def _fill(self) -> None:
        engines = self._engines
        assert engines is not None
        self.clear()
        self.addAction("Engine of the next run").setEnabled(False)  # a heading
        group = QActionGroup(self)
        for engine in [] if self._context.engine.in_process else engines.engines:
            chosen = engines.is_chosen(engine)
            if not (chosen or engine.can_train):
                continue
            action = self.addAction(engine.found.name, partial(engines.choose, engine))
            action.setCheckable(True)
            action.setChecked(chosen)
            action.setToolTip("\n".join(filter(None, (engine.describe(), engine.python))))
            if not engine.can_train:
                problem = engine.verdict.problem if engine.verdict is not None else "It is being tried …"
                action.setText(f"{engine.found.name}: {problem}")
            group.addAction(action)
        if self._context.engine.in_process:
            self.addAction(_IN_PROCESS).setEnabled(False)
        elif not engines.is_loaded or engines.trying:
            self.addAction("Looking for engines …").setEnabled(False)
        self.addSeparator()
        self.addAction(icon("cpu"), "Engines …", self._context.engines_asked.emit)
