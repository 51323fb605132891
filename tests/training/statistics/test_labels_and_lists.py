"""Suspicious labels, ranked lists, and the bigram that a language model has to beat."""

from __future__ import annotations

import math

import numpy as np
import torch
from torchmetrics.functional.retrieval import retrieval_normalized_dcg, retrieval_reciprocal_rank

from training.core import scores as core
from training.statistics import ranking
from training.statistics.bigram import bigram_loss, count_bigrams, likeliest_next
from training.statistics.confident import find_suspicious


def test_flipped_labels_come_first_and_classes_of_unequal_ease_are_not_suspected() -> None:
    random = np.random.Generator(np.random.PCG64(11))
    truth = random.choice(4, 4000, p=[0.4, 0.3, 0.2, 0.1])
    logits = random.normal(size=(4000, 4)) + np.array([6.0, 5.0, 5.0, 4.0])[truth, None] * (
        truth[:, None] == np.arange(4)
    )
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    flipped = random.choice(4000, 80, replace=False)
    labels = truth.copy()
    labels[flipped] = (labels[flipped] + random.integers(1, 4, 80)) % 4
    labels[7] = -100

    found = find_suspicious(probabilities, labels)

    first = found.samples[:80]
    assert np.isin(first, flipped).mean() > 0.85
    assert np.isin(flipped, found.samples).mean() > 0.9
    assert len(found.samples) < 160
    assert (found.suggested[:40] == truth[first[:40]]).all()
    assert (np.diff(found.scores) <= 0).all()
    assert 7 not in found.samples
    assert len(find_suspicious(probabilities[:0], labels[:0]).samples) == 0
    assert len(find_suspicious(np.eye(4)[truth], truth).samples) == 0


def test_of_a_weak_model_the_least_probable_labels_come_first_and_not_its_surest_mistakes() -> None:
    """For half of the samples it takes the one of two classes for the other; the other pairs it rules out."""
    random = np.random.Generator(np.random.PCG64(5))
    truth = random.integers(0, 6, 3000)
    like = truth ^ 1  # the class that it cannot tell from the true one
    logits = np.full((3000, 6), -6.0) + random.normal(size=(3000, 6))
    rows, lean = np.arange(3000), random.normal(scale=0.7, size=3000)
    logits[rows, truth], logits[rows, like] = lean, -lean
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels, flipped = truth.copy(), random.choice(3000, 60, replace=False)
    labels[flipped] = (labels[flipped] + 2 * random.integers(1, 3, 60)) % 6  # of another pair

    found = find_suspicious(probabilities, labels)

    assert (probabilities.argmax(1) == truth).mean() < 0.6
    assert np.isin(found.samples[:60], flipped).mean() > 0.6
    margins = probabilities.max(1) - probabilities[rows, labels]
    assert np.isin(np.argsort(-margins)[:60], flipped).mean() < 0.3


def test_a_bigram_is_a_distribution_that_knows_pairs_it_never_saw() -> None:
    tokens = np.array([0, 1, 0, 1, 0, 2, 0, 1, -100])
    bigram = count_bigrams(tokens[:-1], tokens[1:], 5)
    every = np.arange(5)
    chances = np.exp(-bigram_loss(bigram, np.repeat(every, 5), np.tile(every, 5))).reshape(5, 5)

    np.testing.assert_allclose(chances.sum(1), 1.0)
    assert math.isclose(chances[0, 1], (3 + 2 * 4 / 12) / (4 + 2))  # by hand: two kinds follow 0
    assert (chances[4] == chances[3]).all()  # after what never was, what is common
    assert likeliest_next(bigram).tolist() == [1, 0, 0, 0, 0]
    losses = bigram_loss(bigram, np.array([[0, 0]]), np.array([[1, -100]]))
    assert losses.shape == (1, 2)
    assert math.isnan(losses[0, 1])
    empty = count_bigrams(tokens[:0], tokens[:0], 4)
    np.testing.assert_allclose(bigram_loss(empty, every[:4], every[:4]), math.log(4.0))


def test_ranked_lists_score_as_in_torchmetrics() -> None:
    random = np.random.Generator(np.random.PCG64(3))
    targets = random.integers(0, 4, (200, 9)).astype(float)
    targets[:, 0] = 4.0  # none is without a suitable item
    tied = random.normal(size=targets.shape).round(1)
    for top in (1, 3, 9):
        gains = ranking.discounted_gains(tied, targets, top)
        lists = zip(torch.tensor(tied), torch.tensor(targets), strict=True)
        expected = [retrieval_normalized_dcg(*each, top_k=top).item() for each in lists]
        np.testing.assert_allclose(gains, expected, rtol=0, atol=1e-6)
        total, count = core.sum_discounted_gains(torch.tensor(tied).float(), torch.tensor(targets).float(), top)
        np.testing.assert_allclose(total / count, np.mean(expected), rtol=0, atol=1e-6)
    scores = random.permuted(np.tile(np.arange(1.0, 10.0), (200, 1)), axis=1)
    suitable = torch.tensor(targets == targets.max(1, keepdims=True))
    places = ranking.reciprocal_ranks(scores, targets)
    found = [retrieval_reciprocal_rank(*pair).item() for pair in zip(torch.tensor(scores), suitable, strict=True)]
    np.testing.assert_allclose(places, found, rtol=0, atol=1e-6)
    total, count = core.sum_reciprocal_ranks(torch.tensor(scores), torch.tensor(targets))
    np.testing.assert_allclose(total / count, places.mean(), rtol=0, atol=1e-12)


def test_ranked_lists_score_as_the_engine_scores_them() -> None:
    random = np.random.Generator(np.random.PCG64(2))
    scores, targets = random.normal(size=(60, 7)).round(1), random.integers(-1, 4, (60, 7)).astype(float)
    targets[random.random((60, 7)) < 0.3] = np.nan
    targets[0], targets[1] = 2.0, np.nan  # nothing to order
    both = torch.tensor(scores), torch.tensor(targets)

    def agree(ours: np.ndarray, theirs: tuple[torch.Tensor, torch.Tensor]) -> None:
        np.testing.assert_allclose(
            [np.nansum(ours), (~np.isnan(ours)).sum()], [each.item() for each in theirs], rtol=1e-12
        )

    agree(ranking.discounted_gains(scores, targets, 3), core.sum_discounted_gains(*both, top=3))
    agree(ranking.reciprocal_ranks(scores, targets), core.sum_reciprocal_ranks(*both))
    in_order, pairs = ranking.ordered_pairs(scores, targets)
    expected = [each.item() for each in core.count_ordered_pairs(*both)]
    np.testing.assert_allclose([in_order.sum(), pairs.sum()], expected)
