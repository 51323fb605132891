"""What the simplest predictors answer to the same samples: columns as an evaluation has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.data.batching.batches import Data
from training.evaluation.opening import GIVEN
from training.evaluation.scores import Columns
from training.facts import DataFacts
from training.predictions.record import EvaluationRecord
from training.statistics.bigram import bigram_loss, count_bigrams, likeliest_next

Arrays = dict[str, NDArray[Any]]
_MOST_TOKENS = 1 << 25
_WINDOWS = 4096


def answer_trivially(record: EvaluationRecord, facts: DataFacts, columns: Columns) -> tuple[str, Arrays] | None:
    """The name of what looks at no input, and its columns; ``facts`` are of the samples that the model was trained on. None where there
    is no such predictor, or it is not known what was trained on."""
    if "embedding" in columns:
        return _embed_anywhere(columns)
    answer: Mapping[str, Callable[[DataFacts, Columns], tuple[str, Arrays] | None]] = {
        "class": _answer_majority,
        "labels": _answer_shares,
        "values": _answer_mean,
        "tasks": _answer_each_task,
        "mask": _answer_majority_pixel,
        "ranks": _answer_any_order,
    }
    return answer[record.target](facts, columns) if record.target in answer else None


def classes_as_columns(chances: NDArray[np.floating], columns: Columns) -> Arrays:
    """Of the probabilities (n, classes), or (1, classes) for all samples alike; all scores are kept, whatever their number."""
    target = columns["target"]
    logs = np.log(np.maximum(chances, 1e-12))
    logs = np.broadcast_to(logs, (len(target), logs.shape[1]))
    picked = np.take_along_axis(logs, np.maximum(target, 0)[:, None].astype(np.int64), 1)[:, 0]
    prediction = np.broadcast_to(chances.argmax(1), target.shape)
    return {
        "target": target,
        "prediction": prediction.astype(np.int32),
        "scores": logs,
        "target_score": picked,
        "log_sum": np.zeros(len(target)),
    }


def _answer_majority(facts: DataFacts, columns: Columns) -> tuple[str, Arrays] | None:
    counts = np.array(facts.counts, dtype=np.float64)
    if not counts.sum():
        return None
    # Told apart where they are as frequent as each other, so that five of them are the five most frequent.
    places = np.argsort(np.argsort(-counts, kind="stable"))
    shares = np.maximum(counts / counts.sum(), 1e-10) * (1.0 - 1e-9 * places)
    return "majority class", classes_as_columns(shares[None], columns)


def _answer_shares(facts: DataFacts, columns: Columns) -> tuple[str, Arrays] | None:
    if not facts.counts or not facts.samples:
        return None
    shares = np.clip(np.array(facts.counts) / facts.samples, 1e-6, 1.0 - 1e-6)
    odds = np.log(shares) - np.log1p(-shares)
    return "label shares", {"target": columns["target"], "scores": np.broadcast_to(odds, columns["target"].shape)}


def _answer_mean(facts: DataFacts, columns: Columns) -> tuple[str, Arrays] | None:
    if not facts.target_mean:
        return None
    return "mean", {
        "target": columns["target"],
        "prediction": np.broadcast_to(np.array(facts.target_mean), columns["target"].shape),
    }


def _answer_each_task(facts: DataFacts, columns: Columns) -> tuple[str, Arrays] | None:
    """The means of values; which class is the usual one is not known of several targets, so their own samples tell."""
    target = columns["target"]
    prediction = np.broadcast_to(np.array(facts.target_mean or np.zeros(target.shape[1])), target.shape).copy()
    probability = np.full(target.shape, np.nan)
    for number, classes in enumerate(facts.target_classes):
        if classes:
            counts = np.bincount(target[:, number].astype(np.int64), minlength=len(classes))
            prediction[:, number] = counts.argmax()
            probability[:, number] = counts.max() / counts.sum()
    return "mean or majority class", {"target": target, "prediction": prediction, "probability": probability}


def _answer_majority_pixel(facts: DataFacts, columns: Columns) -> tuple[str, Arrays] | None:
    if not sum(facts.counts):
        return None
    usual = int(np.argmax(facts.counts))
    support = np.asarray(columns["support"])
    predicted, correct = np.zeros_like(support), np.zeros_like(support)
    predicted[:, usual], correct[:, usual] = support.sum(1), support[:, usual]
    return "majority class", {"support": support, "predicted": predicted, "correct": correct}


def _answer_any_order(facts: DataFacts, columns: Columns) -> tuple[str, Arrays] | None:
    """Items that all score alike share their places: what a random order gives on average."""
    return "any order", {"target": columns["target"], "scores": np.zeros_like(columns["target"])}


def _embed_anywhere(columns: Columns) -> tuple[str, Arrays]:
    """Every direction is as likely as another, the same ones each time."""
    vectors = np.random.default_rng(0).standard_normal(columns["embedding"].shape, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return "random embedding", {"target": columns["target"], "embedding": vectors}


def answer_by_bigrams(data: Data, part: str, columns: Columns) -> tuple[str, Arrays] | None:
    """What the token before alone tells, counted in the training part. None for data that is no text, whose training part is not known,
    or where counting takes more than evaluating."""
    if data.facts.layout != "tokens" or part not in data.splits or part == GIVEN:
        return None
    train = data.splits["train"]
    if len(train) * data.facts.shape[0] > _MOST_TOKENS:
        return None
    windows = np.concatenate([data.raw(some).numpy() for some in train.split(_WINDOWS)])
    counted = count_bigrams(windows[:, :-1], windows[:, 1:], len(data.facts.names))
    target = np.asarray(columns["target"])
    order = data.evaluation_order(part)
    before = np.concatenate([data.raw(some).long().numpy()[:, :-1] for some in order.split(_WINDOWS)])
    losses = np.nan_to_num(bigram_loss(counted, before, target))
    return "bigram", {"target": target, "prediction": likeliest_next(counted)[before], "token_loss": losses}
