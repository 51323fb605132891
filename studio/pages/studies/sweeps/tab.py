"""The Sweeps tab: the sweeps of the workspace beside the one that is looked at."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog

from studio.forms.messages import title_of
from studio.pages.studies.set_list import SetRow
from studio.pages.studies.set_tab import SetTab, TabWords
from studio.pages.studies.sweeps.detail import SweepDetail
from studio.pages.studies.sweeps.names import SettingNames
from studio.pages.studies.sweeps.new_dialog import NewSweepDialog
from studio.pages.studies.words import name_state
from studio.state.context import AppContext
from studio.state.sweeps.sweep_list import KnownSweep
from studio.theme import SPACING
from studio.widgets import Banner, in_widget, vbox
from training.config.diff import Change
from training.errors import InputError, pluralize
from training.sweeps.optuna_study import require_optuna


class SweepsTab(SetTab):
    """What there is, and what can be done with it."""

    words = TabWords(
        "sweep",
        "sweeps",
        "sliders",
        "A sweep trains many runs with other settings and shows which of them are better. Choose “Sweep this setting” from the menu of any setting "
        "on Setup, or begin here.",
        "Every sweep of this workspace, with its trials.",
    )

    def __init__(self, context: AppContext) -> None:
        sweeps, detail = context.sweeps, SweepDetail(context)
        super().__init__(context, sweeps.list, sweeps.job, detail)
        self.detail = detail
        self.prepared = Banner("info", "", closable=False)
        self.prepared.add_action(self._new_text, lambda: self.open_new(""), variant="primary")
        self.prepared.add_action("Take all out", self._take_all_out)
        self._above = in_widget(vbox(self.prepared, margins=(SPACING.l, SPACING.l, SPACING.l, 0)))
        self.room.insertWidget(0, self._above)
        detail.head.removed.connect(lambda _sweep: self.setFocus())
        detail.changed.connect(sweeps.list.refresh)
        context.studies.busy_changed.connect(self._update)
        context.draft.swept.changed.connect(self._show_prepared)
        self._show_prepared()
        self._show()

    def _row_of(self, found: KnownSweep) -> SetRow:
        state, tone = name_state(found.state, found.fraction, found.sweep.path, self._job)
        names = SettingNames(found.sweep.space, found.base)
        varied = ", ".join(names.titles.values()) or found.id
        problem = found.problem if found.is_told else found.problem.partition(": ")[2]  # not its long path
        said = names.say(problem) or " · ".join(filter(None, (found.count, found.best)))
        return SetRow(found.id, found.title, state, tone, varied, said)

    def _show_one(self, found: KnownSweep) -> None:
        self.detail.show_sweep(found)

    def open_new(self, wanted: str) -> None:
        """Prepare a sweep of the draft, and show it once it was made."""
        base = self._context.draft.config()
        if base is None:
            self._context.notifier.notify(self._wrong, "warning")
            return
        dialog = NewSweepDialog(self._context, base, self.window())
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        dialog.deleteLater()
        if not accepted or dialog.made is None:
            return
        self.rows.choose(dialog.made.id)
        if dialog.is_to_start and (problem := self._context.sweeps.begin(dialog.made)):
            self._context.notifier.notify(problem, "warning")
        self._found.refresh()

    def _say_nothing(self) -> None:
        try:
            require_optuna()
        except InputError as error:
            self.empty.set_content("warning", "Sweeps need Optuna", str(error))
        else:
            super()._say_nothing()

    @Slot()
    def _show_prepared(self) -> None:
        """Which settings were put into the sweep that is to come."""
        draft = self._context.draft
        paths = list(draft.swept.texts)
        titles = [title_of(Change(path, None, None), draft.kind) for path in paths]
        self._above.setVisible(bool(paths))
        self.prepared.set_message(f"{pluralize(len(paths), 'setting')} in the sweep being prepared", ", ".join(titles))

    def _take_all_out(self) -> None:
        swept = self._context.draft.swept
        before = swept.texts
        swept.clear()

        def undo() -> None:
            for path, text in before.items():
                swept.put(path, text)

        self._context.notifier.notify("No setting is in the sweep any more.", action_text="Undo", action=undo)
