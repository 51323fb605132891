"""``RunConfig``: everything a run is told."""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from training.config.dataset import Dataset, ShapesDataset
from training.config.engine import Checkpoints, Loader, Loop, Precision
from training.config.fields import Section, setting
from training.config.metrics import metric
from training.config.model import Model, SmallCnn
from training.config.objective import Classification, Objective
from training.config.optimizer import AdamW, Optimizer
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
    def _first_objective_had_no_kind(cls, data: Any) -> Any:
        """Files from the time when classification was the only task do not name it."""
        objective = data.get("objective") if isinstance(data, dict) else None
        if not isinstance(objective, dict) or "kind" in objective:
            return data
        return {**data, "objective": {"kind": "classification", **objective}}

    @property
    def monitor(self) -> str:
        """The metric that decides which checkpoint is best: "val/" and its name."""
        asked = self.checkpoints.monitor
        return f"val/{self.objective.metrics[0]}" if asked == "auto" else asked

    @property
    def maximize(self) -> bool:
        """Whether a higher value of the monitored metric is better."""
        return metric(self.monitor).maximize


SECTIONS = ("dataset", "model", "objective", "optimizer", "schedule", "precision", "loop", "loader", "checkpoints")
