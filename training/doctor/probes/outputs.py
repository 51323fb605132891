"""What a network's last layer does to its answers: probabilities where logits are wanted, no negative numbers, a bound below the targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from training.config.sections.objective import OwnLoss
from training.doctor.probes.look import Layer, Look, describe_module, record_calls
from training.events import Finding
from training.findings.probes import (
    ALIKE,
    BEYOND,
    ENDS_RELU,
    ENDS_SIGMOID,
    ENDS_SOFTMAX,
    FAR_ABOVE,
    LINEAR,
    LOWEST,
    NONLINEARITY,
    RANGE,
    STAYS,
    SUM_OFF,
    WILD_INPUTS,
    WILD_WEIGHTS,
)
from training.findings.rule import Rule
from training.system.untrusted import escape_unprintable

_ROWS = 64
_LEAST = 16
"""Numbers that must have been answered before their range says something."""


@dataclass(frozen=True)
class Answers:
    """What a network answers, ``plain`` to real samples and ``wild`` to large noise with large weights, each (n, outputs), and the module
    that answers at last."""

    plain: Tensor
    wild: Tensor
    name: str
    module: nn.Module

    @property
    def low(self) -> float:
        return float(torch.cat([self.plain, self.wild]).min())

    @property
    def high(self) -> float:
        return float(torch.cat([self.plain, self.wild]).max())

    @property
    def ending(self) -> str:
        """The kind of the last layer: "softmax", "sigmoid", "relu", "bounded" or ""."""
        if isinstance(self.module, Layer):
            return ""  # which have no end
        if not self.plain.isfinite().all() or self.wild.isnan().any() or self.wild.numel() < _LEAST:
            return ""
        spread = self.high - self.low
        if spread <= 0:
            return ""
        low, high = self.low >= 0.0, self.high <= 1.0 + 1e-4
        sums = torch.cat([self.plain, self.wild]).sum(1)
        if low and high and self.plain.shape[1] > 1 and bool(((sums - 1.0).abs() <= SUM_OFF).all()):
            return "softmax"
        middle = (self.wild > self.low + 0.01 * spread) & (self.wild < self.high - 0.01 * spread)
        is_saturated = float(middle.float().mean()) < 0.75 and float(self.plain.abs().max()) <= self.high + 1e-4
        if low and high and is_saturated:
            return "sigmoid"
        if low or self._has_floor:
            return "relu"
        grows = (
            float(self.wild.abs().max()) > 5.0 * float(self.plain.abs().max()) and float(self.wild.abs().max()) > 20.0
        )
        return "bounded" if is_saturated and not grows else ""

    @property
    def _has_floor(self) -> bool:
        """Whether answers are as large as one likes, and never far below 0, as behind GELU, SiLU and ELU: those of a layer are both."""
        return (
            self.low >= -LOWEST and self.high > FAR_ABOVE * LOWEST and float((self.wild <= 0.0).float().mean()) > 0.25
        )

    @property
    def bound(self) -> float | None:
        """The largest number either way, where larger weights and samples bring no larger one: a network that compares directions. None where
        they do."""
        if isinstance(self.module, Layer) or self.wild.numel() < _LEAST or not self.wild.isfinite().all():
            return None
        plain, (small, large) = float(self.plain.abs().max()), (float(each.abs().max()) for each in self.wild.chunk(2))
        alike = large <= ALIKE * small and max(small, large) <= 2.0 * ALIKE * plain
        return max(plain, small, large) if alike else None


def find_answers(look: Look) -> Answers:
    """Asked with the weights as they are, and with such as no end of a network without a bound could hide."""
    given = look.inputs(_ROWS)
    with record_calls(look.model) as calls:
        plain = look.answer(given)
    ends = [(name, module) for name, module, _, made in calls if len(made) == 1 and torch.equal(made[0].float(), plain)]
    # The last without parts: what an activation gets may be all that it answers, as positive numbers are of ReLU.
    last = next((end for end in reversed(ends) if not any(end[1].children())), next(iter(ends), ("", look.model)))
    wild = []
    for size in WILD_INPUTS:
        _enlarge(look)
        wild.append(_rows(look, look.answer(look.noise(given, size))))
        look.restore()
    return Answers(_rows(look, plain), torch.cat(wild), *last)


@torch.no_grad()
def _enlarge(look: Look) -> None:
    """Weights of either sign, larger than they are, whatever they began as."""
    generator = torch.Generator().manual_seed(3)
    for weight in look.model.parameters():
        if weight.is_floating_point():
            size = weight.square().mean().sqrt().clamp(min=0.1)
            weight.copy_(torch.randn(weight.shape, generator=generator).to(weight) * size * WILD_WEIGHTS)


def _rows(look: Look, outputs: Tensor) -> Tensor:
    """(n, outputs): a row for each sample, pixel or token."""
    facts = look.session.data.facts
    if facts.target == "mask":
        return outputs.movedim(1, -1).reshape(-1, outputs.shape[1])
    return outputs.reshape(-1, outputs.shape[-1]) if facts.dense else outputs.flatten(1)


_LOGITS: Mapping[str, str] = {"softmax": "class logits", "sigmoid": "logits"}


def ending_findings(look: Look, answers: Answers) -> list[Finding]:
    """What the last layer does that the loss or the targets do not fit."""
    objective, ending = look.objective, answers.ending
    if not ending and not objective.is_embedding and not look.has_own_loss:
        return _of_directions(look, answers)
    if not ending or objective.is_embedding or (look.has_own_loss and not takes_logits(look)):
        return []
    where = describe_module(answers.name, answers.module)
    wanted = _LOGITS.get(objective.probabilities)
    evidence = {"lowest": answers.low, "highest": answers.high}
    if wanted is None:
        return _of_values(look, answers, where)
    does = {
        "softmax": (ENDS_SOFTMAX, "makes probabilities of the outputs, as softmax does"),
        "sigmoid": (ENDS_SIGMOID, "squeezes the outputs into 0 to 1, as sigmoid does"),
        "relu": (ENDS_RELU, f"lets no output be below {answers.low:.2g}, as ReLU or GELU does"),
        "bounded": (RANGE, f"keeps the outputs between {answers.low:.3g} and {answers.high:.3g}"),
    }
    rule, what = does[ending]
    title = f"{where[0].upper()}{where[1:]} {what}, but the loss takes {wanted}: it cannot become small."
    advice = f"Take it out: let forward return what goes into it; {objective.probabilities} is inside the loss."
    return [rule.find("warning", title, advice, place=answers.name, evidence=evidence)]


def _of_directions(look: Look, answers: Answers) -> list[Finding]:
    """Logits with a bound so low that the loss of right answers stays high: cosines without a scale."""
    bound, outputs = answers.bound, look.objective.outputs
    if bound is None or _LOGITS.get(look.objective.probabilities) is None or outputs < 1:
        return []
    others = outputs - 1 if look.objective.probabilities == "softmax" else 1
    least = math.log1p(others * math.exp(-2.0 * bound)) if outputs > 1 else math.log1p(math.exp(-bound))
    guess = math.log(outputs) if look.objective.probabilities == "softmax" else math.log(2.0)
    if least < STAYS * guess:
        return []
    where = describe_module(answers.name, answers.module)
    title = (
        f"{where[0].upper()}{where[1:]} answers no number beyond ±{bound:.3g}, however large weights and samples are, as cosines are not: right answers cost {least:.2g} at least, "
        f"and guessing {guess:.2g}."
    )
    advice = "Multiply by a scale (a temperature of 0.05 to 0.1, or a learned one) before the loss: softmax of normalized products needs one."
    return [
        RANGE.find(
            "warning", title, advice, place=answers.name, evidence={"highest": bound, "least": least, "guessing": guess}
        )
    ]


def _of_values(look: Look, answers: Answers, where: str) -> list[Finding]:
    """Values that are to be predicted, and lie where no output can."""
    session = look.session
    if session.data.facts.target != "values":
        return []
    targets = torch.cat([batch.targets for batch in look.batches]).float()
    if look.objective.spread is not None:
        mean, std = (torch.tensor(each, device=targets.device) for each in look.objective.spread)
        targets = (targets - mean) / std
    low = answers.low if answers.ending != "bounded" else answers.low - 1e-3
    high = float("inf") if answers.ending == "relu" else answers.high
    beyond = float(((targets < low) | (targets > high)).float().mean())
    if beyond < BEYOND:
        return []
    rule: Rule = {"relu": ENDS_RELU, "sigmoid": ENDS_SIGMOID}.get(answers.ending, RANGE)
    reach = (
        f"no number below {low:.2g}"
        if answers.ending == "relu"
        else f"only numbers from {answers.low:.3g} to {answers.high:.3g}"
    )
    unit = " in standard deviations from their mean, in which they are learned" if look.objective.spread else ""
    title = f"Because of {where} the network can answer {reach}, but {beyond:.0%} of the values to predict lie beyond{unit}."
    advice = "Take it out: values are answered by a layer without activation."
    evidence = {"lowest": answers.low, "highest": answers.high, "beyond": beyond}
    return [rule.find("warning", title, advice, place=answers.name, evidence=evidence)]


def takes_logits(look: Look) -> bool:
    """Whether a person's own loss does the same to logits that are all larger by one number: it has softmax or nothing of the kind inside;
    or is that of labels by logits."""
    assert isinstance(look.session.config.objective, OwnLoss)
    objective = look.objective
    targets = look.batches[0].targets
    if objective.probabilities == "none":
        return True
    with torch.no_grad():
        shape = (
            (len(targets), objective.outputs, *targets.shape[1:])
            if look.session.data.facts.target == "mask"
            else (len(targets), objective.outputs)
        )
        logits = look.noise(torch.zeros(shape, device=targets.device))
        if objective.probabilities == "softmax":
            one, other = objective.loss.sum(logits, targets), objective.loss.sum(logits + 3.0, targets)
            return bool(torch.isclose(one, other, rtol=1e-3))
        wanted = nn.functional.binary_cross_entropy_with_logits(
            logits, targets.float().view_as(logits), reduction="sum"
        )
        return bool(torch.isclose(objective.loss.sum(logits, targets) * objective.outputs, wanted, rtol=1e-2))


def linear_findings(look: Look, answers: Answers) -> list[Finding]:
    """Several layers of weights whose answer is a straight line all the same: f(a + b) - f(a) - f(b) + f(0) = 0."""
    layers = [name for name, module in look.model.named_modules() if isinstance(module, Layer)]
    if not look.is_own or len(layers) < 2 or not _is_linear(look, answers):
        return []
    _enlarge(look)  # branches that begin as zeros bend nothing yet
    linear = _is_linear(look, answers)
    look.restore()
    if not linear:
        return []
    names = ", ".join(escape_unprintable(name, 40) for name in layers[:4])
    title = f"The network's {len(layers)} layers ({names}) have no activation between them, so that together they are one linear layer."
    advice = "Put an activation behind each but the last, as nn.ReLU() or nn.GELU()."
    return [LINEAR.find("warning", title, advice, evidence={"layers": layers[:10]})]


def _is_linear(look: Look, answers: Answers) -> bool:
    """Whether what is added to the numbers of a sample adds to its answer, each as it does alone; codes stay as they are."""
    given = look.inputs(2 * _ROWS)
    categories = look.session.data.facts.categories
    if (
        not given.is_floating_point()
        or look.may_look_up(given)
        or len(given) < 4
        or all(categories) != (not categories)
    ):
        return False
    half = len(given) // 2
    start, one, other = given[:half], given[half : 2 * half], given[:half].roll(1, 0)
    moves = torch.tensor([not codes for codes in categories] or [True], device=given.device)
    one, other = (torch.where(moves, each - start, torch.zeros_like(start)) for each in (one, other))
    undo = _UNDONE.get(answers.ending)

    def ask(inputs: Tensor) -> Tensor:
        found = _rows(look, look.answer(inputs)).double()
        return undo(found) if undo else found

    return is_straight(ask, start, one, other)


def is_straight(ask: Callable[[Tensor], Tensor], start: Tensor, one: Tensor, other: Tensor) -> bool:
    """Whether adding ``one`` and ``other`` to ``start`` adds to the answers (float64) what each does alone."""
    first, ahead = ask(start), ask(start + one)
    bend = ask(start + one + other) - ahead - ask(start + other) + first
    size = float((ahead - first).abs().max())
    return size > 0 and float(bend.abs().max()) < NONLINEARITY * size


_UNDONE = {
    "softmax": lambda found: found.clamp(min=1e-12).log() - found.clamp(min=1e-12).log().mean(1, keepdim=True),
    "sigmoid": lambda found: found.clamp(1e-12, 1 - 1e-12).logit(),
}
"""What brings the numbers before such an end back, but for what is the same for all classes."""
