"""What the simplest predictors answer to the same samples: columns as an evaluation has them, and their loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.data.batching.batches import Data
from training.evaluation.scores import Columns
from training.facts import DataFacts, place_tasks
from training.predictions.record import EvaluationRecord
from training.statistics.bigram import bigram_loss, count_bigrams, likeliest_next

Arrays = dict[str, NDArray[Any]]
_MOST_TOKENS = 1 << 25
_WINDOWS = 4096
_UNKNOWN = "nobody knows any more how often each class was trained on"
_UNREADABLE = "the text that was trained on is not there any more as it was"
_LONG = "counting the pairs of so long a text takes longer than evaluating"


class Predictor(NamedTuple):
    """What answers to the samples without having learned much: its ``name``, the ``columns`` of its answers, and ``outputs``, what a
    network would have to put out for them where the columns do not tell, float (1, outputs) for all samples, pixels and items alike.
    ``names`` has its name for single targets, where they are not alike. ``loss`` is what the run's loss makes of that, where it can, called ``loss_name``; ``lossless`` says why it cannot, a clause."""

    name: str
    columns: Mapping[str, NDArray[Any]]
    loss_name: str
    outputs: NDArray[np.float64] | None = None
    loss: float | None = None
    lossless: str = ""
    names: Mapping[str, str] = MappingProxyType({})

    def name_for(self, metric: str) -> str:
        """Its name beside a metric of the evaluation, such as "price/rmse"."""
        return self.names.get(metric.rpartition("/")[0], self.name)


def answer_trivially(record: EvaluationRecord, facts: DataFacts, columns: Columns) -> Predictor | str:
    """What looks at no input; ``facts`` are of the samples that the model was trained on. Where there is no such predictor, or it is not
    known what was trained on: why, a clause."""
    if "embedding" in columns:
        return _embed_anywhere(columns)
    answer: Mapping[str, Callable[[DataFacts, Columns], Predictor | str]] = {
        "class": _answer_majority,
        "labels": _answer_shares,
        "values": _answer_mean,
        "tasks": _answer_each_task,
        "mask": _answer_majority_pixel,
        "ranks": _answer_any_order,
    }
    return answer[record.target](facts, columns) if record.target in answer else _UNREADABLE


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


def _answer_majority(facts: DataFacts, columns: Columns) -> Predictor | str:
    counts = np.array(facts.counts, dtype=np.float64)
    if not counts.sum():
        return _UNKNOWN
    # Told apart where they are as frequent as each other, so that five of them are the five most frequent.
    places = np.argsort(np.argsort(-counts, kind="stable"))
    shares = _share(counts) * (1.0 - 1e-9 * places)
    return Predictor("majority class", classes_as_columns(shares[None], columns), "class shares")


def _answer_shares(facts: DataFacts, columns: Columns) -> Predictor | str:
    if not facts.counts or not facts.samples:
        return _UNKNOWN
    shares = np.clip(np.array(facts.counts) / facts.samples, 1e-6, 1.0 - 1e-6)
    odds = np.log(shares) - np.log1p(-shares)
    answers = {"target": columns["target"], "scores": np.broadcast_to(odds, columns["target"].shape)}
    return Predictor("label shares", answers, "label shares")


def _answer_mean(facts: DataFacts, columns: Columns) -> Predictor | str:
    if not facts.target_mean:
        return "nobody knows any more what the mean of the training samples was"
    means = np.broadcast_to(np.array(facts.target_mean), columns["target"].shape)
    return Predictor("mean", {"target": columns["target"], "prediction": means}, "mean")


def _answer_each_task(facts: DataFacts, columns: Columns) -> Predictor | str:
    """The mean of each value, and the class that is the usual one of each other target."""
    target = columns["target"]
    if not facts.target_mean or (any(facts.target_classes) and not facts.target_counts):
        return _UNKNOWN
    prediction = np.array(facts.target_mean, np.float64)
    probability = np.full(len(prediction), np.nan)
    outputs = []
    for number, place in enumerate(place_tasks(facts)):
        if not place.classes:
            outputs.append(np.zeros(1))  # in standard deviations from the mean
            continue
        shares = _share(np.array(facts.target_counts[number], np.float64))
        prediction[number], probability[number] = shares.argmax(), shares.max()
        logs = np.log(shares)
        outputs.append(logs if place.last - place.first > 1 else logs[1:] - logs[:1])
    answers = {"prediction": prediction, "probability": probability}
    return Predictor(
        "mean or majority class",
        {"target": target, **{name: np.broadcast_to(each, target.shape) for name, each in answers.items()}},
        "means and class shares",
        np.concatenate(outputs)[None],
        names={place.name: "majority class" if place.classes else "mean" for place in place_tasks(facts)},
    )


def _answer_majority_pixel(facts: DataFacts, columns: Columns) -> Predictor | str:
    counts = np.array(facts.counts, np.float64)
    if not counts.sum():
        return _UNKNOWN
    usual = int(np.argmax(counts))
    support = np.asarray(columns["support"])
    predicted, correct = np.zeros_like(support), np.zeros_like(support)
    predicted[:, usual], correct[:, usual] = support.sum(1), support[:, usual]
    answers = {"support": support, "predicted": predicted, "correct": correct}
    return Predictor("majority class", answers, "pixel shares", np.log(_share(counts))[None])


def _answer_any_order(facts: DataFacts, columns: Columns) -> Predictor | str:
    """Items that all score alike share their places: what a random order gives on average."""
    answers = {"target": columns["target"], "scores": np.zeros_like(columns["target"])}
    return Predictor("any order", answers, "equal scores")


def _embed_anywhere(columns: Columns) -> Predictor:
    """Every direction is as likely as another, the same ones each time."""
    vectors = np.random.default_rng(0).standard_normal(columns["embedding"].shape, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Predictor("random embedding", {"target": columns["target"], "embedding": vectors}, "")


def _share(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each class; one that never was is not held to be impossible."""
    return np.maximum(counts / counts.sum(), 1e-10)


def suits_bigrams(facts: DataFacts) -> bool:
    """Whether what was trained on is a text in which counting pairs takes less than evaluating."""
    return facts.layout == "tokens" and facts.samples * facts.shape[0] <= _MOST_TOKENS


def answer_by_bigrams(trained: Data | None, data: Data, part: str, columns: Columns) -> Predictor | str:
    """What the token before alone tells, counted in the training part of ``trained``, of the text in ``part`` of ``data``. Where that is not
    there, or counting takes more than evaluating: why, a clause."""
    if not suits_bigrams((trained or data).facts):
        return _LONG
    if trained is None:
        return _UNREADABLE
    train = trained.splits["train"]
    windows = np.concatenate([trained.raw(some).numpy() for some in train.split(_WINDOWS)])
    counted = count_bigrams(windows[:, :-1], windows[:, 1:], len(data.facts.names))
    target = np.asarray(columns["target"])
    order = data.evaluation_order(part)
    before = np.concatenate([data.raw(some).long().numpy()[:, :-1] for some in order.split(_WINDOWS)])
    losses = np.nan_to_num(bigram_loss(counted, before, target))
    answers = {"target": target, "prediction": likeliest_next(counted)[before], "token_loss": losses}
    return Predictor("bigram", answers, "bigram")
