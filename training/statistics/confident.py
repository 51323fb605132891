"""Suspicious labels by confident learning (Northcutt, Jiang and Chuang, "Confident Learning", JAIR 2021), ranked by self-confidence
(Kuan and Mueller, "Model-agnostic label quality scoring to detect real-world label errors", 2022): where labels are wrong by chance, the
less probable a given label is, the likelier it is wrong, however sure the model is of another class.

Probabilities must be held out: of a model that did not train on the samples in question."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics.intervals import Floats


class Suspicion(NamedTuple):
    """Samples whose label is probably wrong, int64 (m,), the most suspicious first; the class that each is likelier of, int64 (m,);
    and how improbable the given class is, 1 - p(given), float64 (m,)."""

    samples: NDArray[np.int64]
    suggested: NDArray[np.int64]
    scores: Floats


def find_suspicious(probabilities: NDArray[np.floating], labels: NDArray[np.integer]) -> Suspicion:
    """Of probabilities (n, classes) and the labels given (n,), negative ones of no matter: pruned by class.

    For each given class it is counted how many of its samples are confidently of another (``count_joint``), and as many with the smallest
    p(given) are suspicious, but for those whose given class is the likeliest. They are ranked by p(given): by p(other) - p(given) the
    mistakes come first of which a weak model is sure."""
    known = np.flatnonzero(np.asarray(labels) >= 0)
    label, chances = np.asarray(labels, np.int64)[known], np.asarray(probabilities, np.float64)[known]
    own, likeliest = chances[np.arange(len(known)), label], chances.argmax(1)
    suspected = np.zeros(len(known), bool)
    for given, row in enumerate(count_joint(chances, label)):
        members = np.flatnonzero(label == given)
        suspected[members[np.argsort(own[members], kind="stable")[: row.sum() - row[given]]]] = True
    found = np.flatnonzero(suspected & (likeliest != label))
    found = found[np.argsort(own[found], kind="stable")]
    return Suspicion(known[found], likeliest[found], 1.0 - own[found])


def count_joint(probabilities: Floats, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 (classes, classes): estimated samples of each given class (rows) that truly are of each class (columns).

    A sample is confidently of a class whose probability reaches the mean that it has among the samples given that class, and
    of the likeliest where it is of several. Rows are scaled to the samples there are, and keep at least one on the
    diagonal, so that no class is lost."""
    classes = probabilities.shape[1]
    support = np.bincount(labels, minlength=classes)
    own = np.bincount(labels, probabilities[np.arange(len(labels)), labels], minlength=classes)
    thresholds = np.where(support > 0, own / np.maximum(support, 1), np.inf)
    confident = probabilities >= thresholds - 1e-6
    several = confident.sum(1) > 1
    guesses = np.where(several, np.where(confident, probabilities, -1.0).argmax(1), confident.argmax(1))
    counted = confident.any(1)
    pairs = np.bincount(labels[counted] * classes + guesses[counted], minlength=classes * classes)
    joint = pairs.reshape(classes, classes)
    np.fill_diagonal(joint, np.maximum(joint.diagonal(), 1))
    scaled = joint / joint.sum(1, keepdims=True) * support[:, None]
    return np.rint(scaled).astype(np.int64)


def find_suspicious_sets(
    probabilities: NDArray[np.floating], labels: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], Floats]:
    """Of the probabilities (n, K) that each of K labels is on, and which were given (n, K), 1 or 0: label by label ``find_suspicious``
    of its two classes, on and off.

    Returns the samples with a label that is probably wrong, int64 (m,), the most suspicious first; which of their labels those are,
    bool (m, K); and the largest of their scores, float64 (m,)."""
    chances, given = np.asarray(probabilities, np.float64), np.asarray(labels, np.int64)
    scores = np.zeros(given.shape)
    for number in range(given.shape[1]):
        found = find_suspicious(np.stack([1.0 - chances[:, number], chances[:, number]], 1), given[:, number])
        scores[found.samples, number] = found.scores
    largest = scores.max(1, initial=0.0)
    samples = np.flatnonzero(largest)
    samples = samples[np.argsort(-largest[samples], kind="stable")]
    return samples, scores[samples] > 0.0, largest[samples]
