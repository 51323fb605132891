"""What a proof says of int8: how many answers differ, a warning, and a refusal where the metric is worse."""

from __future__ import annotations

import numpy as np
import pytest

from training.metric_names import show_change
from training.verify.answers import Answering
from training.verify.check import describe
from training.verify.kept import Kept
from training.verify.prove import Findings, prove
from training.verify.runtimes import Inputs, Outputs, Runtime

COUNT = 400


def ask_with_changes(lost: int, won: int) -> Findings:
    """Prove a file that answers ``lost`` samples wrongly which the model has right, and ``won`` the other way round; the model is wrong
    about the last hundred."""
    truth = np.arange(COUNT) % 2
    right = np.eye(2, dtype=np.float32)[truth] * 4.0
    scores = right.copy()
    scores[300:] = scores[300:, ::-1]
    changed = scores.copy()
    changed[:lost] = changed[:lost, ::-1]
    changed[300 : 300 + won] = right[300 : 300 + won]
    answering = Answering("class", ("no", "yes"), probabilities="softmax")
    kept = Kept(
        answering=answering,
        inputs={"features": np.arange(COUNT, dtype=np.float32)[:, None]},
        scores=answering.pick(scores),
        decisions=answering.decide(scores),
        margins=answering.find_margins(scores),
        chances=answering.find_chances(scores),
        targets=truth,
        terms=answering.take_terms(scores, truth),
        drawn=COUNT,
        part="validation",
        dtype="int8",
        relative=1e-4,
    )

    def ask(inputs: Inputs) -> Outputs:
        return {"logits": changed[inputs["features"][:, 0].astype(int)]}

    return prove(kept, Runtime("a table", ask))


@pytest.mark.parametrize(
    ("lost", "won", "said", "fault"),
    [
        (0, 0, "100% of the answers alike, Accuracy 75.00% → 75.00% (no difference).", ""),
        (1, 0, "99.75% of the answers alike (1 of 400 differ)", ""),
        (6, 6, "Warning: fewer than 99.5% of its answers are the model's; the difference of its metric tells", ""),
        (16, 0, "Accuracy 75.00% → 71.00% (difference -6", "int8 costs more than 1 point: Accuracy 75.00% → 71.00%"),
        (15, 15, "92.50% of the answers alike (30 of 400 differ)", "only 92.5% of its answers are the model's"),
    ],
)
def test_int8_is_judged_by_its_answers_and_its_metric(lost: int, won: int, said: str, fault: str) -> None:
    found = ask_with_changes(lost, won)
    assert said in describe(found.told)
    assert ("Warning" in describe(found.told)) == (lost + won > 2)
    assert [each[: len(fault)] for each in found.faults] == ([fault] if fault else [])


def test_what_rounding_does_is_told_without_digits() -> None:
    assert show_change("perplexity", 23.062, 23.062, 2.4e-8, 2.5e-8).endswith("23.062 (difference below 0.0001%)")
    assert show_change("rmse", 22.5, 22.6, -0.01, 0.12).endswith("22.6 (difference -0.01 to +0.12)")
