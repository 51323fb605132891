"""What the run's own loss makes of the answers of a simple predictor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from training.config.sections.objective import Distillation, LanguageModel, OwnLoss
from training.config.sections.objective_section import ObjectiveSection
from training.core.losses import pixel_classes
from training.evaluation.baselines import Predictor
from training.evaluation.scores import Columns
from training.facts import IGNORED
from training.objectives import Objective
from training.predictions.record import EvaluationRecord

_NUMBERS = 1 << 22
"""Outputs that are made at a time."""


def with_loss(
    predictor: Predictor,
    record: EvaluationRecord,
    config: ObjectiveSection,
    make: Callable[[], Objective],
    columns: Columns,
) -> Predictor:
    """``predictor`` with its loss on the samples of ``columns``, or with why it has none. ``make`` makes the objective of ``config``, and is
    not called where that says enough."""
    if isinstance(config, OwnLoss):
        return predictor._replace(lossless="a loss of your own is asked of the model's answers alone")
    if isinstance(config, Distillation):
        return predictor._replace(lossless="the loss compares with the teacher's answers, which are not kept")
    if isinstance(config, LanguageModel):
        return _average_tokens(predictor, config)
    objective = make()
    if objective.compares_samples:
        return predictor._replace(lossless="the loss compares samples with each other")
    return predictor._replace(loss=_add_up(predictor, record, config, objective, columns))


def _average_tokens(predictor: Predictor, config: LanguageModel) -> Predictor:
    if config.label_smoothing:
        return predictor._replace(lossless="with label smoothing the loss takes the probabilities of all tokens")
    counted = predictor.columns["target"] != IGNORED
    return predictor._replace(loss=float(predictor.columns["token_loss"][counted].mean()) if counted.any() else None)


def _add_up(
    predictor: Predictor, record: EvaluationRecord, config: ObjectiveSection, objective: Objective, columns: Columns
) -> float | None:
    """As a run's validation adds it up; None where no sample counts."""
    target, outputs, loss = columns["target"], _restore(predictor, record, objective), objective.loss
    size = max(1, _NUMBERS // max(1, int(np.prod(target.shape[1:])) * outputs.shape[1]))
    total, weight = torch.zeros(()), torch.zeros(())
    with torch.inference_mode():
        for start in range(0, len(target), size):
            truth = _read_targets(target[start : start + size], record, int(getattr(config, "ignore_index", IGNORED)))
            some = outputs[start : start + size] if len(outputs) == len(target) else outputs
            answers = torch.from_numpy(np.ascontiguousarray(some, np.float32))
            if record.target == "mask":
                answers = answers[..., None, None].expand(-1, -1, *truth.shape[1:])
            answers = answers.expand(len(truth), *answers.shape[1:])
            total = total + loss.sum(answers, truth).double()
            weight = weight + torch.as_tensor(loss.weigh(truth)).double()
        return float(loss.mean(total, weight)) if bool((weight > 0).all()) else None


def _restore(predictor: Predictor, record: EvaluationRecord, objective: Objective) -> np.ndarray:
    """What a network would have to put out: (n, outputs), or (1, outputs) of answers that are all alike."""
    columns, outputs = predictor.columns, predictor.outputs
    if outputs is None and record.target == "values":
        mean, std = objective.spread or (0.0, 1.0)
        outputs = (np.asarray(columns["prediction"], np.float64) - np.array(mean)) / np.array(std)
    elif outputs is None:
        outputs = columns["scores"]
    alone = objective.outputs == 1 and outputs.shape[1] == 2 and record.target in ("class", "mask")
    return outputs[:, 1:] - outputs[:, :1] if alone else outputs


def _read_targets(target: np.ndarray, record: EvaluationRecord, ignored: int) -> Tensor:
    """As the loss takes them."""
    read = torch.from_numpy(np.array(target))
    if record.target == "class":
        return torch.where(read < 0, ignored, read.long())
    return pixel_classes(read) if record.target == "mask" else read.float()
