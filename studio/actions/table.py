"""Every command of the program: id, title, shortcut, menu, what it does, when it can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from studio.actions.curves import TITLE
from studio.actions.queueing import add_draft, explain_branch
from studio.actions.recent_files import RecentMenu
from studio.actions.report import TITLE as REPORT_TITLE
from studio.actions.runs import pause_or_continue
from studio.engine.state import ENDED, RunAction, RunState, is_enabled
from studio.state.context import AppContext
from studio.state.runs.way_on import LONGER, RESUME, START_OVER, way_on
from studio.theme import icon
from training.control import Command


def always(_context: AppContext) -> str:
    """Of a command that can always be used."""
    return ""


def when(*actions: RunAction) -> Callable[[AppContext], str]:
    """Of a command that depends on where the run stands."""

    def explain(context: AppContext) -> str:
        state = context.shown.at_hand.state
        return "" if any(is_enabled(action, state) for action in actions) else _describe(state)

    return explain


def _describe(state: RunState) -> str:
    """Why something cannot be asked of a run in ``state``."""
    if state is RunState.IDLE:
        return "No run is open."
    if state in ENDED:
        return f"The run is not being trained: it {'has failed' if state is RunState.FAILED else f'was {state.value}'}."
    return "The run is not being trained yet." if state is RunState.STARTING else f"The run is {state.value} just now."


def _explain_resume(context: AppContext) -> str:
    run = context.shown.at_hand
    if run.folder is not None and run.done_at is not None:  # nothing is left after its last checkpoint
        return f"The run is complete. {LONGER}"
    if not is_enabled(RunAction.RESUME, run.state):
        return "No run is open." if run.state is RunState.IDLE else "The run has not ended."
    if run.folder is None:
        return "No run is open."
    return context.start_problem() or ("" if way_on(run.folder) is RESUME else START_OVER.kept)


def _resume(context: AppContext) -> None:
    if context.shown.at_hand.folder is not None:
        context.resume(context.shown.at_hand.folder.path)


def _profile(context: AppContext) -> None:
    if context.shown.run is not context.shown.at_hand:
        context.show_work()
    context.show_page("run/system")
    context.shown.at_hand.ask(Command.PROFILE)


def _undo(context: AppContext) -> None:
    context.show_page("setup")
    context.draft.undo()


def _redo(context: AppContext) -> None:
    context.show_page("setup")
    context.draft.redo()


def _explain_undo(context: AppContext) -> str:
    return "" if context.draft.can_undo else "No setting was changed."


def _explain_redo(context: AppContext) -> str:
    return "" if context.draft.can_redo else "No change of a setting was undone."


def _find(context: AppContext) -> None:
    context.show_page("setup")
    context.find_requested.emit("")


def _ask(command: Command) -> Callable[[AppContext], object]:
    return lambda context: context.shown.at_hand.ask(command)


@dataclass(frozen=True)
class Action:
    """One command. ``run`` is None for commands of the window itself, which brings them along by ``id``; ``explain`` says in a
    sentence why it cannot be used now, "" where it can."""

    id: str
    title: str
    menu: str
    icon: str = ""
    shortcut: str = ""
    run: Callable[[AppContext], object] | None = None
    explain: Callable[[AppContext], str] = always
    page: str = ""  # the page whose keys these are: it hears them itself


ACTIONS = (
    Action("open_config", "Open configuration …", "File", "file", "Ctrl+O"),
    Action(
        "save_config",
        "Save configuration as …",
        "File",
        "save",
        "Ctrl+Shift+S",
        explain=lambda c: "" if c.draft.config() is not None else "Some settings on Setup are wrong.",
    ),
    Action("open_workspace", "Open workspace folder", "File", "folder"),
    Action("trash", "Trash …", "File", "trash"),
    Action("preferences", "Preferences …", "File", "settings", "Ctrl+,"),
    Action("engines", "Engines …", "File", "cpu"),
    Action("quit", "Quit", "File", "", "Ctrl+Q"),
    Action("undo", "Undo a setting", "Edit", "undo", "Ctrl+Z", _undo, _explain_undo, page="setup"),
    Action("redo", "Redo a setting", "Edit", "redo", "Ctrl+Shift+Z", _redo, _explain_redo, page="setup"),
    Action("find", "Find a setting", "Edit", "search", "Ctrl+F", _find, page="setup"),
    Action("start", "Start training", "Run", "play", "Ctrl+Return", AppContext.start_draft, AppContext.start_problem),
    Action("queue", "Add to queue", "Run", "list", "Ctrl+Shift+Return", add_draft, explain_branch),
    Action("sample", "Start the built-in sample", "Run", "bolt", "", AppContext.start_sample, AppContext.start_problem),
    Action(
        "pause",
        "Pause or continue",
        "Run",
        "pause",
        "Ctrl+P",
        pause_or_continue,
        when(RunAction.PAUSE, RunAction.CONTINUE),
    ),
    Action("stop", "Stop && save checkpoint", "Run", "stop", "Ctrl+.", _ask(Command.STOP), when(RunAction.STOP)),
    Action("save", "Save a checkpoint now", "Run", "save", "Ctrl+S", _ask(Command.SAVE), when(RunAction.SAVE)),
    Action("validate", "Validate now", "Run", "check", "Ctrl+E", _ask(Command.VALIDATE), when(RunAction.VALIDATE)),
    Action("profile", "Profile a few seconds of steps", "Run", "gauge", "Ctrl+T", _profile, when(RunAction.PROFILE)),
    Action("resume", "Resume from the last checkpoint", "Run", "resume", "Ctrl+R", _resume, _explain_resume),
    Action("save_curves", TITLE, "Run", "save"),
    Action("save_report", REPORT_TITLE, "Run", "file"),
    Action("palette", "Find anything …", "View", "search", "Ctrl+K"),
    Action("rail", "Fold or unfold the navigation", "View", "sidebar", "Ctrl+B"),
    Action("help", "Help", "Help", "help", "F1"),
    Action("getting_started", "Getting started", "Help", "play"),
    Action("glossary", "Glossary", "Help", "list"),
    Action("shortcuts", "Keyboard and mouse", "Help", "", "?"),
    Action("report", "Report a problem …", "Help", "warning"),
    Action("log", "Open the log folder", "Help", "folder"),
    Action("updates", "Check for updates …", "Help", "download"),
    Action("about", "About Trainwright", "Help", "info"),
)


class PageEntry(Protocol):
    """What a command needs to know of a page."""

    @property
    def key(self) -> str: ...
    @property
    def icon(self) -> str: ...
    @property
    def title(self) -> str: ...


def with_pages(pages: Iterable[PageEntry]) -> tuple[Action, ...]:
    """All commands, those that show a page among them: Ctrl+1 the first page, and so on."""
    at = next(at for at, action in enumerate(ACTIONS) if action.menu == "View")
    shown = (_show_page(page, number) for number, page in enumerate(pages, start=1))
    return (*ACTIONS[:at], *shown, *ACTIONS[at:])


def _show_page(page: PageEntry, number: int) -> Action:
    key = page.key
    return Action(f"page_{key}", page.title, "View", page.icon, f"Ctrl+{number}", lambda c: c.show_page(key))


class ActionSet(QObject):
    """``table`` as QActions of one window, disabled when they make no sense."""

    def __init__(
        self,
        context: AppContext,
        window: QWidget,
        own: Mapping[str, Callable[[], object]],
        table: Sequence[Action],
    ) -> None:
        super().__init__(window)
        self._context = context
        self.table = table
        self.actions: dict[str, QAction] = {}
        for action in table:
            self.actions[action.id] = self._make(action, window, own.get(action.id))
        for signal in (
            context.live.state_changed,
            context.shown.state_changed,
            context.shown.attached,
            context.start_problem_changed,
            context.draft.changed,
            context.branch_changed,
        ):
            signal.connect(self.update)
        self.update()

    def _make(self, action: Action, window: QWidget, own: Callable[[], object] | None) -> QAction:
        made = QAction(action.title, window)
        if action.icon:
            made.setIcon(icon(action.icon, "muted"))
        if action.page:
            keys = QKeySequence(action.shortcut).toString(QKeySequence.SequenceFormat.NativeText)
            made.setText(f"{action.title}\t{keys}")
        elif action.shortcut:
            made.setShortcut(QKeySequence(action.shortcut))
        run = action.run
        if run is not None:
            made.triggered.connect(lambda: run(self._context))
        elif own is not None:
            made.triggered.connect(lambda: own())
        else:
            raise KeyError(f"nobody carries out the command {action.id!r}")
        window.addAction(made)
        return made

    @Slot()
    def update(self) -> None:
        """Enable and disable."""
        for action in self.table:
            self.actions[action.id].setEnabled(not action.explain(self._context))

    def explain(self, action: Action) -> str:
        """Why a command cannot be used now, in a sentence; "" where it can."""
        return action.explain(self._context)

    def menu(self, parent: QWidget) -> QMenu:
        """All commands, each group a menu of its own."""
        made = QMenu(parent)
        for group in dict.fromkeys(action.menu for action in self.table):
            inner = made.addMenu(group)
            for action in self.table:
                if action.menu == group:
                    inner.addAction(self.actions[action.id])
                if action.menu == group and action.id == "open_config":
                    inner.addMenu(RecentMenu(self._context, inner))
        return made
