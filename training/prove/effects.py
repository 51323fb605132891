"""What settings act on, as far as it decides where both arms begin and what of them can be compared. No torch here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from training.config.diff import Change, diff, telling
from training.config.rules.effects import Effect, effect_of
from training.config.run import RunConfig
from training.errors import InputError
from training.metric_names import title_of
from training.runs.fork import FROM_START, tell_start
from training.runs.resume_plan import is_laid_out

_AT_START: frozenset[Effect] = FROM_START | {"windows"}
"""What a checkpoint does not fit, or what was decided before it."""
_OF_NO_STEP: frozenset[Effect] = frozenset({"none", "name", "place", "device", "judging", "ending"})
_UNSEEN: frozenset[str] = frozenset(
    {
        "data.conflicting_labels",
        "eval.random",
        "label.suspect",
        "split.duplicates",
        "split.near_duplicates",
        "split.time_or_group",
        "table.identifier",
        "table.target_leak",
        "val.too_good",
    }
)
"""Findings that say that the metrics are not what they seem: they get worse when they become true."""


class Effects:
    """Of the settings ``after`` where they are others than ``before``."""

    def __init__(self, before: RunConfig, after: RunConfig) -> None:
        self.changes: Sequence[Change] = telling(diff(before, after))
        self._before, self._after = before, after
        self._of = {change.path: effect_of(change) for change in self.changes}

    def refuse(self, code: str) -> None:
        """Raise InputError where k steps can show nothing of them. ``code`` is that of the finding, "" without one."""
        if not self.changes:
            raise InputError("The run has these settings already, so there is nothing to compare.")
        if code in _UNSEEN:
            raise InputError(
                f"{code}: it says that the metrics are better than they should be, and a cure makes them worse: steps with it and "
                "without it prove nothing.",
                "Apply what it proposes, and train again.",
            )
        idle = [path for path, effect in self._of.items() if effect in _OF_NO_STEP or self._is_length(effect)]
        if len(idle) == len(self._of):
            raise InputError(
                f"{', '.join(idle)}: no step depends on that, only how long the run is or what is measured, so there is nothing to "
                "compare in some steps.",
                "Train with it to see what it brings.",
            )
        if "seed" in self._of:
            raise InputError("seed: is another order of the data; a proof compares several of them by itself.")
        if not self.find_metric() and not self.compares_losses:
            raise InputError(
                "Both losses are of different kinds, and no metric is of both tasks: nothing can be compared."
            )

    def _is_length(self, effect: Effect) -> bool:
        return effect == "length" and not (is_laid_out(self._before) or is_laid_out(self._after))

    def find_start(self) -> str:
        """Why both arms have to begin at step 0; "" where they can begin at a checkpoint."""
        return tell_start(self.changes, _AT_START)

    @property
    def compares_losses(self) -> bool:
        """Whether a training loss of both arms is the same function of the same samples."""
        return not any(
            effect in ("loss", "data", "augmentation") or path.endswith((".dropout", ".drop_path_rate"))
            for path, effect in self._of.items()
        )

    @property
    def regularizes(self) -> bool:
        """Whether a higher training loss may be what they are for."""
        return not self.compares_losses or any(path.endswith("weight_decay") for path in self._of)

    @property
    def same_batches(self) -> bool:
        """Whether each step sees the same samples in both arms."""
        return not any(effect in ("windows", "data") for effect in self._of.values())

    @property
    def same_loss(self) -> bool:
        """Whether the loss of a validation is the same function of the network's answers."""
        return "loss" not in self._of.values()

    def find_metric(self) -> str:
        """The metric that decides: the one that the run watches, or where that is a loss of another kind now, the first that both
        tasks have; "" where they have none in common."""
        asked = self._before.monitor
        if self.same_loss or asked != "val/loss":
            return asked
        names = [name for name in self._before.objective.metrics if name in self._after.objective.metrics]
        return next((f"val/{name}" for name in names if name != "loss"), "")

    def notes(self) -> Iterator[str]:
        """What of both arms is not compared, and why."""
        if not self.same_loss:
            yield "The loss is another one with the new settings, so only metrics are compared."
        elif not self.compares_losses:
            yield "The training loss is of other samples, or of another network, with the new settings, so it is not compared."
        if not self.same_batches:
            yield "The arms do not see the same batches, because the new settings cut or choose them otherwise."
        if (metric := self.find_metric()) and metric != self._before.monitor:
            yield f"{title_of(metric)} decides, because {self._before.monitor} is another loss now."
