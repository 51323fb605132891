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
            more = f"{path} {where} {spec.help} {spec.unit} {spec.also}"
            yield Entry(f"setting:{path}", spec.title, "Setting", partial(go_to, path), "sliders", path, more)


def list_runs(context: AppContext) -> Iterator[Entry]:
    """Every run of the workspace, by its name."""
    for run in context.library.runs:
        title, what = context.library.title_of(run), f"{run.dataset_title} · {run.model_title}"
        yield Entry(f"run:{run.id}", title, "Run", partial(context.open_run, run.folder.path), "train", what, run.id)


def list_help(show: Callable[[str], object]) -> Iterator[Entry]:
    """The pages of the help, and their parts."""
    for topic, title, part in help_headings():
        yield Entry(f"help:{topic}:{part}", part or title, "Help", partial(show, topic), "help", title if part else "")
