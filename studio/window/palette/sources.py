"""Where the entries come from: the commands, the settings of the forms, the runs, the help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtGui import QKeySequence

from studio.actions.table import ActionSet
from studio.forms.messages import KIND_TITLES
from studio.state.context import AppContext
from studio.state.drafts.setting_specs import RUN, join_path, kinds, specs
from studio.state.formats import kind_title
from studio.state.runs.run_library import RunSummary
from studio.state.search import describe_setting
from studio.window.help import help_headings
from studio.window.palette.entry import Entry
from training.config.run import SECTIONS


def list_actions(actions: ActionSet) -> Iterator[Entry]:
    """The commands that can be used now."""
    for action in actions.table:
        made = actions.actions[action.id]
        if action.id != "palette" and made.isEnabled():
            keys = QKeySequence(action.shortcut).toString(QKeySequence.SequenceFormat.NativeText)
            title = action.title.replace("&&", "&")
            yield Entry(f"action:{action.id}", title, "Command", made.trigger, action.icon, keys, action.menu)


def list_settings(context: AppContext, go_to: Callable[[str], object]) -> Iterator[Entry]:
    """The settings that the forms have now; one that is chosen comes into view with the keyboard."""
    draft = context.draft
    for section in (RUN, *SECTIONS):
        kind = draft.kind(section) if kinds(section) else ""
        if section in KIND_TITLES:
            path = f"{section}.kind"
            yield Entry(
                f"setting:{path}", KIND_TITLES[section], "Setting", partial(go_to, path), "sliders", path, "kind type"
            )
        where = kind_title(section, kind) if kind else section.capitalize()
        for spec in specs(section, kind).values():
            path = join_path(section, spec.name)
            more = f"{path} {where} {describe_setting(spec)}"
            yield Entry(f"setting:{path}", spec.title, "Setting", partial(go_to, path), "sliders", path, more)


def list_help(show: Callable[[str], object]) -> Iterator[Entry]:
    """The pages of the help, and their parts."""
    for topic, title, part in help_headings():
        yield Entry(f"help:{topic}:{part}", part or title, "Help", partial(show, topic), "help", title if part else "")


class Sources:
    """All that can be found now. What did not change since the last look is the same entry: of ten thousand runs, few do."""

    def __init__(
        self,
        context: AppContext,
        actions: ActionSet,
        go_to: Callable[[str], object],
        show_help: Callable[[str], object],
    ) -> None:
        self._context, self._actions, self._go_to = context, actions, go_to
        self._help = list(list_help(show_help))
        self._kinds: list[str] | None = None
        self._settings: list[Entry] = []
        self._runs: tuple[RunSummary, ...] = ()
        self._of_runs: dict[str, tuple[RunSummary, Entry]] = {}

    def collect(self) -> list[Entry]:
        """Commands, settings, help, runs."""
        kinds = [self._context.draft.kind(section) for section in SECTIONS]
        if kinds != self._kinds:
            self._kinds, self._settings = kinds, list(list_settings(self._context, self._go_to))
        self.follow_runs()
        runs = (entry for _run, entry in self._of_runs.values())
        return [*list_actions(self._actions), *self._settings, *self._help, *runs]

    def follow_runs(self) -> None:
        """Make the entries of the runs that are others now."""
        runs = self._context.library.runs
        if runs is not self._runs:
            known, self._runs = self._of_runs, runs
            self._of_runs = {run.id: self._renew(run, known.get(run.id)) for run in runs}

    def _renew(self, run: RunSummary, known: tuple[RunSummary, Entry] | None) -> tuple[RunSummary, Entry]:
        title = self._context.library.title_of(run)
        if known is not None and known[0] is run and known[1].title == title:
            return known
        what = f"{run.dataset_title} · {run.model_title}"
        return run, Entry(f"run:{run.id}", title, "Run", partial(self._open, run), "train", what, run.id)

    def _open(self, run: RunSummary) -> None:
        self._context.open_run(run.folder.path)
