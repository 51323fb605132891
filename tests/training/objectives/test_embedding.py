"""Losses that compare the samples of a batch against torch's own on every triplet or against the papers' sums written out, and
retrieval against a search by NumPy, all in float64 or exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.training.objectives.passes import evaluate_batches
from training.config.sections.embedding import Embedding
from training.core import kept_scores
from training.core.kept_scores import compare_with_all
from training.facts import DataFacts
from training.objectives import make_objective

CPU = torch.device("cpu")
FACTS = DataFacts("vector", (3,), "class", tuple("abcd"), 100, (40, 30, 20, 10))
LOSSES: dict[str, dict[str, Any]] = {
    "batch hard": {"loss": "triplet_margin", "mining": "batch_hard", "margin": 0.7},
    "semi-hard": {"loss": "triplet_margin", "mining": "semi_hard", "margin": 0.7},
    "all": {"loss": "triplet_margin", "mining": "all", "margin": 0.7},
    "contrastive": {"loss": "contrastive", "margin": 1.3},
    "supervised": {"loss": "supervised_contrastive", "temperature": 0.2},
}


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def drawn_classes(count: int, seed: int = 1) -> Tensor:
    """Some often, one of them once: a sample without another of its class."""
    classes = torch.randint(3, (count - 1,), generator=torch.Generator().manual_seed(seed))
    return torch.cat([classes, torch.tensor([3])])


def window_loss(config: Embedding, batches: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The loss of a step of these micro-batches, as the loop adds it up."""
    objective = make_objective(config, FACTS, CPU)
    weight: Any = sum(objective.loss_weight(targets) for _, targets in batches)
    return torch.stack([objective.loss(outputs, targets, weight) for outputs, targets in batches]).sum()


def comparable(classes: Tensor) -> int:
    """How many have another sample of their class."""
    numbers = classes.tolist()
    return sum(numbers.count(each) > 1 for each in numbers)


def prepared(config: Embedding, outputs: Tensor) -> Tensor:
    return functional.normalize(outputs, dim=1) if config.has_unit_length else outputs


def triplets_of(anchor: int, distances: Tensor, classes: Tensor, mining: str) -> list[tuple[int, int]]:
    """The positives and negatives that the papers choose, one after the other."""
    others = [each for each in range(len(classes)) if each != anchor]

    def near(each: int) -> float:
        return float(distances[anchor, each])

    positives = [each for each in others if classes[each] == classes[anchor]]
    negatives = [each for each in others if classes[each] != classes[anchor]]
    if not positives or not negatives:
        return []
    if mining == "batch_hard":
        return [(max(positives, key=near), min(negatives, key=near))]
    if mining == "all":
        return list(itertools.product(positives, negatives))
    found = []
    for positive in positives:
        beyond = [each for each in negatives if near(each) > near(positive)]
        found.append((positive, min(beyond, key=near) if beyond else max(negatives, key=near)))
    return found


def expected_triplets(config: Embedding, outputs: Tensor, classes: Tensor) -> Tensor:
    """torch's own loss of each anchor's triplets, the mean over anchors."""
    embeddings = prepared(config, outputs)
    distances = torch.cdist(embeddings, embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    costs = []
    for anchor in range(len(classes)):
        found = triplets_of(anchor, distances.detach(), classes, config.mining)
        if found:
            positives, negatives = map(list, zip(*found, strict=True))
            anchors = embeddings[anchor].expand(len(found), -1)
            chosen = (anchors, embeddings[positives], embeddings[negatives])
            costs.append(functional.triplet_margin_loss(*chosen, margin=config.margin, eps=0.0))
    return torch.stack(costs).mean()


def expected_contrastive(config: Embedding, outputs: Tensor, classes: Tensor) -> Tensor:
    embeddings = prepared(config, outputs)
    costs = []
    for one, other in itertools.combinations(range(len(classes)), 2):
        distance = (embeddings[one] - embeddings[other]).norm()
        apart = (config.margin - distance).clamp(min=0.0)
        costs.append(0.5 * (distance if classes[one] == classes[other] else apart) ** 2)
    return torch.stack(costs).mean()


def expected_supervised(config: Embedding, outputs: Tensor, classes: Tensor) -> Tensor:
    """Equation 2 of Khosla et al., term by term."""
    embeddings, costs = prepared(config, outputs), []
    for anchor in range(len(classes)):
        others = [each for each in range(len(classes)) if each != anchor]
        scores = {each: torch.exp(embeddings[anchor] @ embeddings[each] / config.temperature) for each in others}
        positives = [each for each in others if classes[each] == classes[anchor]]
        if positives and len(positives) < len(others):
            total = torch.stack(list(scores.values())).sum()
            costs.append(-torch.stack([torch.log(scores[each] / total) for each in positives]).mean())
    return torch.stack(costs).mean()


def expected_loss(config: Embedding, outputs: Tensor, classes: Tensor) -> Tensor:
    if config.loss == "triplet_margin":
        return expected_triplets(config, outputs, classes)
    return (expected_contrastive if config.loss == "contrastive" else expected_supervised)(config, outputs, classes)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("settings", LOSSES.values(), ids=LOSSES)
def test_a_batch_costs_what_the_papers_sum_up_to(settings: dict[str, Any], normalize: bool) -> None:
    config = Embedding(**settings, normalize=normalize)
    classes = drawn_classes(14)
    ours, theirs = (drawn(14, 5).requires_grad_() for _ in range(2))

    loss, wanted = window_loss(config, [(ours, classes)]), expected_loss(config, theirs, classes)
    loss.backward()
    wanted.backward()

    assert loss.item() == pytest.approx(wanted.item(), abs=1e-9)
    assert wanted.item() > 0.01
    assert ours.grad is not None
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=1e-8)


@pytest.mark.parametrize("settings", LOSSES.values(), ids=LOSSES)
def test_two_views_are_samples_of_the_same_class(settings: dict[str, Any]) -> None:
    outputs, classes = drawn(16, 4), drawn_classes(8)

    loss = window_loss(Embedding(**settings, views=2), [(outputs, classes)])

    assert loss.item() == pytest.approx(
        expected_loss(Embedding(**settings), outputs, classes.repeat(2)).item(), abs=1e-9
    )


def test_nt_xent_finds_the_other_view_among_all() -> None:
    """The loss of Chen et al., equation 1 and algorithm 1, term by term."""
    outputs = drawn(12, 4)
    points, costs = functional.normalize(outputs, dim=1), []
    for anchor in range(12):
        scores = {each: torch.exp(points[anchor] @ points[each] / 0.5) for each in range(12) if each != anchor}
        costs.append(-torch.log(scores[(anchor + 6) % 12] / torch.stack(list(scores.values())).sum()))

    loss = window_loss(Embedding(loss="nt_xent", temperature=0.5), [(outputs, drawn_classes(6))])

    assert loss.item() == pytest.approx(torch.stack(costs).mean().item(), abs=1e-9)


@pytest.mark.parametrize("settings", LOSSES.values(), ids=LOSSES)
def test_each_micro_batch_is_compared_within_itself(settings: dict[str, Any]) -> None:
    """The mean of a step is over the samples of all its batches that could be compared, however short the last batch is."""
    config = Embedding(**settings)
    long, short = (drawn(9, 4), drawn_classes(9)), (drawn(5, 4, seed=3), torch.tensor([0, 0, 1, 1, 2]))
    counts = [len(classes) if config.loss == "contrastive" else comparable(classes) for _, classes in (long, short)]
    assert counts[1] in (4, 5)
    alone = [expected_loss(config, *batch).item() * count for batch, count in zip((long, short), counts, strict=True)]

    assert window_loss(config, [long, short]).item() == pytest.approx(sum(alone) / sum(counts), abs=1e-9)


@pytest.mark.parametrize(
    "outputs", [drawn(4, 3), torch.zeros(4, 3), torch.ones(4, 3)], ids=["apart", "zero", "one place"]
)
@pytest.mark.parametrize("settings", LOSSES.values(), ids=LOSSES)
def test_a_batch_of_one_class_costs_nothing_and_moves_nothing(settings: dict[str, Any], outputs: Tensor) -> None:
    outputs = outputs.clone().requires_grad_()

    loss = window_loss(Embedding(**settings), [(outputs, torch.zeros(4, dtype=torch.int64))])
    loss.backward()

    assert loss.item() == 0.0
    assert outputs.grad is not None
    assert not outputs.grad.any()


@pytest.mark.parametrize("settings", LOSSES.values(), ids=LOSSES)
def test_a_collapsed_batch_has_a_finite_gradient(settings: dict[str, Any]) -> None:
    """All samples in one place, where distances have no direction."""
    outputs = torch.ones(6, 3, requires_grad=True)

    window_loss(Embedding(**settings), [(outputs, torch.tensor([0, 0, 1, 1, 2, 2]))]).backward()

    assert outputs.grad is not None
    assert outputs.grad.isfinite().all()


# ---------------------------------------------------------------------------------------------------- retrieval


def found_by_search(points: np.ndarray, classes: np.ndarray, k: int) -> tuple[float, float]:
    """Recall@k and mean average precision, each sample's list of all others sorted by distance."""
    hits, precisions = [], []
    for query in range(len(points)):
        others = np.delete(np.arange(len(points)), query)
        order = others[np.argsort(np.linalg.norm(points[others] - points[query], axis=1), kind="stable")]
        right = classes[order] == classes[query]
        if right.any():
            hits.append(right[:k].any())
            precisions.append(np.mean((np.cumsum(right) / np.arange(1, len(right) + 1))[right]))
    return float(np.mean(hits)), float(np.mean(precisions))


@pytest.mark.parametrize("normalize", [True, False])
def test_recall_and_precision_are_those_of_a_search(normalize: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.core.kept_scores.PAIRS_AT_ONCE", 1000)  # several pieces
    config = Embedding(loss="triplet_margin", normalize=normalize, top=4, ranking_metrics=True)
    outputs, classes = drawn(60, 3).float(), drawn_classes(60)
    points = prepared(config, outputs).numpy()

    measured, _ = evaluate_batches(
        make_objective(config, FACTS, CPU), list(zip(outputs.split(17), classes.split(17), strict=True))
    )

    assert measured["recall_at_1"] == pytest.approx(found_by_search(points, classes.numpy(), 1)[0], abs=1e-6)
    recall, precision = found_by_search(points, classes.numpy(), 4)
    assert measured["recall_at_k"] == pytest.approx(recall, abs=1e-6)
    assert measured["mean_average_precision"] == pytest.approx(precision, abs=1e-5)
    assert 0.1 < measured["recall_at_1"] < measured["recall_at_k"] < 1.0


def test_neighbors_are_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []

    def search(embeddings: Tensor, targets: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        searches.append(len(embeddings))
        return compare_with_all(embeddings, targets)

    monkeypatch.setattr(kept_scores, "compare_with_all", search)
    objective = make_objective(Embedding(), FACTS, CPU)

    measured, _ = evaluate_batches(objective, [(drawn(40, 3).float(), drawn_classes(40))])

    assert {"recall_at_1", "recall_at_k"} <= measured.keys()
    assert searches == [40]


def test_embeddings_that_are_all_alike_retrieve_nothing() -> None:
    objective = make_objective(Embedding(ranking_metrics=True), FACTS, CPU)
    classes = torch.tensor([0, 0, 0, 1, 1, 1])

    measured, _ = evaluate_batches(objective, [(torch.full((6, 4), 0.3), classes)])

    assert measured["recall_at_1"] == 0.0
    assert measured["mean_average_precision"] == pytest.approx(2 / 5)


def test_only_the_plain_view_of_a_sample_is_searched_for() -> None:
    """An evaluation of two views brings three of each sample, the first as it is."""
    classes = torch.tensor([0, 0, 1, 1])
    plain = torch.tensor([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0], [-1.0, 0.1]])

    measured, _ = evaluate_batches(
        make_objective(Embedding(loss="nt_xent"), FACTS, CPU), [(torch.cat([plain, drawn(8, 2).float()]), classes)]
    )

    assert measured["recall_at_1"] == 1.0
    assert math.isfinite(measured["loss"])
