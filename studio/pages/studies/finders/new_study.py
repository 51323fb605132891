"""A new study: of what Setup holds now, of which kind, told how, and what it will take before it begins."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QWidget

from studio.forms.kinds.card import KindCard
from studio.forms.messages import kinds_of
from studio.pages.studies.finders.kinds import list_choices
from studio.pages.studies.finders.option_form import OptionForm
from studio.pages.studies.words import describe_config, in_words
from studio.state.context import AppContext
from studio.theme import SPACING, set_role
from studio.widgets import (
    STRETCH,
    ProgressLine,
    button,
    hbox,
    in_widget,
    label,
    make_breakable,
    resize_within_parent,
    scroll_area,
    separator,
    vbox,
)
from training.config import RunConfig
from training.errors import TrainingError
from training.studies.folder import StudyFolder
from training.studies.records import Kind

_SIZE = 880, 660
_CARDS = 330
MEASURE, BEGIN = "What will it take?", "Start study"
_MEASURING = "Measuring some steps …"


class NewStudyDialog(QDialog):
    """Of ``config``, which stays as it is now. What is planned and not begun is removed again.

    Signals:
        begun(StudyFolder): this one was begun.
    """

    begun = Signal(object)

    def __init__(self, context: AppContext, config: RunConfig, kind: Kind, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("New study")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._context, self._studies, self.config = context, context.studies, config
        self.kind: Kind = kind
        self.planned: StudyFolder | None = None
        self._refusal = ""
        self._told = ""  # what is planned, in its own words
        self._cards: dict[str, KindCard] = {}
        for choice in list_choices(config):
            card = self._cards[choice.kind] = KindCard()
            card.set_choice(choice)
            card.clicked.connect(lambda _on=False, kind=choice.kind: self.choose(kind))
        self._options = vbox()
        self._forms: dict[Kind, OptionForm] = {}  # each with what was typed there
        self.form = self._take_form(kind)
        self.words = label("", wrap=True, selectable=True)
        self.progress = ProgressLine()
        self.problem = label("", "problem", wrap=True, selectable=True)
        self.measure = button(MEASURE, "clock", "primary", clicked=self._measure)
        self.start = button(BEGIN, "play", "primary", clicked=self._begin)
        self.stop = button("Stop measuring", "stop", clicked=self._studies.query.cancel)
        self.close_button = button("Cancel", clicked=self.reject)
        self._lay_out()
        self._studies.query.planned.connect(self._on_planned)
        self._studies.query.refused.connect(self._on_refused)
        self._studies.busy_changed.connect(self._update)
        self.finished.connect(self._leave)
        context.start_problem_changed.connect(self._update)
        resize_within_parent(self, *_SIZE)
        self.choose(kind)

    def _lay_out(self) -> None:
        name = make_breakable(f"Of “{self.config.name}” as it is in Setup now")
        cards = in_widget(vbox(*self._cards.values(), STRETCH, spacing=SPACING.xs))
        cards.setFixedWidth(_CARDS)
        options = in_widget(vbox((self._options, 1), margins=(SPACING.l, 0, SPACING.s, 0)))
        body = scroll_area(in_widget(hbox(cards, (options, 1), spacing=SPACING.s)), "New study")
        takes = vbox(self.words, self.progress, self.problem, spacing=SPACING.s)
        vbox(
            label(name, "section", wrap=True),
            label(make_breakable(describe_config(self.config)), "help", wrap=True),
            (body, 1),
            separator(),
            takes,
            hbox(STRETCH, self.stop, self.measure, self.start, self.close_button),
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l),
        )

    @Slot(str)
    def choose(self, kind: Kind) -> None:
        """Another kind."""
        if self._studies.query.is_busy:
            return
        self._drop_plan()
        self.kind = kind
        for name, card in self._cards.items():
            card.set_marked("current" if name == kind else "")
        self.form.hide()
        self.form = self._take_form(kind)
        self.form.show()
        self._update()

    def _take_form(self, kind: Kind) -> OptionForm:
        if kind not in self._forms:
            form = self._forms[kind] = OptionForm(kind, self.config)
            form.changed.connect(self._on_edited)
            self._options.addWidget(form)
        return self._forms[kind]

    @Slot()
    def _on_edited(self) -> None:
        self._drop_plan()
        self._update()

    def _drop_plan(self) -> None:
        """What is asked for is something else now."""
        self._refusal = ""
        if self.planned is not None:
            self._studies.discard(self.planned)
            self.planned = None

    # ------------------------------------------------------------------------------------------ planning

    @Slot()
    def _measure(self) -> None:
        if self.form.find_problem() or self._studies.find_obstacle():
            return
        self._drop_plan()
        try:
            self._studies.query.start(self.kind, self.config, self.form.words())
        except (TrainingError, OSError) as error:
            self._refusal = str(error)
        self._update()

    @Slot(object)
    def _on_planned(self, study: StudyFolder) -> None:
        if not self.isVisible():
            self._studies.discard(study)
            return
        try:
            self._told = in_words("\n".join(study.plan().words), kinds_of(self.config))
        except TrainingError as error:
            self._refusal = str(error)
        else:
            self.planned = study
        self._update()

    @Slot(str)
    def _on_refused(self, said: str) -> None:
        self._refusal = in_words(said, kinds_of(self.config))
        self._update()

    @Slot()
    def _begin(self) -> None:
        if self.planned is None:
            return
        if self._studies.begin(self.planned):
            self._update()  # says why it cannot begin now
            return
        study, self.planned = self.planned, None
        self.begun.emit(study)
        self.accept()

    @Slot()
    def _update(self) -> None:
        """Say what it takes, or why that cannot be told, and offer what can be done."""
        measuring = self._studies.query.is_busy
        plan = self.planned
        obstacle = "" if measuring else self._studies.find_obstacle()
        wrong = self._cards[self.kind].choice.reason or self.form.find_problem()
        told = "" if plan is None else self._told
        if not (told or measuring or obstacle or self._refusal):
            told = "Some steps are measured first, to tell how long it takes and what it needs of the disk. Nothing begins yet."
        self.words.setText(make_breakable(told))
        set_role(self.words, "body" if plan is not None else "help")
        self.words.setVisible(bool(told))
        self.progress.setVisible(measuring)
        self.progress.set_progress(None if measuring else 0.0, _MEASURING if measuring else "")
        self.problem.setText(make_breakable(obstacle or self._refusal))
        set_role(self.problem, "help" if obstacle else "problem")
        self.problem.setVisible(bool(self.problem.text()))
        self.stop.setVisible(measuring)
        self.measure.setVisible(not measuring and plan is None)
        self.measure.setEnabled(not (wrong or obstacle))
        self.measure.setToolTip(obstacle or wrong)
        self.start.setVisible(plan is not None)
        self.start.setEnabled(not obstacle)
        self.start.setToolTip(obstacle)
        self.form.setEnabled(not measuring)
        for card in self._cards.values():
            card.setEnabled(not (measuring or card.choice.reason))
        (self.start if plan is not None else self.measure).setDefault(True)

    @Slot()
    def _leave(self) -> None:
        self._studies.query.cancel()
        self._drop_plan()
