"""Logistic and linear regression on the columns of a table: what a model of them has to beat."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from training.data.batching.batches import Data
from training.evaluation.baselines import Predictor, classes_as_columns
from training.evaluation.scores import Columns
from training.facts import DataFacts

_MOST_FEATURES = 2000
_MOST_NUMBERS = 1 << 27
"""Of the training part, categories written out: a gigabyte as float64."""
_PENALTY = 1e-3
"""Of the mean loss, by half the squared weights: scikit-learn's C = 1 for a thousand samples, and a solution where classes can be
told apart without error."""


def suits_regression(facts: DataFacts) -> bool:
    """Whether such data is a table of a few columns, and its target one that a regression is for."""
    few = sum(facts.categories) + len(facts.columns) <= _MOST_FEATURES
    return facts.layout == "vector" and bool(facts.columns) and facts.target in ("class", "values") and few


def answer_linearly(trained: Data, data: Data, part: str, columns: Columns) -> Predictor | None:
    """The regression, fitted to the training part of ``trained``, and what it answers to ``part`` of ``data``. None for data
    that is no table, of tasks that no single regression is for, and of too many columns."""
    facts = data.facts
    width = sum(facts.categories) + len(facts.columns)
    if not suits_regression(facts) or width * len(trained.splits["train"]) > _MOST_NUMBERS or "embedding" in columns:
        return None
    with torch.inference_mode(False), torch.no_grad():
        inputs, targets = _read(trained, "train")
        asked, _ = _read(data, part)
        if facts.target == "values":
            fitted = torch.linalg.lstsq(inputs, targets.double(), driver="gelsd").solution
            answers = {"target": columns["target"], "prediction": (asked @ fitted).numpy()}
            return Predictor("linear regression", answers, "linear regression")
        chances = functional.softmax(asked @ _fit_logistic(inputs, targets.long(), len(facts.names)), dim=1)
        return Predictor("logistic regression", classes_as_columns(chances.numpy(), columns), "logistic regression")


def _read(data: Data, part: str) -> tuple[Tensor, Tensor]:
    """float64 (n, features) with a last one of 1, and the targets, on the CPU."""
    inputs, targets = [], []
    for batch in data.evaluation_batches(part):
        inputs.append(_write_out(batch.inputs.cpu().double(), data.facts))
        targets.append(batch.targets.cpu())
    return torch.cat(inputs), torch.cat(targets)


def _write_out(inputs: Tensor, facts: DataFacts) -> Tensor:
    """Numbers as they are; of a category a column for each code, but the first."""
    parts = []
    for column, codes in enumerate(facts.categories or (0,) * inputs.shape[1]):
        values = inputs[:, column]
        parts.append(
            functional.one_hot(values.long().clamp(0, codes - 1), codes)[:, 1:].double() if codes else values[:, None]
        )
    return torch.cat([*parts, torch.ones(len(inputs), 1, dtype=torch.float64)], dim=1)


def _fit_logistic(inputs: Tensor, targets: Tensor, classes: int) -> Tensor:
    """float64 (features, classes): multinomial logistic regression with an L2 penalty, the last feature's weights left free."""
    weights = torch.zeros(inputs.shape[1], classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, history_size=20, line_search_fn="strong_wolfe")

    def measure() -> Tensor:
        optimizer.zero_grad()
        with torch.enable_grad():
            loss = functional.cross_entropy(inputs @ weights, targets) + 0.5 * _PENALTY * weights[:-1].square().sum()
            loss.backward()
        return loss

    optimizer.step(measure)
    found = weights.detach()
    return found if bool(found.isfinite().all()) else torch.zeros_like(found)
