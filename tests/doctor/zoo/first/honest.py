"""What a trained network is worth where it is used: rows that come one at a time, letters with no later ones at hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import torch
from torch.nn import functional

from tests.doctor.zoo.draws import draw_flowers, draw_text
from tests.doctor.zoo.trial import Trial, surroundings
from training import load_model, predict
from training.answering.model import UsableModel

FRESH = 4242
"""The seed of samples that no run has seen."""


@contextmanager
def trained(trial: Trial) -> Iterator[UsableModel]:
    """The best checkpoint of ``trial``."""
    assert trial.run is not None
    with patch.dict("os.environ", surroundings(trial.folder)):
        yield load_model(trial.run, trust=True)


def accuracy_one_by_one(trial: Trial) -> float:
    """On new flowers, each asked alone."""
    columns = draw_flowers(150, FRESH)
    with trained(trial) as model:
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        answers = [predict(model, [{name: str(row[name]) for name in row if name != "species"}])[0] for row in rows]
    return float(np.mean([answer.prediction[0] == row["species"] for answer, row in zip(answers, rows, strict=True)]))


def negative_loss_without_future(trial: Trial) -> float:
    """Minus the cross-entropy of the next letter of a new text, by what the network answers to the last letter that it is given."""
    context = 24
    with trained(trial) as model:
        tokens = model.vocabulary.encode(draw_text(60, FRESH)).tolist()
        starts = range(0, len(tokens) - context - 1, 7)
        logits = [model.token_logits(tokens[start : start + context])[-1] for start in starts]
    following = [tokens[start + context] for start in starts]
    return -float(functional.cross_entropy(torch.tensor(np.stack(logits)), torch.tensor(following)))
