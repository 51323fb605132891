"""What is known about the run that is being prepared: the answers of the engine, and what follows from them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.pages.setup.previews.run_length import RunLength, run_length
from studio.panels.data.engine_query import DEBOUNCE, EngineQuery
from studio.panels.data.look import data_chosen, look_at_data
from studio.state.context import AppContext
from studio.state.drafts.draft import Draft
from studio.state.formats import kind_title
from training.config import RunConfig
from training.config.fields import join_names
from training.config.rules.optimizer_state import GROUPING
from training.config.rules.schedule_problems import duration_problems
from training.config.rules.task import task_problems
from training.errors import Problem
from training.protocol.answers import ModelSummary
from training.protocol.messages import SummarizeModel
from training.system.untrusted import escape_unprintable

_LONGEST = 60  # letters of what is being read


def _network_chosen(draft: Draft) -> tuple[object, object]:
    return (*data_chosen(draft), draft.kind("model")), draft.kind("objective")


def _model_key(config: RunConfig) -> object:
    optimizer = config.optimizer  # how it groups the parameters is part of the answer
    grouping = [getattr(optimizer, name, None) for name in GROUPING]
    return (config.dataset, config.model, config.objective, optimizer.kind == "muon", grouping)


class PreviewModel(QObject):
    """Signals: `changed()` when anything known has changed, the draft included."""

    changed = Signal()

    def __init__(self, context: AppContext, parent: QObject, *, delay: int = DEBOUNCE) -> None:
        super().__init__(parent)
        engine, draft = context.engine, context.draft
        self.draft = draft
        self.look = look_at_data(context, delay)
        self.dataset = self.look.question
        built_of = ("dataset", "model", "objective")
        self.model = EngineQuery(
            engine, SummarizeModel, ModelSummary, draft, built_of, _model_key, _network_chosen, self, delay=delay
        )
        self._set_problems: tuple[Problem, ...] = ()
        for question in (self.dataset, self.model):
            question.changed.connect(self._on_changed)
        draft.changed.connect(self._on_changed)
        draft.touched.demanded.connect(self.changed)

    def set_active(self, active: bool) -> None:
        """Ask only while the page can be seen."""
        self.look.set_active("setup", active)
        self.model.set_active(active)

    def ask_again(self) -> None:
        """Look at the files again."""
        self.dataset.ask_again()
        self.model.ask_again()

    def find_awaited(self) -> str:
        """What Start waits for: whoever chose a column of a file should have seen what it holds. Data that is made on the spot is
        what the form says."""
        config = self.draft.usable_config("dataset")
        if config is None or not self.dataset.unread or not hasattr(config.dataset, "path"):
            return ""
        targets, place = getattr(config.dataset, "targets", ()), config.dataset.path
        what = join_names(list(targets)) if isinstance(targets, tuple) else ""
        what = what or (Path(place).name if place else kind_title("dataset", config.dataset.kind))
        return f"Reading the preview of {escape_unprintable(what, _LONGEST)} …"

    @property
    def samples(self) -> int | None:
        """How many samples are trained on; None while the dataset has not been read."""
        return None if self.dataset.answer is None else self.dataset.answer.samples["train"]

    def count_classes(self) -> int | None:
        """How many classes the data has; None while it has not been read, or where a sample has not one class."""
        answer = None if self.dataset.unread else self.dataset.answer
        return len(answer.classes) if answer is not None and answer.target == "class" else None

    def length(self) -> RunLength | None:
        """How long the run will be; None while the settings that decide it are wrong."""
        config = self.draft.usable_config("loop")
        return run_length(config, self.samples) if config is not None else None

    def _on_changed(self) -> None:
        self._mark_settings()
        self.changed.emit()

    def _mark_settings(self) -> None:
        """What can only be said once the data was looked at: whether the schedule fits the run and the task the target, and
        what the engine refused to read or to build."""
        found: tuple[Problem, ...] = ()
        length = self.length()
        config = self.draft.usable_config("schedule", "optimizer", "loop")
        if config is not None and length is not None and not length.assumed:
            found = tuple(duration_problems(config.schedule, length.total_steps, length.steps_per_epoch))
        found = (*found, *self._misfits())
        for problem in (*self.dataset.problems, *self.model.problems):
            if problem.path not in [each.path for each in found]:
                found = (*found, problem)
        # What the engine itself refused stays until the next edit; only our own finding is taken back.
        if found or (self._set_problems and self.draft.engine_problems() == self._set_problems):
            self._set_problems = found
            self.draft.set_engine_problems(found)

    def _misfits(self) -> list[Problem]:
        """What does not go with the target, where only the data itself tells what that is."""
        answer = self.dataset.answer
        config = self.draft.usable_config("dataset", "model", "objective", "loader", "checkpoints")
        if answer is None or self.dataset.unread or config is None or config.dataset.target is not None:
            return []
        known = list(task_problems(config))
        return [problem for problem in task_problems(config, answer.target) if problem not in known]
