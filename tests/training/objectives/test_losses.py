"""Each loss against torch's own class, in float64, or against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
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
from training.errors import InputError
from training.facts import IGNORED, DataFacts
from training.objectives import make_objective

CPU = torch.device("cpu")
NAN = math.nan


def classes(count: int, counts: tuple[int, ...] = ()) -> DataFacts:
    return DataFacts("vector", (3,), "class", tuple("abcdefghij"[:count]), sum(counts), counts)


VALUES = DataFacts("vector", (3,), "values", ("price", "size"), 100, (), (4000.0, 0.5), (3000.0, 0.01))
LABELS = DataFacts("vector", (3,), "labels", ("red", "round", "ripe"), 100, (50, 20, 1))
LISTS = DataFacts("list", (4, 3), "ranks", ("stars",), 10)
MASKS = DataFacts("image", (3, 4, 4), "mask", ("ground", "road", "car"), 10, (100, 50, 10))
TEXT = DataFacts("tokens", (6,), "tokens", tuple("abcde"), 10, vocabulary="characters")


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 2


def numbers(high: int, *shape: int, seed: int = 1) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def whole(config: Objective, facts: DataFacts, outputs: Tensor, targets: Tensor) -> Tensor:
    """The loss of one window that is one batch."""
    objective = make_objective(config, facts, CPU)
    return objective.loss(outputs, targets, objective.loss_weight(targets) if objective.is_weighted else len(targets))


def ignoring(targets: Tensor) -> Tensor:
    marked = targets.clone()
    marked.flatten()[::3] = IGNORED
    return marked


def cases() -> list[Any]:
    """Objective, facts, outputs, targets, and what torch's own class makes of them."""
    some, weights = drawn(12, 3), torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64)
    labels, hard = numbers(3, 12), functional.one_hot(numbers(3, 12), 3).double()
    soft = 0.7 * hard + 0.3 * hard.roll(1, 0)
    balanced = 160 / (3 * torch.tensor([100.0, 50.0, 10.0], dtype=torch.float64))
    found: list[Any] = []

    def add(name: str, config: Objective, facts: DataFacts, outputs: Tensor, targets: Tensor, wanted: Tensor) -> None:
        found.append(pytest.param(config, facts, outputs, targets, wanted, id=name))

    three = classes(3, (100, 50, 10))
    add("cross-entropy", Classification(), three, some, labels, nn.CrossEntropyLoss()(some, labels))
    add(
        "weights and smoothing",
        Classification(class_weights=(0.5, 2.0, 7.0), label_smoothing=0.2),
        three, some, labels, nn.CrossEntropyLoss(weights, label_smoothing=0.2)(some, labels),
    )  # fmt: skip
    add("balanced", Classification(balanced=True), three, some, labels, nn.CrossEntropyLoss(balanced)(some, labels))
    add(
        "an ignored class",
        Classification(ignore_index=1, class_weights=(0.5, 2.0, 7.0)),
        three, some, labels, nn.CrossEntropyLoss(weights, ignore_index=1)(some, labels),
    )  # fmt: skip
    add(
        "mixed samples",
        Classification(class_weights=(0.5, 2.0, 7.0), label_smoothing=0.1),
        three, some, soft, nn.CrossEntropyLoss(weights, label_smoothing=0.1)(some, soft),
    )  # fmt: skip
    logit, yes = drawn(12, 1), numbers(2, 12)
    add("yes or no", Binary(), classes(2), logit, yes, nn.BCEWithLogitsLoss()(logit[:, 0], yes.double()))
    shares = torch.stack([0.3 + 0.4 * yes, 0.7 - 0.4 * yes], 1)
    wanted = nn.BCEWithLogitsLoss()(logit[:, 0], shares[:, 1].double())
    add("mixed yes and no", Binary(), classes(2), logit, shares, wanted)
    nine = torch.tensor(9.0, dtype=torch.float64)
    for config in (Binary(pos_weight=9.0), Binary(balanced=True)):
        wanted = nn.BCEWithLogitsLoss(pos_weight=nine)(logit[:, 0], yes.double())
        add(f"weighed {config.balanced}", config, classes(2, (90, 10)), logit, yes, wanted)
    many, carried = drawn(12, 3), numbers(2, 12, 3).float()
    add("labels", MultiLabel(), LABELS, many, carried, nn.BCEWithLogitsLoss()(many, carried.double()))
    wanted = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 4.0, 99.0], dtype=torch.float64))(
        many, carried.double()
    )
    add("balanced labels", MultiLabel(balanced=True), LABELS, many, carried, wanted)
    add("given labels", MultiLabel(pos_weight=(1.0, 4.0, 99.0)), LABELS, many, carried, wanted)
    answers, truth = drawn(12, 2), drawn(12, 2, seed=5)
    mse, l1, huber = (loss(answers, truth) for loss in (nn.MSELoss(), nn.L1Loss(), nn.HuberLoss(delta=0.7)))
    plain: dict[str, Any] = {"standardise": False, "delta": 0.7}
    add("mse", Regression(**plain), VALUES, answers, truth, mse)
    add("l1", Regression(loss="l1", **plain), VALUES, answers, truth, l1)
    add("huber", Regression(loss="huber", **plain), VALUES, answers, truth, huber)
    mixed = Regression(loss="weighted_sum", mse_weight=0.5, l1_weight=2.0, huber_weight=3.0, **plain)
    add("weighted sum", mixed, VALUES, answers, truth, 0.5 * mse + 2 * l1 + 3 * huber)
    own = truth * torch.tensor([3000.0, 0.01], dtype=torch.float64) + torch.tensor([4000.0, 0.5], dtype=torch.float64)
    add("standardized", Regression(loss="l1"), VALUES, answers, own, l1)
    text, tokens = drawn(4, 6, 5), ignoring(numbers(5, 4, 6))
    wanted = nn.CrossEntropyLoss(label_smoothing=0.1)(text.flatten(0, 1), tokens.flatten())
    add("tokens", LanguageModel(label_smoothing=0.1), TEXT, text, tokens, wanted)
    pixels, mask = drawn(5, 3, 4, 4), ignoring(numbers(3, 5, 4, 4))
    add("pixels", Segmentation(), MASKS, pixels, mask, nn.CrossEntropyLoss()(pixels, mask))
    add(
        "balanced pixels", Segmentation(balanced=True), MASKS, pixels, mask, nn.CrossEntropyLoss(balanced)(pixels, mask)
    )
    teacher, warm = drawn(12, 3, seed=9), Distillation(teacher="t", temperature=3.0, alpha=0.6)
    kept = nn.KLDivLoss(reduction="batchmean")(functional.log_softmax(some / 3, 1), functional.softmax(teacher / 3, 1))
    for name, target in (("taught", labels), ("taught, mixed", soft)):
        wanted = 0.6 * 9 * kept + 0.4 * nn.CrossEntropyLoss()(some, target)
        add(name, warm, three, some, with_answers(target, teacher).double(), wanted)
    return found


@pytest.mark.parametrize(("config", "facts", "outputs", "targets", "wanted"), cases())
def test_loss_is_torchs_own(
    config: Objective, facts: DataFacts, outputs: Tensor, targets: Tensor, wanted: Tensor
) -> None:
    loss = whole(config, facts, outputs, targets)
    assert loss.dtype == torch.float64
    torch.testing.assert_close(loss, wanted.double(), rtol=2e-7, atol=1e-9)  # targets and weights are float32


@pytest.mark.parametrize(("config", "facts", "outputs", "targets", "wanted"), cases())
def test_gradients_of_a_window_in_pieces_are_those_of_the_whole(
    config: Objective, facts: DataFacts, outputs: Tensor, targets: Tensor, wanted: Tensor
) -> None:
    once, parts = outputs.clone().requires_grad_(), outputs.clone().requires_grad_()
    whole(config, facts, once, targets).backward()
    objective = make_objective(config, facts, CPU)
    sizes = [1, 2, len(targets) - 4, 1]
    pieces = targets.split(sizes)
    weight: int | Tensor = len(targets)
    if objective.is_weighted:
        weight = objective.loss_weight(pieces[0])
        for piece in pieces[1:]:
            weight = weight + objective.loss_weight(piece)
    total = sum(objective.loss(some, piece, weight) for some, piece in zip(parts.split(sizes), pieces, strict=True))
    assert isinstance(total, Tensor)
    total.backward()
    torch.testing.assert_close(total.detach(), wanted.double(), rtol=2e-7, atol=1e-9)
    assert once.grad is not None
    torch.testing.assert_close(parts.grad, once.grad, rtol=1e-6, atol=1e-12)
    if not targets.is_floating_point() or facts.target != "class":  # only training mixes samples
        metrics, _ = evaluate_batches(objective, zip(outputs.split(sizes), pieces, strict=True))
        assert metrics["loss"] == pytest.approx(wanted.item(), rel=2e-7)


@pytest.mark.parametrize(("config", "facts", "outputs", "targets", "wanted"), cases())
def test_half_precision_is_widened_before_it_can_overflow(
    config: Objective, facts: DataFacts, outputs: Tensor, targets: Tensor, wanted: Tensor
) -> None:
    targets = targets.float() if targets.is_floating_point() else targets
    repeated = (outputs.half().repeat(3000, *[1] * (outputs.ndim - 1)), targets.repeat(3000, *[1] * (targets.ndim - 1)))
    loss = whole(config, facts, *repeated)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss.double(), wanted.double(), rtol=5e-3, atol=1e-3)


# ------------------------------------------------------------------------------------------------------------ Dice

TWO = DataFacts("image", (3, 2, 2), "mask", ("ground", "road"), 10)


def certain(mask: Tensor, wrong: Tensor, count: int) -> Tensor:
    """Logits of networks that are sure of ``mask``, except where ``wrong`` says another class."""
    answered = torch.where(wrong >= 0, wrong, mask)
    return functional.one_hot(answered, count).movedim(-1, 1).double() * 2000 - 1000


def test_dice_by_hand() -> None:
    """Image 1: ground 1 and road 3 pixels, one road pixel called ground: Dice 2*1/(1+2) and 2*2/(3+2). Image 2: all
    ground, two called road: 2*2/(4+2); road is not there and does not count."""
    mask = torch.tensor([[[0, 1], [1, 1]], [[0, 0], [0, 0]]])
    wrong = torch.tensor([[[-1, 0], [-1, -1]], [[1, 1], [-1, -1]]])
    loss = whole(Segmentation(loss="dice", smooth=0.0), TWO, certain(mask, wrong, 2), mask)
    first, second = 1 - (2 / 3 + 4 / 5) / 2, 1 - 4 / 6
    assert loss.item() == pytest.approx((first + second) / 2, rel=1e-12)
    smoothed = whole(Segmentation(loss="dice", smooth=1.0), TWO, certain(mask, wrong, 2), mask)
    first, second = 1 - (3 / 4 + 5 / 6) / 2, 1 - 5 / 7
    assert smoothed.item() == pytest.approx((first + second) / 2, rel=1e-12)


def test_ignored_pixels_are_left_out_of_dice_and_images_without_any_class_out_of_the_mean() -> None:
    mask = torch.tensor([[[0, 1], [1, 1]], [[IGNORED, IGNORED], [IGNORED, IGNORED]]])
    mask[0, 1, 1] = IGNORED
    wrong = torch.full((2, 2, 2), -1)
    wrong[0, 0, 1], wrong[0, 1, 1] = 0, 0  # the second one is ignored
    outputs = certain(mask.clamp(min=0), wrong, 2)
    loss = whole(Segmentation(loss="dice", smooth=0.0), TWO, outputs, mask)
    assert loss.item() == pytest.approx(1 - (2 / 3 + 2 / 3) / 2, rel=1e-12)


def test_dice_of_soft_answers_by_hand() -> None:
    mask = torch.tensor([[[0, 0], [0, 1]]])
    share = torch.tensor([[[0.9, 0.8], [0.5, 0.3]]], dtype=torch.float64)  # of ground
    outputs = torch.stack([share, 1 - share], 1).log()
    ground, road = 2 * 2.2 / (2.5 + 3), 2 * 0.7 / (1.5 + 1)
    loss = whole(Segmentation(loss="dice", smooth=0.0), TWO, outputs, mask)
    assert loss.item() == pytest.approx(1 - (ground + road) / 2, rel=1e-12)


@pytest.mark.parametrize("weights", [(), (1.0, 3.0)])
def test_dice_and_cross_entropy_are_mixed_by_their_shares(weights: tuple[float, ...]) -> None:
    logit, mask = drawn(6, 1, 2, 2), ignoring(numbers(2, 6, 2, 2))
    both = torch.cat([torch.zeros_like(logit), logit], 1)
    dice = whole(Segmentation(loss="dice"), TWO, both, mask)
    entropy = whole(Segmentation(class_weights=weights), TWO, both, mask)
    config: dict[str, Any] = {"dice_weight": 0.3, "class_weights": weights}
    mixed = whole(Segmentation(loss="dice_cross_entropy", **config), TWO, both, mask)
    torch.testing.assert_close(mixed, 0.3 * dice + 0.7 * entropy)
    # One logit and a sigmoid say the same as two and a softmax.
    single = whole(Segmentation(loss="dice_bce", **config), TWO, logit, mask)
    torch.testing.assert_close(single, mixed)
    pieces = make_objective(Segmentation(loss="dice_bce", **config), TWO, CPU)
    weight = pieces.loss_weight(mask[:4]) + pieces.loss_weight(mask[4:])
    torch.testing.assert_close(
        pieces.loss(logit[:4], mask[:4], weight) + pieces.loss(logit[4:], mask[4:], weight), mixed
    )


# --------------------------------------------------------------------------------------------------------- ranking


def test_margin_ranking_by_hand() -> None:
    """Query 1: pairs (b, a), (b, c), (a, c) with differences 1, 3, 2; query 2: one pair, 0.5 the wrong way; query 3: all
    alike."""
    ranks = torch.tensor([[2.0, 3.0, 1.0, NAN], [1.0, 0.0, NAN, NAN], [1.0, 1.0, 1.0, 1.0]])
    scores = torch.tensor([[2.0, 3.0, 0.0, 99.0], [0.0, 0.5, 99.0, -99.0], [1.0, 2.0, 3.0, 4.0]], dtype=torch.float64)
    for outputs in (scores, scores[:, :, None]):
        loss = whole(Ranking(margin=2.5), LISTS, outputs, ranks)
        assert loss.item() == pytest.approx(((1.5 + 0.0 + 0.5) / 3 + 3.0) / 2, rel=1e-12)


def test_a_pair_costs_what_torch_says() -> None:
    scores, ranks = drawn(9, 2), torch.tensor([[0.0, 1.0]]).repeat(9, 1)
    ranks[::2] = ranks[::2].flip(1)
    sign = (ranks[:, 0] - ranks[:, 1]).double()
    wanted = nn.MarginRankingLoss(margin=0.7)(scores[:, 0], scores[:, 1], sign)
    torch.testing.assert_close(whole(Ranking(margin=0.7), LISTS, scores, ranks), wanted)


# ---------------------------------------------------------------------------------------------------- distillation


def test_distillation_by_hand() -> None:
    """Teacher 3 : 1 and student 1 : 1 at temperature 2: the logits halve, so the teacher says sqrt(3) : 1."""
    outputs = torch.zeros(1, 2, dtype=torch.float64)
    targets = with_answers(torch.tensor([1]), torch.tensor([[3.0, 1.0]]).log())
    share = math.sqrt(3) / (1 + math.sqrt(3))
    divergence = share * math.log(2 * share) + (1 - share) * math.log(2 * (1 - share))
    wanted = 0.25 * 4 * divergence + 0.75 * math.log(2)
    config = Distillation(teacher="t", temperature=2.0, alpha=0.25)
    assert whole(config, classes(2), outputs, targets).item() == pytest.approx(wanted, rel=1e-6)


def test_a_teacher_is_agreed_with_at_no_cost() -> None:
    outputs = drawn(8, 3).float()
    targets = with_answers(numbers(3, 8), outputs)
    assert whole(Distillation(teacher="t", alpha=1.0), classes(3), outputs, targets).item() == pytest.approx(
        0, abs=1e-6
    )


# ------------------------------------------------------------------------------------------------------ the others


def test_a_window_of_nothing_but_ignored_places_costs_nothing() -> None:
    for config, facts, outputs, targets in (
        (Segmentation(loss="dice_cross_entropy"), MASKS, drawn(2, 3, 4, 4), torch.full((2, 4, 4), IGNORED)),
        (LanguageModel(), TEXT, drawn(2, 6, 5), torch.full((2, 6), IGNORED)),
        (Ranking(), LISTS, drawn(2, 4), torch.ones(2, 4)),
        (Classification(ignore_index=0), classes(3), drawn(2, 3), torch.zeros(2, dtype=torch.int64)),
    ):
        outputs.requires_grad_()
        loss = whole(config, facts, outputs, targets)
        loss.backward()
        assert loss.item() == 0.0
        assert outputs.grad is not None
        assert not outputs.grad.any()


def guesses() -> list[Any]:
    return [
        (Classification(class_weights=(1.0, 2.0, 9.0)), classes(3), torch.zeros(12, 3), numbers(3, 12)),
        (Binary(balanced=True), classes(2, (90, 10)), torch.zeros(100, 1), (torch.arange(100) >= 90).long()),
        (MultiLabel(), LABELS, torch.zeros(12, 3), numbers(2, 12, 3).float()),
        (MultiLabel(pos_weight=(1.0, 2.0, 3.0)), LABELS, torch.zeros(100, 3), _carried((50, 20, 1))),
        (Ranking(margin=0.3), LISTS, torch.zeros(3, 4), torch.tensor([[1.0, 2.0, 3.0, NAN]] * 3)),
        (Segmentation(balanced=True), MASKS, torch.zeros(2, 3, 4, 4), numbers(3, 2, 4, 4)),
        (LanguageModel(), TEXT, torch.zeros(2, 6, 5), ignoring(numbers(5, 2, 6))),
    ]


def _carried(counts: tuple[int, ...]) -> Tensor:
    return torch.stack([torch.arange(100) < count for count in counts], 1).float()


@pytest.mark.parametrize(("config", "facts", "outputs", "targets"), guesses())
def test_initial_loss_is_that_of_knowing_nothing(
    config: Objective, facts: DataFacts, outputs: Tensor, targets: Tensor
) -> None:
    expected = make_objective(config, facts, CPU).initial_loss
    assert whole(config, facts, outputs, targets).item() == pytest.approx(expected, rel=1e-5)


def test_spread_and_outputs_are_those_of_the_settings() -> None:
    assert make_objective(Regression(), VALUES, CPU).spread == ((4000.0, 0.5), (3000.0, 0.01))
    assert make_objective(Regression(standardise=False), VALUES, CPU).spread is None
    assert make_objective(Segmentation(loss="dice_bce"), TWO, CPU).outputs == 1


@pytest.mark.parametrize(
    ("config", "facts", "sentence"),
    [
        (
            Binary(),
            classes(10),
            "objective.kind: binary needs exactly two classes, but the data has 10 (a, b, c, d, e, f",
        ),
        (
            Classification(class_weights=(1.0, 2.0)),
            classes(3),
            "objective.class_weights: holds 2 weights, but the data",
        ),
        (Classification(ignore_index=3), classes(3), "objective.ignore_index: is 3, but the data's 3 classes are"),
        (
            MultiLabel(pos_weight=(1.0,)),
            LABELS,
            "objective.pos_weight: holds 1 weights, but the data has 3 (red, round",
        ),
        (
            Segmentation(loss="dice_bce"),
            MASKS,
            "objective.loss: dice_bce is for masks of two classes, but the data has 3",
        ),
    ],
)
def test_what_the_data_does_not_allow_is_refused(config: Objective, facts: DataFacts, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        make_objective(config, facts, CPU)
    assert refused.value.message.startswith(sentence)
