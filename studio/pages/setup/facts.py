"""What is known about the run that is being prepared: the answers of the engine, and what follows from them."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from studio.engine.host import EngineHost
from studio.pages.setup.question import DEBOUNCE, Question
from studio.pages.setup.run_length import RunLength, run_length
from studio.state.draft import Draft
from training.config import RunConfig
from training.config.optimizer_state import GROUPING
from training.config.task import task_problems
from training.errors import ConfigError, Problem
from training.schedules import make_schedule


def _dataset_key(config: RunConfig) -> object:
    return (config.dataset, config.seed)


def _model_key(config: RunConfig) -> object:
    optimizer = config.optimizer  # how it groups the parameters is part of the answer
    grouping = [getattr(optimizer, name, None) for name in GROUPING]
    return (config.dataset, config.model, config.objective, optimizer.kind == "muon", grouping)


class Facts(QObject):
    """Signals: `changed()` when anything known has changed, the draft included."""

    changed = Signal()

    def __init__(self, engine: EngineHost, draft: Draft, parent: QObject, *, delay: int = DEBOUNCE) -> None:
        super().__init__(parent)
        self.draft = draft
        self.dataset = Question(engine.inspect_dataset, draft, ("dataset",), _dataset_key, self, delay=delay)
        built_of = ("dataset", "model", "objective")
        self.model = Question(engine.summarise_model, draft, built_of, _model_key, self, delay=delay)
        self._set_problems: tuple[Problem, ...] = ()
        for question in (self.dataset, self.model):
            question.changed.connect(self._on_changed)
        draft.changed.connect(self._on_changed)

    def set_active(self, active: bool) -> None:
        """Ask only while the page can be seen."""
        self.dataset.set_active(active)
        self.model.set_active(active)

    def ask_again(self) -> None:
        """Look at the files again."""
        self.dataset.ask_again()
        self.model.ask_again()

    @property
    def samples(self) -> int | None:
        """How many samples are trained on; None while the dataset has not been read."""
        return None if self.dataset.answer is None else int(self.dataset.answer["samples"]["train"])

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
            try:
                make_schedule(config.schedule, config.optimizer.lr, length.total_steps)
            except ConfigError as error:
                found = error.problems
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
        if answer is None or config is None or config.dataset.target is not None:
            return []
        known = task_problems(config)
        return [problem for problem in task_problems(config, answer.get("target")) if problem not in known]
