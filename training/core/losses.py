"""Losses: functions that sum over a batch, and what such sums are divided by.

The mean that is minimized is one over all batches of an optimizer step, however short the last of them is. All functions
take outputs in float32 or float64, and targets of that format unless they are integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class Loss(NamedTuple):
    """The mean of what ``function`` sums over batches, divided by what ``weigh`` makes of their targets: of a step's or of all."""

    function: Callable[[Tensor, Tensor], Tensor]
    weigh: Callable[[Tensor], int | Tensor] = len
    mean: Callable[[Tensor, Any], Tensor] = torch.div

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Over a batch, in float32 at least: half precision would overflow."""
        outputs = outputs.to(torch.promote_types(outputs.dtype, torch.float32))
        return self.function(outputs, targets.to(outputs.dtype) if targets.is_floating_point() else targets)

    def __call__(self, outputs: Tensor, targets: Tensor, weight: float | Tensor) -> Tensor:
        """The batch's share of the mean over a step whose batches weigh ``weight`` together."""
        return self.mean(self.sum(outputs, targets), weight + (weight == 0))  # where nothing counts the sum is 0


def widen(outputs: Tensor) -> Tensor:
    """float32 at least."""
    return outputs if outputs.dtype == torch.float64 else outputs.float()


def sum_own(outputs: Tensor, targets: Tensor, own: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The sum over a batch of the loss ``own``, which answers the mean over its samples (0-dim), or a number for each (n, ...)."""
    found = own(outputs, targets)
    return (
        found * len(targets) if found.dim() == 0 else found.flatten(1).mean(1).sum() if found.dim() > 1 else found.sum()
    )


def stack_terms(*batch: Tensor, functions: Sequence[Callable[..., Any]]) -> Tensor:
    """What each of the functions makes of the batch, 0-dim: (functions,)."""
    return torch.stack([function(*batch) for function in functions])


def add_shares(terms: Tensor, shares: Sequence[float]) -> Tensor:
    """The sum of share * term: 0-dim, of terms (shares,)."""
    first, *more = [share * term for share, term in zip(shares, terms.unbind(), strict=True)]
    return sum(more, first)


def add_means(totals: Tensor, weights: Tensor | float, shares: Sequence[float]) -> Tensor:
    """The mean of a loss of several terms, each with its share: their ``totals`` (shares,) are divided by ``weights`` of that
    shape, or by the one of all."""
    return add_shares(totals / weights, shares)


def share_means(totals: Tensor, weights: Tensor, share: float) -> Tensor:
    """``add_means`` with ``share`` of the second term and the rest of the first."""
    return add_means(totals, weights, (1.0 - share, share))


def mean_of_sum(totals: Tensor, weight: Tensor | float, shares: Sequence[float]) -> Tensor:
    """``add_means`` of terms that all have one ``weight``: the sum is divided, once."""
    return add_shares(totals, shares) / weight


# ------------------------------------------------------------------------------------------------------- classes


def weighted_cross_entropy(
    outputs: Tensor,
    targets: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """``functional.cross_entropy`` of logits (n, classes) and targets int64 (n,), or (n, classes) of mixed samples."""
    weight = None if weight is None else weight.to(outputs.dtype)
    return functional.cross_entropy(
        outputs, targets, weight, ignore_index=ignore_index, reduction="sum", label_smoothing=label_smoothing
    )


def weigh_samples(targets: Tensor, weight: Tensor | None = None, ignore_index: int = -100) -> Tensor:
    """What ``nn.CrossEntropyLoss`` divides by: the weights of the samples' classes, of mixed samples their number."""
    if targets.is_floating_point():
        return targets.new_full((), len(targets), dtype=torch.float32)
    return weigh_classes(targets, weight, ignore_index)


def weigh_classes(targets: Tensor, weight: Tensor | None = None, ignore_index: int = -100) -> Tensor:
    """The sum of the ``weight`` (classes,) of all targets' classes, else how many there are; without those to ignore."""
    counted = targets != ignore_index
    return counted.sum().float() if weight is None else (weight[targets.clamp(min=0)] * counted).sum()


def token_cross_entropy(outputs: Tensor, targets: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """``functional.cross_entropy`` of logits (n, T, tokens) and the tokens that follow, int64 (n, T), -100 to ignore."""
    logits = outputs.flatten(0, -2)
    return functional.cross_entropy(logits, targets.flatten(), reduction="sum", label_smoothing=label_smoothing)


def binary_cross_entropy(outputs: Tensor, targets: Tensor, pos_weight: Tensor | None = None) -> Tensor:
    """``functional.binary_cross_entropy_with_logits`` of one logit (n, 1) for the second of two classes; targets int64
    (n,), or (n, 2) of mixed samples."""
    share = targets[:, 1] if targets.is_floating_point() else targets.to(outputs.dtype)
    weight = None if pos_weight is None else pos_weight.to(outputs.dtype)
    return functional.binary_cross_entropy_with_logits(outputs[:, 0], share, pos_weight=weight, reduction="sum")


def label_cross_entropy(outputs: Tensor, targets: Tensor, pos_weight: Tensor | None = None) -> Tensor:
    """``functional.binary_cross_entropy_with_logits`` of logits (n, labels) and targets of 0 and 1: a sample's is the mean
    over its labels."""
    weight = None if pos_weight is None else pos_weight.to(outputs.dtype)
    total = functional.binary_cross_entropy_with_logits(outputs, targets, pos_weight=weight, reduction="sum")
    return total / targets.shape[1]


def distillation_terms(outputs: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """KL(teacher || student), both softened by the ``temperature`` T, and cross-entropy: (2,). Targets are those that
    ``with_answers`` makes."""
    truth, answers = split_answers(targets, outputs.shape[1])
    student, teacher = [functional.log_softmax(logits / temperature, dim=1) for logits in (outputs, answers)]
    soft = functional.kl_div(student, teacher, reduction="sum", log_target=True)
    return torch.stack([soft, functional.cross_entropy(outputs, truth, reduction="sum")])


def distillation_mean(totals: Tensor, weight: Tensor | float, temperature: float, alpha: float) -> Tensor:
    """alpha * T² * the first term + (1 - alpha) * the second (Hinton, Vinyals and Dean, 2015; T² keeps the gradients' size)."""
    return mean_of_sum(totals, weight, (alpha * temperature**2, 1.0 - alpha))


def with_answers(targets: Tensor, logits: Tensor) -> Tensor:
    """Targets (n,) int64, or (n, classes) of mixed samples, as float32, and behind them the teacher's logits (n, classes)."""
    return torch.cat([targets.float().view(len(targets), -1), logits.float()], dim=1)  # exact up to 16 million classes


def split_answers(targets: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """The targets and the teacher's logits that ``with_answers`` joined."""
    truth, answers = targets[:, :-classes], targets[:, -classes:]
    return truth[:, 0].long() if truth.shape[1] == 1 else truth, answers


def pixel_classes(masks: Tensor) -> Tensor:
    """The class of each pixel, -100 where there is none (255 in the masks): such a pixel counts nowhere."""
    return masks.long().masked_fill(masks == 255, -100)


# ----------------------------------------------------------------------------------------------- values and orders


def mean_error(
    outputs: Tensor, targets: Tensor, error: Callable[..., Tensor], mean: Tensor | float = 0, std: Tensor | float = 1
) -> Tensor:
    """The ``error`` (``functional.mse_loss``, ``l1_loss`` or ``huber_loss``) of outputs (n, values) against targets of that shape in
    standard deviations ``std`` from their ``mean``, both (values,): a sample's is the mean over its values."""
    return error(outputs, (targets - mean) / std, reduction="sum") / targets.shape[1]


def stack_errors(outputs: Tensor, targets: Tensor, reduction: str, errors: Sequence[Callable[..., Tensor]]) -> Tensor:
    """What each of the ``errors`` of ``mean_error`` makes of the batch: (errors,)."""
    return torch.stack([error(outputs, targets, reduction=reduction) for error in errors])


def margin_ranking(outputs: Tensor, targets: Tensor, margin: float) -> Tensor:
    """``functional.margin_ranking_loss`` of scores (n, items) or (n, items, 1) against ranks (n, items), the higher the
    better, NaN for no item.

    Each pair of a query's items of which one suits better costs max(0, margin - (its score - the other's)). A query's
    loss is the mean over its pairs."""
    scores, better = outputs.reshape(targets.shape), compare_items(targets)
    costs = (margin - (scores[:, :, None] - scores[:, None, :])).clamp(min=0.0)
    sums = torch.where(better, costs, torch.zeros_like(costs)).sum((1, 2))
    return (sums / better.sum((1, 2)).clamp(min=1)).sum()


def count_queries(targets: Tensor) -> Tensor:
    """How many have items that are not all alike."""
    return compare_items(targets).any(2).any(1).sum().float()


def compare_items(ranks: Tensor) -> Tensor:
    """bool (n, items, items): whether the first suits better than the second; never where one is NaN."""
    return ranks[:, :, None] > ranks[:, None, :]


# ----------------------------------------------------------------------------------------------- several targets


def of_task(outputs: Tensor, targets: Tensor, pick: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """A loss or a measure of one of several targets, of the outputs and targets that ``pick`` takes of all."""
    return function(*pick(outputs, targets))


def pick_class(outputs: Tensor, targets: Tensor, first: int, last: int, task: int) -> tuple[Tensor, Tensor]:
    """The logits in the columns from ``first`` to ``last``, and the classes int64 (n,) of number ``task``."""
    return outputs[:, first:last], targets[:, task].long()


def pick_value(outputs: Tensor, targets: Tensor, first: int, last: int, task: int) -> tuple[Tensor, Tensor]:
    """(n, 1) each, likewise."""
    return outputs[:, first:last], targets[:, task : task + 1]


# --------------------------------------------------------------------------------------------------------- masks


def pixel_cross_entropy(outputs: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """``functional.cross_entropy`` of logits (n, classes, H, W) and masks int64 (n, H, W), -100 to ignore."""
    # As a list of pixels: torch's kernel for images never repeats to the bit on a GPU.
    pixels = outputs.movedim(1, -1).reshape(-1, outputs.shape[1])
    return weighted_cross_entropy(pixels, targets.reshape(-1), weight)


def pixel_binary_cross_entropy(outputs: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """The same of one logit (n, 1, H, W) for the second of two classes."""
    counted = (targets != -100).to(outputs.dtype)
    pixels = counted if weight is None else weight.to(outputs.dtype)[targets.clamp(min=0)] * counted
    truth = (targets == 1).to(outputs.dtype)
    return functional.binary_cross_entropy_with_logits(outputs[:, 0], truth, pixels, reduction="sum")


def dice_loss(outputs: Tensor, targets: Tensor, probabilities: Callable[[Tensor], Tensor], smooth: float) -> Tensor:
    """1 - the Dice overlap of what is answered and what is true; masks int64 (n, H, W), -100 to ignore.

    An image's is the mean, over the classes that its mask shows, of 1 - (2 * sum(p * t) + smooth) / (sum(p) + sum(t) +
    smooth): p the probability of the class, t 1 in its pixels (Milletari et al., 2016, without squares). Absent classes
    have no Dice of their own: what is wrongly called so is missing where it belongs. ``probabilities`` makes them of
    the outputs, (n, classes, H, W)."""
    chances = probabilities(outputs).flatten(2)
    classes = torch.arange(chances.shape[1], device=targets.device)[:, None]
    truth = (targets.flatten(1)[:, None] == classes).to(chances.dtype)
    chances = chances * truth.sum(1, keepdim=True)  # 0 where a pixel is ignored
    areas, both = truth.sum(2), (chances * truth).sum(2)
    scores = (2.0 * both + smooth) / (chances.sum(2) + areas + smooth)
    shown = areas > 0
    losses = torch.where(shown, 1.0 - scores, torch.zeros_like(scores)).sum(1)
    return (losses / shown.sum(1).clamp(min=1)).sum()


def count_masks(targets: Tensor) -> Tensor:
    """How many show any class."""
    return (targets != -100).flatten(1).any(1).sum().float()


def softmax_probabilities(outputs: Tensor) -> Tensor:
    """Of logits (n, classes, ...), of that shape."""
    return functional.softmax(outputs, dim=1)


def sigmoid_probabilities(outputs: Tensor) -> Tensor:
    """Of one logit (n, 1, ...) for the second of two classes: (n, 2, ...)."""
    second = torch.sigmoid(outputs)
    return torch.cat([1.0 - second, second], dim=1)


# ---------------------------------------------------------------------------------------------------- embeddings
#
# These compare the samples of a batch with each other: each batch is a set of pairs of its own. Outputs (views * n, size)
# may show every sample several times, all samples in each view, while targets stay (n,).


def last_views(outputs: Tensor, targets: Tensor, views: int, unit: bool) -> tuple[Tensor, Tensor]:
    """The last ``views`` of the samples in outputs (any * n, size), divided by their lengths where ``unit``, and the class of
    each, int64 (views * n,)."""
    embeddings = outputs[-views * len(targets) :]
    return functional.normalize(embeddings, dim=1) if unit else embeddings, targets.repeat(views)


def pair_classes(targets: Tensor) -> tuple[Tensor, Tensor]:
    """bool (n, n) each: whether two are different samples of one class, and whether they are of two classes."""
    alike = targets[:, None] == targets
    itself = torch.eye(len(targets), dtype=torch.bool, device=targets.device)
    return alike & ~itself, ~alike


def pair_distances(embeddings: Tensor) -> Tensor:
    """Euclidean, (n, n). The gradient is 0 where two lie in one place, which have no direction to go apart."""
    points = embeddings - embeddings.detach().mean(0)  # nearer to 0, where differences of squares lose fewer digits
    lengths = points.square().sum(1)
    squares = lengths[:, None] + lengths - 2.0 * points @ points.T
    apart = squares > 0.0
    return torch.where(apart, torch.where(apart, squares, torch.ones_like(squares)).sqrt(), torch.zeros_like(squares))


def count_anchors(targets: Tensor, views: int = 1) -> Tensor:
    """How many of the batch have both another of their class and one of another class to be compared with."""
    same, other = pair_classes(targets.repeat(views))
    return (same.any(1) & other.any(1)).sum().float()


def count_paired(targets: Tensor, views: int = 1) -> Tensor:
    """All of the batch where it shows more than one class, else none."""
    return (targets != targets[0]).any().float() * (views * len(targets))


def triplet_margin(
    outputs: Tensor, targets: Tensor, margin: float, mine: Callable[..., Any], unit: bool = False, views: int = 1
) -> Tensor:
    """``functional.triplet_margin_loss`` (eps 0) of triplets inside the batch: max(0, d(anchor, positive) - d(anchor, negative)
    + margin), the mean over an anchor's triplets.

    ``mine`` says how often each pair stands in a triplet that costs something, as a share of the anchor's triplets."""
    embeddings, targets = last_views(outputs, targets, views, unit)
    distances = pair_distances(embeddings)
    pulled, pushed = mine(distances.detach(), *pair_classes(targets), margin)
    return (pulled * (distances + margin) - pushed * distances).sum()


def mine_hardest(distances: Tensor, same: Tensor, other: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """One triplet an anchor: its farthest positive and its nearest negative (batch hard; Hermans et al. 2017)."""
    farthest, positive = distances.masked_fill(~same, -torch.inf).max(1, keepdim=True)
    nearest, negative = distances.masked_fill(~other, torch.inf).min(1, keepdim=True)
    costs = (farthest + margin > nearest).to(distances.dtype)  # never where there is no positive or no negative
    blank = torch.zeros_like(distances)
    return blank.scatter(1, positive, costs), blank.scatter(1, negative, costs)


def mine_semi_hard(distances: Tensor, same: Tensor, other: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """One triplet for each positive: with the nearest negative that is farther away than it (semi-hard; Schroff et al. 2015),
    or with the farthest where none is."""
    ordered = distances.masked_fill(~other, torch.inf).sort(1)
    beyond = torch.searchsorted(ordered.values, distances, right=True)
    last = (other.sum(1, keepdim=True) - 1).clamp(min=0)
    negative = ordered.indices.gather(1, torch.minimum(beyond, last))
    costs = same & other.any(1, keepdim=True) & (distances + margin > distances.gather(1, negative))
    pulled = costs.to(distances.dtype)
    pushed = torch.zeros_like(pulled).scatter_add(1, negative, pulled)  # whole numbers: exact in any order
    triplets = same.sum(1, keepdim=True).clamp(min=1)
    return pulled / triplets, pushed / triplets


def mine_all(distances: Tensor, same: Tensor, other: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Every positive with every negative (batch all), counted by sorting: memory is that of the pairs, not of the triplets."""
    reach = distances + margin
    nearer = torch.searchsorted(distances.masked_fill(~other, torch.inf).sort(1).values, reach)
    short = torch.searchsorted(reach.masked_fill(~same, torch.inf).sort(1).values, distances, right=True)
    positives, negatives = same.sum(1, keepdim=True), other.sum(1, keepdim=True)
    triplets = (positives * negatives).clamp(min=1).to(distances.dtype)
    return nearer * same / triplets, (positives - short) * other / triplets


def contrastive_loss(outputs: Tensor, targets: Tensor, margin: float, unit: bool = False, views: int = 1) -> Tensor:
    """d² / 2 of two samples of one class, max(0, margin - d)² / 2 of two of different classes, the mean over a sample's pairs
    (Hadsell, Chopra and LeCun, 2006). 0 for a batch of one class: nothing would keep its samples apart."""
    embeddings, targets = last_views(outputs, targets, views, unit)
    distances, (same, other) = pair_distances(embeddings), pair_classes(targets)
    costs = same * distances.square() + other * (margin - distances).clamp(min=0.0).square()
    return costs.sum() * other.any() / (2 * max(len(targets) - 1, 1))


def compare_directions(embeddings: Tensor, temperature: float) -> Tensor:
    """Cosine similarities / temperature, (n, n), the least possible for a sample and itself."""
    similarities = embeddings @ embeddings.T / temperature
    itself = torch.eye(len(embeddings), dtype=torch.bool, device=embeddings.device)
    return similarities.masked_fill(itself, torch.finfo(similarities.dtype).min)


def supervised_contrastive(outputs: Tensor, targets: Tensor, temperature: float, views: int = 1) -> Tensor:
    """The mean over a sample's positives of -log softmax of its similarities with all others (Khosla et al. 2020, L_out). 0 for
    one without a positive or without a negative."""
    embeddings, targets = last_views(outputs, targets, views, unit=True)
    same, other = pair_classes(targets)
    logs = functional.log_softmax(compare_directions(embeddings, temperature), dim=1)
    costs = torch.where(same & other.any(1, keepdim=True), -logs, torch.zeros_like(logs))
    return (costs.sum(1) / same.sum(1).clamp(min=1)).sum()


def nt_xent(outputs: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """Cross-entropy of the other view of the same sample among all other views of the batch, the mean over both views (SimCLR,
    Chen et al. 2020). Classes are not looked at."""
    embeddings, _ = last_views(outputs, targets, 2, unit=True)
    partners = torch.arange(len(embeddings), device=embeddings.device).roll(len(targets))
    similarities = compare_directions(embeddings, temperature)
    return functional.cross_entropy(similarities, partners, reduction="sum") / 2
