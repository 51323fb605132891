"""``RunConfig``: everything a run is told."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from pydantic import model_validator

from training.config.fields import Names, Section, SeedNumber, advanced, setting
from training.config.migrations import migrate
from training.config.sections.checkpoints import Checkpoints
from training.config.sections.data.dataset import Dataset, ShapesDataset
from training.config.sections.loader import Loader
from training.config.sections.loop import Loop
from training.config.sections.model import Model, SmallCnn
from training.config.sections.objective import Classification, Objective
from training.config.sections.objective_section import ObjectiveSection
from training.config.sections.optimizer import WITHOUT_MOMENTUM, AdamW, Optimizer
from training.config.sections.precision import Precision
from training.config.sections.schedule import OneCycle, Schedule
from training.core.batch_plan import BatchPlan
from training.errors import InputError, pluralize
from training.metric_names import metric

LONGEST_NAME = 80


class RunConfig(Section):
    """A whole run. With nothing given it is the built-in sample: synthetic shapes and a small CNN."""

    name: str = setting(
        "shapes",
        "Name",
        "What the run is called in lists and folders.",
        min_length=1,
        max_length=LONGEST_NAME,
        # No control characters, line separators or marks that turn the direction of writing; not only blanks.
        pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*[^\x00-\x20\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
        r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$",
    )
    seed: SeedNumber = setting(
        0, "Seed", "Decides initial weights, order and augmentation: one seed, one run.", also="random_state"
    )
    deterministic: bool = advanced(
        False,
        "Deterministic algorithms",
        "On a GPU use only algorithms that repeat to the bit (torch.use_deterministic_algorithms); a little slower. The CPU "
        "always repeats.",
        also="deterministic kernels",
    )
    muted_findings: Names = advanced(
        (),
        "Muted findings",
        "Codes of findings that are no problem in this run, such as table.identifier, or of one column alone: table.identifier:zip. "
        "Check leaves them out; errors are always told.",
        also="ignore warnings not a problem here",
        placeholder="none",
        strict=False,
        max_length=1000,
        affects_result=False,
    )
    dataset: Dataset = setting(ShapesDataset(), "Dataset", "Where the samples come from.")
    model: Model = setting(SmallCnn(), "Model", "The network.")
    objective: Objective = setting(
        Classification(), "Task & loss", "The task and its loss.", also="objective criterion"
    )
    optimizer: Optimizer = setting(AdamW(), "Optimizer", "How gradients change the weights.")
    schedule: Schedule = setting(OneCycle(), "LR scheduler", "The learning rate over steps.", also="schedule")
    precision: Precision = setting(Precision(), "Precision", "Number formats and the device.")
    loop: Loop = setting(Loop(), "Training loop", "How long, how large, and the safety net.")
    loader: Loader = setting(Loader(), "Data loading", "How batches are prepared.", also="loader")
    checkpoints: Checkpoints = setting(Checkpoints(), "Checkpoints", "When to save.")

    @model_validator(mode="before")
    @classmethod
    def _task_of_the_data(cls, data: Any) -> Any:
        """Who names no task means the one that goes with the data, as far as the settings tell which that is, and otherwise
        classification, which was the only one once."""
        objective = data.get("objective", {}) if isinstance(data, dict) else None
        if not isinstance(objective, dict) or "kind" in objective:
            return data
        return {**data, "objective": {"kind": _usual_task(data.get("dataset")), **objective}}

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_version(cls, data: Any) -> Any:
        return migrate(data) if isinstance(data, Mapping) else data

    @model_validator(mode="before")
    @classmethod
    def _no_momentum_to_cycle(cls, data: Any) -> Any:
        """Who does not say whether momentum is cycled, with an optimizer that has none, does not mean the default."""
        if not isinstance(data, dict):
            return data
        optimizer, schedule = data.get("optimizer"), data.get("schedule", {"kind": "one_cycle"})
        chosen = optimizer.get("kind") if isinstance(optimizer, dict) else getattr(optimizer, "kind", None)
        if chosen not in WITHOUT_MOMENTUM:
            return data
        if isinstance(schedule, OneCycle) and "cycle_momentum" not in schedule.model_fields_set:
            return {**data, "schedule": schedule.model_copy(update={"cycle_momentum": False})}
        if isinstance(schedule, dict) and schedule.get("kind") == "one_cycle":
            return {**data, "schedule": {"cycle_momentum": False, **schedule}}
        return data

    @property
    def monitor(self) -> str:
        """The metric that decides which checkpoint is best: "val/" and its name."""
        asked = self.checkpoints.monitor
        return f"val/{self.objective.metrics[0]}" if asked == "auto" else asked

    @property
    def maximize(self) -> bool:
        """Whether a higher value of the monitored metric is better."""
        return metric(self.monitor).maximize

    def add_to_name(self, suffix: str) -> RunConfig:
        """Itself under its name with ``suffix`` behind it, cut to the longest there may be."""
        return self.model_copy(update={"name": f"{self.name[: LONGEST_NAME - len(suffix) - 1]} {suffix}"})

    def plan_epoch(self, samples: int) -> BatchPlan:
        """How an epoch of so many training samples is cut. Raises InputError where ``loader.drop_last`` leaves no batch."""
        loop, drop_last = self.loop, self.loader.drop_last
        if drop_last and samples < loop.batch_size:
            raise InputError(
                f"loader.drop_last: no batch is left, because {pluralize(samples, 'training sample')} fill none of "
                f"{loop.batch_size:,}; turn it off, or lower loop.batch_size.",
                fix={"loader.drop_last": False},
            )
        return BatchPlan.of_samples(samples, loop.batch_size, loop.accumulation, drop_last)


SECTIONS = ("dataset", "model", "objective", "optimizer", "schedule", "precision", "loop", "loader", "checkpoints")


@cache
def alternatives(section: str) -> Mapping[str, type[Section]]:
    """The classes that may stand in ``section``, by their ``kind`` ("" for a section without choices)."""
    annotation = RunConfig.model_fields[section].annotation
    every = get_args(annotation) or (annotation,)
    classes = [each for each in every if isinstance(each, type) and issubclass(each, Section)]
    return {each.model_fields["kind"].default if "kind" in each.model_fields else "": each for each in classes}


def task_kinds() -> dict[str, type[ObjectiveSection]]:
    """The classes that may stand in ``objective``, by their ``kind``."""
    return {kind: task for kind, task in alternatives("objective").items() if issubclass(task, ObjectiveSection)}


def _usual_task(dataset: Any) -> str:
    """The first kind of task for what there is to learn of ``dataset``, a section that nobody has checked yet."""
    if isinstance(dataset, dict):
        section = alternatives("dataset").get(str(dataset.get("kind")))
        if section is None:
            return "classification"
        dataset = section.model_construct(**{name: dataset[name] for name in section.model_fields if name in dataset})
    target = getattr(dataset, "target", None)
    return next((kind for kind, task in task_kinds().items() if target in task.takes), "classification")
