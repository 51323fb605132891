"""Metrics over several batches against torchmetrics, or against numbers worked out by hand."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.training.objectives.passes import evaluate_batches
from training.config.sections.objective import (
    Binary,
    Classification,
    Distillation,
    LanguageModel,
    MultiLabel,
    Objective,
    Ranking,
    Regression,
    Segmentation,
)
from training.core.losses import with_answers
from training.facts import IGNORED, DataFacts
from training.metric_names import metric
from training.objectives import make_objective
from training.objectives.tables import MOST_SHOWN

CPU = torch.device("cpu")
NAN = math.nan


def facts(target: Any, names: int, **more: Any) -> DataFacts:
    return DataFacts("vector", (3,), target, tuple(f"name {number}" for number in range(names)), 10, **more)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def numbers(high: int, *shape: int, seed: int = 1) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def measured(config: Objective, data: DataFacts, outputs: Tensor, targets: Tensor) -> tuple[dict[str, float], Any]:
    """Metrics and tables, gathered in uneven batches, as a validation does."""
    objective = make_objective(config, data, CPU)
    sizes = [1, 7, len(outputs) - 8]
    found, tables = evaluate_batches(objective, zip(outputs.split(sizes), targets.split(sizes), strict=True))
    assert list(found)[1:] == [name for name in config.metrics if name in found]
    assert set(config.metrics) - set(found) == set(objective.unmeasured)
    assert all(metric(name).show(value) for name, value in found.items())
    return found, tables


def test_of_classes() -> None:
    from torchmetrics.functional import classification as ours

    outputs, targets = drawn(200, 7), numbers(6, 200)  # the last class never occurs
    outputs[torch.arange(200), targets] += 1.0
    found, tables = measured(Classification(ranking_metrics=True), facts("class", 7), outputs, targets)
    some: dict[str, Any] = {"num_classes": 7}
    assert found["accuracy"] == pytest.approx(
        ours.multiclass_accuracy(outputs, targets, average="micro", **some).item()
    )
    top = ours.multiclass_accuracy(outputs, targets, average="micro", top_k=5, **some)
    assert found["top5_accuracy"] == pytest.approx(top.item())
    assert found["f1"] == pytest.approx(ours.multiclass_f1_score(outputs, targets, average="macro", **some).item())
    matrix = ours.multiclass_confusion_matrix(outputs, targets, **some)
    assert tables["confusion"] == matrix.tolist()
    probabilities = outputs.softmax(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the class that never occurs
        areas = ours.multiclass_auroc(probabilities, targets, average=None, **some)
        precisions = ours.multiclass_average_precision(probabilities, targets, average=None, **some)
    assert tables["auroc"][:6] == pytest.approx(areas[:6].tolist())
    assert tables["auroc"][6] is None
    assert found["auroc"] == pytest.approx(areas[:6].mean().item())
    assert found["average_precision"] == pytest.approx(precisions[:6].mean().item())
    few, _ = measured(Classification(), facts("class", 5), outputs[:, :5], targets.clamp(max=4))
    assert "top5_accuracy" not in few


def test_very_many_classes_are_counted_without_a_matrix() -> None:
    from torchmetrics.functional import classification as ours

    count = MOST_SHOWN + 1
    outputs, targets = drawn(500, count), numbers(count, 500)
    outputs[torch.arange(500), targets] += 2.0
    found, tables = measured(Classification(), facts("class", count), outputs, targets)
    wanted = ours.multiclass_f1_score(outputs, targets, num_classes=count, average="macro").item()
    assert found["f1"] == pytest.approx(wanted)
    assert found["accuracy"] == (outputs.argmax(1) == targets).double().mean().item()
    assert "confusion" not in tables
    assert len(tables["recall"]) == count


def test_an_ignored_class_counts_nowhere() -> None:
    outputs, targets = drawn(60, 7), numbers(7, 60)
    kept = targets != 2
    found, _ = measured(Classification(ignore_index=2, ranking_metrics=True), facts("class", 7), outputs, targets)
    plain, _ = measured(Classification(ranking_metrics=True), facts("class", 7), outputs[kept], targets[kept])
    assert {name: found[name] for name in ("accuracy", "top5_accuracy", "f1")} == {
        name: plain[name] for name in ("accuracy", "top5_accuracy", "f1")
    }
    assert found["auroc"] == plain["auroc"]


def test_of_an_ignored_class_alone_nothing_is_known() -> None:
    found, _ = measured(Classification(ignore_index=2), facts("class", 7), drawn(9, 7), torch.full((9,), 2))
    assert all(map(math.isnan, found.values()))


BROKEN: list[tuple[Objective, DataFacts, Tensor, Tensor]] = [
    (Classification(ranking_metrics=True), facts("class", 7), drawn(9, 7), numbers(7, 9)),
    (Binary(), facts("class", 2), drawn(9, 1), numbers(2, 9)),
    (MultiLabel(), facts("labels", 3), drawn(9, 3), numbers(2, 9, 3).float()),
    (Regression(), facts("values", 2), drawn(9, 2), drawn(9, 2, seed=1)),
    (Ranking(), facts("ranks", 1), drawn(9, 4), numbers(3, 9, 4).float()),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case[0].kind)
def test_answers_that_are_no_numbers_have_no_metrics(case: tuple[Objective, DataFacts, Tensor, Tensor]) -> None:
    config, data, outputs, targets = case
    assert not any(math.isnan(value) for value in measured(config, data, outputs, targets)[0].values())
    harmed = outputs.clone()
    harmed[:, 0] = NAN  # one column
    found, _ = measured(config, data, harmed, targets)
    assert all(map(math.isnan, found.values())), found


@pytest.mark.parametrize("threshold", [0.5, 0.2])
def test_of_yes_or_no(threshold: float) -> None:
    from torchmetrics.functional import classification as ours

    outputs, targets = drawn(200, 1), numbers(2, 200)
    outputs[:, 0] += targets
    found, tables = measured(Binary(threshold=threshold), facts("class", 2), outputs, targets)
    yes = torch.sigmoid(outputs[:, 0])
    for name, measure in (
        ("accuracy", ours.binary_accuracy),
        ("f1", ours.binary_f1_score),
        ("precision", ours.binary_precision),
        ("recall", ours.binary_recall),
    ):
        assert found[name] == pytest.approx(measure(yes, targets, threshold=threshold).item()), name
    assert found["auroc"] == pytest.approx(ours.binary_auroc(yes, targets).item())
    assert found["average_precision"] == pytest.approx(ours.binary_average_precision(yes, targets).item())
    assert tables["confusion"] == ours.binary_confusion_matrix(yes, targets, threshold=threshold).tolist()


def test_what_one_sort_alone_does_not_tell_is_no_number() -> None:
    found, _ = measured(Binary(), facts("class", 2), drawn(20, 1) - 9, torch.zeros(20, dtype=torch.int64))
    assert math.isnan(found["auroc"])
    assert math.isnan(found["recall"])
    assert math.isnan(found["precision"])
    assert found["accuracy"] == 1.0


def test_of_labels() -> None:
    from torchmetrics.functional import classification as ours

    outputs, targets = drawn(150, 4), numbers(2, 150, 4).float()
    outputs += targets
    found, tables = measured(MultiLabel(), facts("labels", 4), outputs, targets)
    yes, truth = torch.sigmoid(outputs), targets.long()
    assert found["f1"] == pytest.approx(ours.multilabel_f1_score(yes, truth, 4, average="macro").item())
    assert found["f1_micro"] == pytest.approx(ours.multilabel_f1_score(yes, truth, 4, average="micro").item())
    assert found["subset_accuracy"] == pytest.approx(ours.multilabel_exact_match(yes, truth, 4).item())
    assert found["auroc"] == pytest.approx(ours.multilabel_auroc(yes, truth, 4, average="macro").item())
    wanted = ours.multilabel_average_precision(yes, truth, 4, average=None)
    assert found["mean_average_precision"] == pytest.approx(wanted.mean().item())
    assert tables["average_precision"] == pytest.approx(wanted.tolist())


@pytest.mark.parametrize("standardize", [True, False])
def test_of_values_in_their_own_units(standardize: bool) -> None:
    from torchmetrics.functional import regression as ours

    mean, std = (2000.0, -7.0), (5.0, 0.1)
    data = facts("values", 2, target_mean=mean, target_std=std)
    shift, spread = torch.tensor(mean, dtype=torch.float64), torch.tensor(std, dtype=torch.float64)
    targets = (drawn(300, 2).double().mul(4).round() / 4 * spread + shift).float()  # with equal ones among them
    outputs = ((targets.double() - shift) / spread + 0.3 * drawn(300, 2, seed=3)).float()
    answers = outputs.double() * spread + shift
    found, tables = measured(
        Regression(standardise=standardize),
        data,
        outputs if standardize else answers.float(),
        targets,
    )
    truth = targets.double()
    close: dict[str, Any] = {"rel": 1e-6} if standardize else {"rel": 1e-3}
    r2 = ours.r2_score(answers, truth, multioutput="raw_values")
    assert found["r2"] == pytest.approx(r2.mean().item(), **close)
    assert tables["r2"] == pytest.approx(r2.tolist(), **close)
    root = ours.mean_squared_error(answers, truth, squared=False, num_outputs=2)
    assert tables["rmse"] == pytest.approx(root.tolist(), **close)
    assert found["rmse"] == pytest.approx(root.mean().item(), **close)
    assert tables["mae"] == pytest.approx((answers - truth).abs().mean(0).tolist(), **close)
    assert found["spearman"] == pytest.approx(ours.spearman_corrcoef(answers, truth).mean().item(), **close)


def test_values_that_never_change_explain_nothing() -> None:
    found, _ = measured(Regression(standardise=False), facts("values", 1), drawn(20, 1), torch.ones(20, 1))
    assert math.isnan(found["r2"])
    assert math.isnan(found["spearman"])
    assert found["mae"] > 0


def test_ranks_of_very_many_equal_numbers() -> None:
    """Their sum is beyond what 32 bits hold."""
    count = 100_000
    targets = (torch.arange(2 * count) >= count).float()[:, None]
    outputs = torch.arange(2 * count).float()[:, None]
    found, _ = measured(Regression(standardise=False), facts("values", 1), outputs, targets)
    assert found["spearman"] == pytest.approx(math.sqrt(3) / 2, rel=1e-6)  # the closed form of a step against a line


def test_of_orders() -> None:
    from torchmetrics.functional.retrieval import retrieval_normalized_dcg, retrieval_reciprocal_rank

    ranks, scores = numbers(4, 60, 9).float(), drawn(60, 9)
    lengths = numbers(8, 60, seed=7) + 2
    ranks[torch.arange(9)[None] >= lengths[:, None]] = NAN
    found, _ = measured(Ranking(top=5), facts("ranks", 1), scores[:, :, None], ranks)
    gains, places, right, pairs = [], [], 0.0, 0
    for score, rank in zip(scores, ranks, strict=True):
        score, rank = score[~rank.isnan()], rank[~rank.isnan()]
        if rank.min() == rank.max():
            continue
        gains.append(retrieval_normalized_dcg(score, rank.long(), top_k=5).item())
        places.append(retrieval_reciprocal_rank(score.sigmoid(), rank == rank.max()).item())
        for first in range(len(rank)):
            for second in range(len(rank)):
                if rank[first] > rank[second]:
                    pairs += 1
                    right += float(score[first] > score[second])
    assert 40 < len(gains) < 60
    assert found["ndcg"] == pytest.approx(sum(gains) / len(gains), rel=1e-6)
    assert found["mrr"] == pytest.approx(sum(places) / len(places), rel=1e-6)
    assert found["pair_accuracy"] == pytest.approx(right / pairs)


def test_orders_by_hand_with_equal_scores() -> None:
    """One query: ranks 3, 0, 1; the first two share places 1 and 2, the last is at 3."""
    ranks = torch.tensor([[3.0, 0.0, 1.0, NAN]]).repeat(9, 1)
    scores = torch.tensor([[5.0, 5.0, 1.0, 99.0]]).repeat(9, 1)
    found, _ = measured(Ranking(), facts("ranks", 1), scores, ranks)
    shared = (1 + 1 / math.log2(3)) / 2
    assert found["ndcg"] == pytest.approx((3 * shared + 1 / 2) / (3 + 1 / math.log2(3)))
    assert found["mrr"] == pytest.approx(1 / 2)
    assert found["pair_accuracy"] == pytest.approx(1.5 / 3)  # 3 > 0 is half in order, 3 > 1 is, 1 > 0 is not


def test_of_pupils() -> None:
    outputs, targets, taught = drawn(50, 4), numbers(4, 50), drawn(50, 4, seed=5)
    found, tables = measured(Distillation(teacher="t"), facts("class", 4), outputs, with_answers(targets, taught))
    assert found["accuracy"] == pytest.approx((outputs.argmax(1) == targets).float().mean().item())
    assert found["agreement"] == pytest.approx((outputs.argmax(1) == taught.argmax(1)).float().mean().item())
    assert sum(map(sum, tables["confusion"])) == 50


def test_of_masks() -> None:
    from torchmetrics.functional import classification as ours

    outputs, targets = drawn(20, 5, 6, 6), numbers(4, 20, 6, 6)
    outputs[:, 4] -= 99.0  # a class that is neither there nor answered
    outputs.scatter_add_(1, targets[:, None], torch.full_like(outputs, 1.5))
    targets[:, 0] = IGNORED
    found, tables = measured(Segmentation(), facts("mask", 5), outputs, targets)
    some: dict[str, Any] = {"num_classes": 5, "ignore_index": IGNORED}
    assert found["mean_iou"] == pytest.approx(
        ours.multiclass_jaccard_index(outputs, targets, average="macro", **some).item()
    )
    each = ours.multiclass_jaccard_index(outputs, targets, average=None, **some)
    assert tables["iou"][:4] == pytest.approx(each[:4].tolist())
    assert tables["iou"][4] is None
    accuracy = ours.multiclass_accuracy(outputs, targets, average="micro", **some)
    assert found["pixel_accuracy"] == pytest.approx(accuracy.item())
    dice = ours.multiclass_f1_score(outputs, targets, average=None, **some)
    assert tables["dice"][:4] == pytest.approx(dice[:4].tolist())
    assert found["dice"] == pytest.approx(dice[:4].mean().item())
    assert sum(map(sum, tables["confusion"])) == 20 * 5 * 6


def test_masks_of_one_logit() -> None:
    logit, targets = drawn(20, 1, 4, 4), numbers(2, 20, 4, 4)
    both = torch.cat([torch.zeros_like(logit), logit], 1)
    single, _ = measured(Segmentation(loss="dice_bce"), facts("mask", 2), logit, targets)
    double, _ = measured(Segmentation(loss="dice_cross_entropy"), facts("mask", 2), both, targets)
    assert single == pytest.approx(double)


def test_of_text() -> None:
    from torchmetrics.functional.text import perplexity

    outputs, targets = drawn(20, 8, 5), numbers(5, 20, 8)
    targets[:, ::3] = IGNORED
    data = facts("tokens", 5, vocabulary="characters")
    found, _ = measured(LanguageModel(label_smoothing=0.2), data, outputs, targets)
    wanted = perplexity(outputs, targets, ignore_index=IGNORED).item()
    assert found["perplexity"] == pytest.approx(wanted, rel=1e-5)
    assert found["bits_per_character"] == pytest.approx(math.log2(wanted), rel=1e-5)
    seen = targets != IGNORED
    assert found["accuracy"] == pytest.approx((outputs.argmax(-1) == targets)[seen].float().mean().item())
    plain = functional.cross_entropy(outputs.flatten(0, 1), targets.flatten(), label_smoothing=0.2)
    assert found["loss"] == pytest.approx(plain.item())
    other, _ = measured(LanguageModel(), facts("tokens", 5, vocabulary="bpe"), outputs, targets)
    assert "bits_per_character" not in other


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(
    ("config", "data", "outputs", "targets"),
    [
        (Classification(ranking_metrics=True, balanced=True), facts("class", 7, counts=(1, 2, 3, 4, 5, 6, 7)), (9, 7), numbers(7, 9)),
        (Binary(balanced=True), facts("class", 2, counts=(5, 4)), (9, 1), numbers(2, 9)),
        (MultiLabel(), facts("labels", 3), (9, 3), numbers(2, 9, 3).float()),
        (Regression(), facts("values", 2, target_mean=(0.0, 1.0), target_std=(1.0, 2.0)), (9, 2), drawn(9, 2)),
        (Ranking(), facts("ranks", 1), (9, 4), numbers(3, 9, 4).float()),
        (Segmentation(loss="dice_cross_entropy"), facts("mask", 3), (9, 3, 4, 4), numbers(3, 9, 4, 4)),
        (LanguageModel(), facts("tokens", 5), (9, 4, 5), numbers(5, 9, 4)),
        (Distillation(teacher="t"), facts("class", 3), (9, 3), with_answers(numbers(3, 9), drawn(9, 3))),
    ],
)  # fmt: skip
def test_gathering_never_waits_for_the_device(
    config: Objective, data: DataFacts, outputs: tuple[int, ...], targets: Tensor
) -> None:
    device = torch.device("cuda")
    objective = make_objective(config, data, device)
    batch = drawn(*outputs).to(device), targets.to(device)
    torch.cuda.set_sync_debug_mode("error")
    try:
        objective.loss.sum(*batch)
        objective.loss.weigh(batch[1])
        for each in (*objective.metrics.values(), *objective.tables.values()):
            each.measure(*batch)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert evaluate_batches(objective, [batch])[0]["loss"] > 0
