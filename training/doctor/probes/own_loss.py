"""A person's own loss, asked about answers whose worth is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from training.doctor.probes.look import Look
from training.events import Finding
from training.findings.probes import BLIND_LOSS, ENDS_SIGMOID, ENDS_SOFTMAX, ROUND, SIGN, SQUEEZED, SUM
from training.system.untrusted import escape_unprintable

_SURE = 4.0
"""The logit of an answer that is sure; of values the answer itself is taken."""
_HUGE = 1e4


@dataclass(frozen=True)
class _Known:
    """Outputs of known worth for ``targets``: right to all, wrong to all, the same to all, and right to other samples; and ``other`` targets."""

    targets: Tensor
    right: Tensor
    wrong: Tensor
    same: Tensor
    exchanged: Tensor
    other: Tensor


def own_loss_findings(look: Look) -> list[Finding]:
    """Of the first batch's targets."""
    if not look.has_own_loss:
        return []
    forms = _make_up(look, look.batches[0].targets)
    judged = [each for known in forms if (each := _judge(look, known)) is not None]
    if not judged:
        return []
    sums = _find_sum(look, forms[0])
    if any(not found for found in judged):  # in one of the forms that outputs may have, all is well
        return sums or _find_fall(look, forms[0]) or _find_squeeze(look, forms[0])
    return [*sums, *judged[0]]


def _judge(look: Look, known: _Known) -> list[Finding] | None:
    """None where such outputs have no loss."""

    @torch.no_grad()
    def cost(outputs: Tensor, targets: Tensor) -> float:
        """The batch's mean loss, as the run takes it."""
        return float(look.objective.loss.sum(outputs, targets)) / len(targets)

    costs = right, wrong, same, exchanged = [
        cost(each, known.targets) for each in (known.right, known.wrong, known.same, known.exchanged)
    ]
    if not all(map(math.isfinite, costs)):
        return None
    size = max(map(abs, costs)) + 1e-12
    evidence = {"right": right, "wrong": wrong, "same_to_all": same}
    shapes = f"outputs are {_shape(known.right)}, targets {_shape(known.targets)}"
    pairs = f"Compare each output with its own target, in tensors of one shape: {shapes}, and torch makes (n, n) of (n, 1) and (n,)."
    if max(costs) - min(costs) < 1e-6 * size:
        rule, said, advice = (
            BLIND_LOSS,
            f"the loss is {right:.3g} whatever the outputs are",
            "Compute it from the outputs.",
        )
    elif abs(right - exchanged) < 1e-6 * size and abs(right - cost(known.right, known.other)) < 1e-6 * size:
        rule, said, advice = (
            BLIND_LOSS,
            "the loss is the same whatever the targets are",
            "Compare the outputs with the targets.",
        )
    elif abs(right - exchanged) < 1e-6 * size:
        rule, said, advice = BLIND_LOSS, "the loss is the same when the targets of two samples are exchanged", pairs
    elif (further := _find_shift(known, right - 0.01 * size, cost)) is not None:
        rule = BLIND_LOSS
        said = f"it is lowest for the class that stands {further} behind the right one"
        advice = "Compare with the targets as they are, numbered from 0."
    elif right > wrong:
        said, advice = (
            f"right answers cost {right:.3g}, wrong ones {wrong:.3g}, so that training makes them worse",
            "Change the sign.",
        )
        rule = SIGN
    elif (all_alike := _find_free(known, right, wrong, cost)) is not None:
        rule = BLIND_LOSS
        said = f"answering {all_alike} to all labels of all samples costs no more than right answers: {right:.3g}"
        advice = "Wrong answers of either kind have to cost: is it given the targets that it is made for, as -1 and 1 of a margin loss?"
    elif _is_label(known) and abs(cost(known.right + _SURE, known.targets) - right) < 1e-6 * size:
        rule = BLIND_LOSS
        said = "the loss is the same when the outputs of all labels grow alike, as behind softmax: labels exclude each other"
        advice = "Ask about each label by itself: binary cross-entropy (nn.BCEWithLogitsLoss), as a sample may have several labels or none."
    elif same < right - 0.01 * size:
        rule, said = BLIND_LOSS, f"the same answer to all samples costs {same:.3g}, right ones {right:.3g}"
        advice = f"The loss should be lowest where outputs are right. {pairs}"
    else:
        return []
    fix = _take_usual(look)
    return [rule.find("error", f"{_path(look)}: {said}.", advice, place="objective", evidence=evidence, fix=fix)]


def _take_usual(look: Look) -> dict[str, str]:
    """The setting by which the task's own loss takes the place of the person's."""
    return {"objective.kind": str(getattr(look.session.config.objective, "task", ""))}


def _find_shift(known: _Known, less: float, cost: Callable[[Tensor, Tensor], float]) -> int | None:
    """How many classes behind the right one the answer stands that costs least; None where several cost as much, as they do of a loss
    whose sign is wrong, or none costs less than ``less``."""
    classes = known.right.shape[1] if known.right.ndim == 2 and known.targets.dtype == torch.int64 else 0
    costs = sorted((cost(known.right.roll(shift, 1), known.targets), shift) for shift in range(1, classes))
    if len(costs) < 2 or not costs[0][0] < min(less, costs[1][0] - (less - costs[0][0]) / 2):
        return None
    return costs[0][1]


def _find_free(known: _Known, right: float, wrong: float, cost: Callable[[Tensor, Tensor], float]) -> str | None:
    """Of labels: the answer, yes or no, that is free where it is wrong; None where both cost something."""
    if not _is_label(known):
        return None
    high = float(known.right.max())
    for words, value in (("yes", high), ("no", float(known.right.min()))):
        if cost(torch.full_like(known.right, value), known.targets) <= right + 0.01 * abs(wrong - right):
            return words
    return None


def _is_label(known: _Known) -> bool:
    """Whether a sample may have several labels: 0 or 1 for each."""
    targets = known.targets
    of_labels = targets.ndim == 2 and known.right.shape == targets.shape and targets.dtype.is_floating_point
    return of_labels and bool(((targets == 0) | (targets == 1)).all())


def _path(look: Look) -> str:
    return escape_unprintable(str(getattr(look.session.config.objective, "path", "")), 80)


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(['n', *map(str, tensor.shape[1:])])}{',' * (tensor.ndim == 1)})"


def _find_sum(look: Look, known: _Known) -> list[Finding]:
    """Whether it is summed up over the batch: what is wanted is the mean."""
    loss = look.objective.loss

    @torch.no_grad()
    def measure(times: int) -> float:
        outputs = torch.cat([known.wrong] * times)
        return float(loss.sum(outputs, torch.cat([known.targets] * times))) / (times * len(known.targets))

    one, two = measure(1), measure(2)
    if abs(one) > 1e-9 and abs(two / one - 0.5) < 0.5 * ROUND:
        return [_tell_divided(look, two / one)]
    if not (abs(one) > 1e-9 and abs(two / one - 2.0) < 2.0 * ROUND):
        return []
    config = look.session.config
    samples = config.loop.batch_size * (known.targets[0].numel() if known.targets.dtype == torch.int64 else 1)
    title = f"The loss of twice the batch is twice as large: it is summed up, so that the gradient is {samples:,} times that of the mean."
    advice = "Return the mean over the batch, or a number for each sample (reduction='mean' or 'none')."
    fix = {"optimizer.lr": float(f"{config.optimizer.lr / samples:.3g}")} if config.optimizer.kind == "sgd" else {}
    return [SUM.find("warning", title, advice, place="objective", evidence={"ratio": two / one}, fix=fix)]


def _tell_divided(look: Look, ratio: float) -> Finding:
    """Of a mean that is divided by the batch, or by all its numbers, once more."""
    config = look.session.config
    size = config.loop.batch_size
    title = f"The loss of twice the batch is half as large: the mean is divided by the batch a second time, so that the gradient is {size:,} times too small or less."
    advice = "Take one mean alone: .mean(), or .sum() divided by the number of samples (numel() counts classes, too)."
    fix = {"optimizer.lr": float(f"{config.optimizer.lr * size:.3g}")} if config.optimizer.kind == "sgd" else {}
    return SUM.find("warning", title, advice, place="objective", evidence={"ratio": ratio}, fix=fix)


def _find_fall(look: Look, known: _Known) -> list[Finding]:
    """Whether ever larger answers make it fall without end."""
    loss, count, shown = look.objective.loss, len(known.targets), _path(look)
    with torch.no_grad():
        ends = [
            float(loss.sum(start + size * step, known.targets)) / count
            for start, step in (
                (known.right * 0, known.right - known.same),
                (known.right * 0, torch.ones_like(known.right)),
                (known.right * 0, -torch.ones_like(known.right)),
            )
            for size in (_HUGE, 10 * _HUGE)
        ]
        right = float(loss.sum(known.right, known.targets)) / count
    falls = [
        far
        for near, far in zip(ends[::2], ends[1::2], strict=True)
        if far < 2.0 * near < 0.0 and near < right - 0.1 * _HUGE
    ]
    answers = look.answer(look.inputs(16))
    are_logs = answers.ndim > 1 and bool(
        (answers.logsumexp(1).abs() < 1e-3).all()
    )  # log-probabilities, which grow no further than 0
    if not falls or are_logs:
        return []
    title = f"{shown}: the loss falls without end where outputs grow ({falls[0]:.3g}), whether answers become better or not."
    advice = "Give it what it is made for."
    if known.targets.dtype == torch.int64 and known.right.ndim == 2:
        with torch.no_grad():
            usual = (
                float(functional.nll_loss(known.right, known.targets)),
                float(loss.sum(known.right, known.targets)) / count,
            )
        if math.isclose(*usual, rel_tol=1e-4):
            title = f"{shown}: NLLLoss takes log-probabilities, but gets logits: it falls without end where they grow."
            advice = "Use nn.CrossEntropyLoss, or log_softmax before it."
    fix = _take_usual(look)
    return [SIGN.find("warning", title, advice, place="objective", evidence={"loss": falls[0]}, fix=fix)]


def _find_squeeze(look: Look, known: _Known) -> list[Finding]:
    """Whether logits are made probabilities twice: then the loss of right answers stays far above 0, however sure they are, and that of
    wrong ones is no larger either."""
    if look.session.data.facts.target not in ("class", "labels", "mask"):
        return []

    @torch.no_grad()
    def cost(outputs: Tensor) -> float:
        return float(look.objective.loss.sum(outputs, known.targets)) / len(known.targets)

    zero = cost(torch.zeros_like(known.right))
    pairs = [(cost(5.0 * each), cost(10.0 * each)) for each in (known.right, known.wrong)]
    if not all(math.isclose(*pair, rel_tol=1e-3) for pair in pairs) or not pairs[0][0] > SQUEEZED * zero > 0:
        return []
    inside, rule = ("softmax", ENDS_SOFTMAX) if look.objective.probabilities == "softmax" else ("sigmoid", ENDS_SIGMOID)
    title = f"{_path(look)}: right answers cost {pairs[0][0]:.3g} however sure they are (knowing nothing: {zero:.3g}), as where {inside} is applied twice."
    advice = f"Cross-entropy takes logits, and has the {inside} inside: take the other one out."
    evidence = {"right": pairs[0][0], "wrong": pairs[1][0], "guessing": zero}
    return [rule.find("warning", title, advice, place="objective", evidence=evidence, fix=_take_usual(look))]


def _make_up(look: Look, targets: Tensor) -> list[_Known]:
    """In the forms that outputs may have: values; logits, or else probabilities."""
    facts, outputs = look.session.data.facts, look.objective.outputs
    order = torch.arange(len(targets), device=targets.device).roll(1)
    if len(targets) < 2:
        return []
    if facts.target == "values":
        values = targets.float()
        if not bool((values.std(0) > 0).all()):
            return []
        size = values.std(0) * 3.0
        same = values.mean(0, keepdim=True).expand_as(values).clone()
        return [_Known(targets, values, values + size, same, values[order], targets + size)]
    if facts.target == "labels":
        right, other = targets.float(), 1.0 - targets
    elif facts.target == "class" and targets.ndim == 1:
        right, other = functional.one_hot(targets, outputs).float(), (targets + 1) % outputs
        order = (targets[:, None] != targets[None]).float().argmax(1)  # one of another class
    elif facts.target == "mask":
        known = targets.clamp(min=0)
        right, other = functional.one_hot(known, outputs).movedim(-1, 1).float(), (known + 1) % outputs
    else:
        return []
    wrong = 1.0 - right if facts.target == "labels" else (1.0 - right) / max(1, outputs - 1)
    same = torch.full_like(right, 0.5 if facts.target == "labels" else 1.0 / outputs)
    sure = (right * 2.0 - 1.0) * _SURE
    logits = _Known(targets, sure, -sure, torch.zeros_like(right), sure[order], other)
    return [logits, _Known(targets, right, wrong, same, right[order], other)]
