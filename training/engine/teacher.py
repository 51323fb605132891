"""The trained network that a run which distils learns from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from training.checkpoints.trained import Trained, load_trained
from training.config import RunConfig
from training.config.objective import Distillation
from training.data.normalise import Normalisation
from training.errors import CheckpointError, ConfigError, InputError
from training.facts import DataFacts
from training.objectives.distillation import with_answers
from training.runs.manifest import MANIFEST, digest
from training.runs.workspace import teacher_checkpoint

_TASKS = ("classification", "distillation")


class Teacher:
    """Answers to a run's inputs with its logits: frozen, in evaluation mode, in float32, no part of the run's weights.

    ``digest`` is the SHA-256 of its checkpoint's manifest, which holds those of its weights.
    """

    def __init__(self, trained: Trained, facts: DataFacts, normalisation: Normalisation, device: torch.device) -> None:
        """Raises InputError where it learnt other classes, or from samples of another form, than ``facts`` says."""
        _refuse_misfit(trained, facts)
        self.checkpoint = trained.checkpoint
        self.digest = digest(trained.checkpoint / MANIFEST)
        self._model: nn.Module = trained.model.to(device).requires_grad_(False)
        self._between = _between(normalisation, trained.normalisation, device)

    @torch.no_grad()
    def logits(self, inputs: Tensor) -> Tensor:
        """float32 (n, classes) from the inputs as the run normalises them."""
        if self._between is not None:
            scale, shift = self._between
            inputs = inputs * scale + shift
        logits: Tensor = self._model(inputs)
        return logits

    def complete(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The targets of a run that distils, from those of its data (``objectives.distillation.with_answers``)."""
        return with_answers(targets, self.logits(inputs))

    def record(self) -> dict[str, str]:
        """Which it is, as JSON can hold it."""
        return {"checkpoint": str(self.checkpoint), "digest": self.digest}


def make_teacher(
    config: RunConfig, facts: DataFacts, normalisation: Normalisation, device: torch.device
) -> Teacher | None:
    """The teacher that ``config`` names; None where the task needs none. Raises InputError, naming the setting, when it
    cannot be used."""
    if not isinstance(config.objective, Distillation):
        return None
    checkpoint = teacher_checkpoint(Path(config.objective.teacher))
    try:
        trained = load_trained(checkpoint)
    except ConfigError as error:  # its own settings cannot be used, such as code that nobody agreed to run
        reasons = "; ".join(problem.message for problem in error.problems)
        raise InputError(f"objective.teacher: the network of {checkpoint}: {reasons}") from error
    except CheckpointError as error:
        raise InputError(f"objective.teacher: {error.message}", error.advice) from error
    return Teacher(trained, facts, normalisation, device)


def _refuse_misfit(trained: Trained, facts: DataFacts) -> None:
    theirs, kind = trained.facts, trained.config.objective.kind
    where = f"objective.teacher: {trained.checkpoint}"
    if kind not in _TASKS:
        raise InputError(f"{where} was trained for {kind}; choose one that was trained for classification.")
    if theirs.names != facts.names:
        few = ", ".join(facts.names[:5]) + (", ..." if len(facts.names) > 5 else "")
        raise InputError(
            f"{where} learnt other classes ({len(theirs.names)}, the first {theirs.names[0]}) than the data has "
            f"({len(facts.names)}: {few}); choose one that learnt these, in this order."
        )
    if (theirs.layout, theirs.shape) != (facts.layout, facts.shape):
        raise InputError(
            f"{where} takes samples of shape {_sides(theirs)}, but the data has {_sides(facts)}; choose another, or read the "
            "data in that shape."
        )
    if (theirs.columns, theirs.codes) != (facts.columns, facts.codes):
        raise InputError(f"{where} knows other columns or categories than the data has; choose one trained on these.")


def _sides(facts: DataFacts) -> str:
    return " x ".join(str(side) for side in facts.shape)


def _between(ours: Normalisation, theirs: Normalisation, device: torch.device) -> tuple[Tensor, Tensor] | None:
    """Factor and summand, shaped for a batch, that make of inputs normalised by ``ours`` such by ``theirs``: (x * std + mean
    - their mean) / their std. None where both are the same."""
    if replace(ours, missing=False) == replace(theirs, missing=False):
        return None
    (mean, std), (their_mean, their_std) = (
        torch.tensor([each.mean, each.std], dtype=torch.float64) for each in (ours, theirs)
    )
    shape = (1, -1, 1, 1) if ours.layout == "image" else (-1,)
    scale, shift = std / their_std, (mean - their_mean) / their_std
    return scale.float().view(shape).to(device), shift.float().view(shape).to(device)
