"""Where the entries come from: the commands, the settings of the forms, the runs, the help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from PySide6.QtGui import QKeySequence

from studio.actions.organize import open_run
from studio.actions.table import ActionSet
from studio.forms.messages import KIND_TITLES
from studio.state.context import AppContext
from studio.state.drafts.setting_specs import RUN, join_path, kinds, specs
from studio.state.formats import kind_title
from studio.state.runs.run_library import RunSummary
from studio.state.search import describe_setting
from studio.state.where_it_runs import PLACE, TITLE, WORDS
from studio.window.help import help_headings
from studio.window.palette.entry import Entry
from training.config.run import SECTIONS
from training.errors import list_first


def list_actions(actions: ActionSet) -> Iterator[Entry]:
    """The commands; those that cannot be used now say why."""
    for action in actions.table:
        if action.id != "palette":
            keys = QKeySequence(action.shortcut).toString(QKeySequence.SequenceFormat.NativeText)
            title = action.title.replace("&&", "&")
            act = actions.actions[action.id].trigger
            problem = actions.explain(action)
            yield Entry(f"action:{action.id}", title, "Command", act, action.icon, keys, action.menu, problem)


def list_settings(context: AppContext, go_to: Callable[[str], object]) -> Iterator[Entry]:
    """All settings. One that the forms have comes into view with the keyboard; one of another kind leads to where that is chosen."""
    draft = context.draft
    for section in (RUN, *SECTIONS):
        kind = draft.kind(section) if kinds(section) else ""
        if section in KIND_TITLES:
            path = f"{section}.kind"
            more = " ".join(("kind type", *(f"{each} {kind_title(section, each)}" for each in kinds(section))))
            yield Entry(f"setting:{path}", KIND_TITLES[section], "Setting", partial(go_to, path), "sliders", path, more)
        where = kind_title(section, kind) if kind else section.capitalize()
        for spec in specs(section, kind).values():
            path = join_path(section, spec.name)
            more = f"{path} {where} {describe_setting(spec)}"
            yield Entry(f"setting:{path}", spec.title, "Setting", partial(go_to, path), "sliders", path, more)
        yield from _list_others(context, section, go_to)
    yield Entry(f"setting:{PLACE}", TITLE, "Setting", partial(go_to, PLACE), "cpu", "", WORDS)


def _list_others(context: AppContext, section: str, go_to: Callable[[str], object]) -> Iterator[Entry]:
    """The settings of kinds that are not chosen, one for all kinds that call it the same."""
    here = specs(section, context.draft.kind(section)) if kinds(section) else {}
    found: dict[tuple[str, str], list[str]] = {}
    for kind in kinds(section):
        for spec in specs(section, kind).values():
            if spec.name not in here or here[spec.name].title != spec.title:
                found.setdefault((spec.name, spec.title), []).append(kind)
    for (name, title), having in found.items():
        path, titles = join_path(section, name), " ".join(kind_title(section, kind) for kind in having)
        hint = f"of {_list_kinds(section, having)}"
        more = f"{path} {titles} {describe_setting(specs(section, having[0])[name])}"
        act = partial(
            _lead_to, context, section, having, title, partial(go_to, f"{section}.kind"), partial(go_to, path)
        )
        yield Entry(f"setting:{path}:{having[0]}", title, "Setting", act, "sliders", hint, more, is_elsewhere=True)


def _list_kinds(section: str, having: Sequence[str]) -> str:
    titles = [kind_title(section, kind) for kind in having]
    return " and ".join(titles) if len(titles) < 3 else list_first(titles[:2], len(titles))


def _lead_to(
    context: AppContext,
    section: str,
    having: Sequence[str],
    title: str,
    show_kinds: Callable[[], object],
    show: Callable[[], object],
) -> None:
    """Show where the kinds are chosen that have a setting, say which they are, and offer to choose the first."""
    draft, first = context.draft, kind_title(section, having[0])
    chosen = kind_title(section, draft.kind(section))

    def choose() -> None:
        draft.set_kind(section, having[0])
        show()

    show_kinds()
    context.notifier.notify(
        f"{chosen} is chosen as {KIND_TITLES[section].lower()}, which does not have this setting.",
        title=f"“{title}” is a setting of {_list_kinds(section, having)}",
        action_text=f"Choose {first}",
        action=choose,
        subject="setting of another kind",
        lasting=True,
    )


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
        open_run(self._context, run)
