"""A question to the engine that is asked again, a moment after what it depends on has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.engine.asker import Asker
from studio.engine.host import EngineHost
from studio.forms.messages import as_full_sentence, as_sentence, with_titles
from studio.forms.waiting import ask_to_mend, name_problem
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import is_setting, split_path
from training.config import RunConfig
from training.errors import Problem
from training.protocol.answers import ClassChoice, DatasetReport, Preview, TablePreview
from training.protocol.messages import InspectDataset, Refusal, SummarizeModel

PreviewT = TypeVar("PreviewT", bound=Preview)

DEBOUNCE = 400  # milliseconds of rest after the last edit

About = Callable[[Draft], tuple[object, object]]
"""Which data an answer is of, and what is learned of it."""


class EngineQuery(QObject, Generic[PreviewT]):
    """Keeps one answer in step with the draft.

    ``sections`` must be right before it is asked; ``depends_on`` gives what the answer depends on, so that another
    learning rate does not read the dataset again. While a new answer is on its way the old one stays, and `busy` is on; one
    that is of other data, or of another target, goes at once (``about``). A refused question is asked again after any change,
    which may be what it takes.

    Signals: `changed()` for answer, refusal, busy and progress alike.
    """

    changed = Signal()

    def __init__(
        self,
        engine: EngineHost,
        request_type: type[InspectDataset | SummarizeModel],
        answer_type: type[PreviewT],
        draft: Draft,
        sections: tuple[str, ...],
        depends_on: Callable[[RunConfig], object],
        about: About,
        parent: QObject | None = None,
        *,
        delay: int = DEBOUNCE,
    ) -> None:
        super().__init__(parent)
        self.answer: PreviewT | None = None
        self.table: TablePreview | None = None  # of a dataset that is one; also while its columns' roles are refused
        self.classes: tuple[ClassChoice, ...] = ()  # all that the data has; also while what is asked of them is refused
        self.notes: list[str] = []  # of the answer, with settings called as the forms call them
        self.refusal = ""
        self.problems: tuple[Problem, ...] = ()  # the settings that the refusal is about
        self.busy = False
        self.unread = False  # the draft has moved away from the answer, or from the refusal
        self.progress: tuple[str, float | None] = ("", None)
        self._request_type, self._answer_type = request_type, answer_type
        self._draft = draft
        self._sections = sections
        self._depends_on = depends_on
        self._about = about
        self._shown = about(draft)
        self._key: object = None  # what the answer, or the one on its way, depends on
        self.asked: RunConfig | None = None  # what the question was, or is, about
        self._refused = False  # by the engine
        self._settling = False
        self._asker = Asker(engine)
        self._active = False
        self._timer = QTimer(self, singleShot=True, interval=delay)
        self._timer.timeout.connect(self._ask_now)
        draft.changed.connect(self.follow)
        draft.looked_again.connect(self._look_again)
        draft.touched.demanded.connect(self.follow)  # what only waited is to be mended

    def set_active(self, active: bool) -> None:
        """Ask only while somebody can see the answer."""
        self._active = active
        if active:
            self._look_again()
        elif self._timer.isActive():
            # Not asked yet: a run that begins now would have to share its cores with the answer.
            self._timer.stop()
            self._key = None
            self.busy = False
            self.changed.emit()

    def find_refusal(self) -> tuple[str, bool]:
        """What stands in place of the answer, and whether it is a fault that nothing else tells: fields say theirs themselves."""
        if any(is_setting(problem.path, self._draft.kind) for problem in self.problems):
            return "Fix the highlighted fields to see a preview.", False
        return self.refusal, self._refused

    def tell_refusal(self) -> tuple[str, bool]:
        """The same for a reader who does not see the fields: with what is wrong in them."""
        wrong = [each for each in self._draft.problems() if split_path(each.path)[0] in self._sections]
        if self._refused or not wrong:
            return self.refusal, self._refused
        return name_problem(wrong[0], self._draft), True

    @property
    def place(self) -> str:
        """Where the data lies that was asked about last; "" for what has no files."""
        return str(getattr(self.asked.dataset, "path", None) or "") if self.asked is not None else ""

    @property
    def in_step(self) -> bool:
        """Whether what is shown was asked with the draft as it stands: its signals come before the question follows it."""
        config = self._draft.usable_config(*self._sections)
        key = None if config is None else self._depends_on(config)
        return not self.unread and not self.busy and key == self._key

    @Slot()
    def _look_again(self) -> None:
        if self._refused:
            self._key = None  # what was wrong may have been put right elsewhere
        self.follow()

    def settle(self, change: Callable[[], None]) -> None:
        """Carry out a change of the draft that says no more than what the answer found, if it is an answer to that draft."""
        self._settling = settles = self.answer is not None and self.in_step
        try:
            change()
        finally:
            self._settling = False
        config = self._draft.usable_config(*self._sections)
        if settles and config is not None:
            self._key, self.asked, self._shown = self._depends_on(config), config, self._about(self._draft)

    def ask_again(self) -> None:
        """Ask although nothing changed (the files may have)."""
        self._key = None
        self.follow()

    def follow(self) -> None:
        """See whether the draft has moved away from the answer."""
        if not self._active or self._settling:
            return
        self._forget_other_data()
        config = self._draft.usable_config(*self._sections)
        if config is None:
            self._drop(ask_to_mend(self._draft, "a preview", *self._sections))
            return
        key = self._depends_on(config)
        if key != self._key:
            self.problems, self.refusal = (), ""  # those of another question
        if key != self._key or (self._refused and config != self.asked):
            if key != self._key:  # and not only asked once more
                self.unread = True
            self._key, self.asked = key, config
            self._asker.forget()
            self._timer.start()
            self.busy = True
            self.changed.emit()

    def _forget_other_data(self) -> None:
        """Show nothing of data, or of a target, that is no longer chosen. A table stays while its file does: what its columns
        are for is what is being asked."""
        about = self._about(self._draft)
        if about == self._shown:
            return
        same_data, self._shown = about[0] == self._shown[0], about
        self.answer, self.notes, self.classes = None, [], ()
        self._key = None  # asked for once more, even where the data turns out to be the same, named otherwise
        self.unread = True
        if self.table is not None:
            self.table = self.table.without_roles() if same_data else None
        self.changed.emit()

    def _ask_now(self) -> None:
        config = self._draft.usable_config(*self._sections)
        if config is None:
            return
        self.asked = config
        self.progress = ("", None)

        def handle_result(answer: PreviewT) -> None:
            refused = answer.refused
            self.problems, self._refused = answer.problems, bool(refused)
            self.answer, self.refusal = (None, self._without_setting(refused)) if refused else (answer, "")
            self.notes = [as_full_sentence(note, self._draft.kind) for note in answer.notes]
            self.table = answer.table if isinstance(answer, DatasetReport) else None
            if isinstance(answer, DatasetReport) and (answer.class_choices or not refused):
                self.classes = answer.class_choices
            self._finish()

        def handle_failure(refusal: Refusal) -> None:
            self.answer, self.table, self.refusal = None, None, self.explain(refusal)
            self.problems, self._refused = settings_blamed(refusal, config), True
            self._finish()

        def show_progress(text: str, fraction: float | None) -> None:
            self.progress = (text, fraction)
            self.changed.emit()

        request = self._request_type(config=config.model_dump(mode="json"))
        self._asker.ask(request, self._answer_type, handle_result, handle_failure, show_progress)

    def _finish(self) -> None:
        self.busy = self.unread = False
        self.changed.emit()

    def _drop(self, why: str) -> None:
        self._timer.stop()
        self._asker.forget()
        self._key, self.problems, self.unread, self._refused = None, (), False, False
        if self.answer is not None or self.refusal != why or self.busy:
            self.answer, self.refusal, self.busy = None, why, False
            self.changed.emit()

    def explain(self, refusal: Refusal) -> str:
        """The refusal for a reader who looks at the very panel: the dotted path of the setting says nothing to them."""
        if len(refusal.problems) == 1:
            return as_sentence(f"{refusal.problems[0].message} {refusal.advice}".strip(), self._draft.kind)
        return with_titles(str(refusal), self._draft.kind)

    def _without_setting(self, sentence: str) -> str:
        """``dataset.targets: the table has`` as ``The table has``, for the same reader."""
        path, colon, message = sentence.partition(": ")
        return as_sentence(message if colon and " " not in path else sentence, self._draft.kind)


_PLACES = ("dataset", "model")  # sections whose file or folder a sentence may begin with


def settings_blamed(refusal: Refusal, config: RunConfig) -> tuple[Problem, ...]:
    """Those that ``refusal`` names. Where it begins with a file or folder instead, the setting that says so; a network of one's
    own that is given arguments may be right but for them, so they are marked in its place."""
    if refusal.problems:
        return refusal.problems
    places = {section: str(getattr(getattr(config, section), "path", None) or "") for section in _PLACES}
    begun = [section for section, place in places.items() if place and refusal.message.startswith(place)]
    if not begun:
        return ()
    section = max(begun, key=lambda each: len(places[each]))  # the file of a network may lie in the folder of the data
    names = [f"arguments.{name}" for name in getattr(getattr(config, section), "arguments", {})] or ["path"]
    return tuple(Problem(f"{section}.{name}", str(refusal)) for name in names)
