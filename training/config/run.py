"""``RunConfig``: everything a run is told."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import model_validator

from training.config.dataset import Dataset, ShapesDataset
from training.config.engine import Checkpoints, Loader, Loop, Precision
from training.config.fields import Section, setting
from training.config.metrics import metric
from training.config.model import Model, SmallCnn
from training.config.objective import Classification, Objective
from training.config.optimizer import WITHOUT_MOMENTUM, AdamW, Optimizer
from training.config.schedule import OneCycle, Schedule


class RunConfig(Section):
    """A whole run. With nothing given it is the built-in sample: drawn shapes and a small CNN."""

    name: str = setting(
        "shapes",
        title="Name",
        help="What the run is called in lists and folders.",
        min_length=1,
        max_length=80,
        # No control characters, line separators or marks that turn the direction of writing; not only blanks.
        pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*[^\x00-\x20\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
        r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$",
    )
    seed: int = setting(
        0,
        title="Seed",
        help="Decides initial weights, order and variation. The same seed gives the same run.",
        ge=0,
        le=2**31 - 1,
    )
    deterministic: bool = setting(
        False,
        title="Deterministic kernels",
        help="On a GPU use only kernels that repeat to the bit; a little slower. The processor always repeats.",
        advanced=True,
    )
    dataset: Dataset = setting(ShapesDataset(), title="Dataset", help="Where the samples come from.")
    model: Model = setting(SmallCnn(), title="Model", help="The network.")
    objective: Objective = setting(Classification(), title="Objective", help="The task and its loss.")
    optimizer: Optimizer = setting(AdamW(), title="Optimizer", help="How gradients change the weights.")
    schedule: Schedule = setting(OneCycle(), title="Schedule", help="The learning rate over steps.")
    precision: Precision = setting(Precision(), title="Precision", help="Number formats and the device.")
    loop: Loop = setting(Loop(), title="Loop", help="How long, how large, and the safety net.")
    loader: Loader = setting(Loader(), title="Loader", help="How batches are prepared.")
    checkpoints: Checkpoints = setting(Checkpoints(), title="Checkpoints", help="When to save.")

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


def _usual_task(dataset: Any) -> str:
    """The first kind of task for what there is to learn of ``dataset``, a section that nobody has checked yet."""
    if isinstance(dataset, dict):
        section = next(
            (each for each in _kinds(Dataset) if each.model_fields["kind"].default == dataset.get("kind")), None
        )
        if section is None:
            return "classification"
        dataset = section.model_construct(**{name: dataset[name] for name in section.model_fields if name in dataset})
    target = getattr(dataset, "target", None)
    return next(
        (task.model_fields["kind"].default for task in _kinds(Objective) if target in task.takes), "classification"
    )


def _kinds(union: Any) -> tuple[Any, ...]:
    """The sections that may stand there."""
    return get_args(get_args(union)[0])


SECTIONS = ("dataset", "model", "objective", "optimizer", "schedule", "precision", "loop", "loader", "checkpoints")
