"""The first loss against what a network that knows nothing would have, and why it is another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import mean, stdev

import torch
from torch import Tensor, nn

from training.doctor.probes.look import Layer, Look, measure_gain
from training.doctor.probes.outputs import find_answers
from training.events import Finding, FindingLevel
from training.findings.data import WIDE_STD
from training.findings.network import FAR_ERRORS, LOSS_BAND, LOSS_EXTREME, LOSS_FAR, START
from training.system.untrusted import escape_unprintable

_LARGE_OUTPUTS = 3.0


@dataclass(frozen=True)
class _Start:
    """Losses of some batches: of the network, of answers of 0, and of the ``best`` answer that is the same to all samples (None: not known).
    ``outputs`` is the size of the network's answers."""

    losses: list[float]
    zero: list[float]
    best: float | None
    outputs: float


def start_findings(look: Look) -> list[Finding]:
    """Of fresh weights, in training, before any step; known weights may start anywhere."""
    session = look.session
    start = _measure(look)
    loss = mean(start.losses)
    if not math.isfinite(loss):
        return []  # which the trial of a step tells
    guess = mean(start.zero)
    if look.has_own_loss or session.beginning or look.objective.is_embedding or not guess > 0:
        return [START.ok(f"Initial loss {loss:.3f}.")]
    classes = len(session.data.facts.names)
    is_log = classes > 1 and math.isclose(guess, math.log(classes), rel_tol=1e-4)
    formula = f"ln {classes:,} = " if is_log else ""
    course = f"Initial loss {loss:.3f} (chance level {formula}{guess:.3f})"
    low = guess if start.best is None else min(guess, start.best)
    error = stdev(start.losses) / math.sqrt(len(start.losses)) if len(start.losses) > 1 else math.inf
    beyond = loss - guess if loss > guess else low - loss
    share = beyond / (guess if loss > guess else low) if beyond > 0 else 0.0
    evidence = {"loss": loss, "guessing": guess, "standard_error": error if math.isfinite(error) else 0.0}
    if share <= LOSS_BAND or (math.isfinite(error) and beyond <= FAR_ERRORS * error):
        return [START.ok(f"{course}.")]
    if loss < guess:
        title = f"{course}: a network that has learned nothing cannot know so much."
        return [START.find("warning", title, "Look whether its inputs hold the answer.", evidence=evidence)]
    level: FindingLevel = "error" if share > LOSS_EXTREME else "warning" if share > LOSS_FAR else "info"
    if level == "warning" and look.is_own and find_answers(look).bound is not None:
        level = "info"  # directions are compared, and multiplied by a scale: they never begin near 0
    place, cause, advice, fix = _why_high(look, start)
    return [START.find(level, f"{course}: {cause}.", advice, place=place, evidence=evidence, fix=fix)]


@torch.no_grad()
def _measure(look: Look) -> _Start:
    objective = look.objective
    losses, zero, sizes = [], [], []
    for batch in look.batches:
        outputs = look.answer(batch.inputs, training=True)
        weight = objective.loss_weight(batch.targets)
        losses.append(float(objective.loss(outputs, batch.targets, weight)))
        zero.append(float(objective.loss(torch.zeros_like(outputs), batch.targets, weight)))
        sizes.append(float(outputs.square().mean().sqrt()))
    look.restore()
    return _Start(losses, zero, _find_best(look), mean(sizes))


def _find_best(look: Look) -> float | None:
    """The least loss of an answer that is the same to all samples."""
    session = look.session
    if (
        session.data.facts.target not in ("class", "labels", "values", "tasks")
        or look.has_own_loss
        or look.objective.is_embedding
    ):
        return None
    objective = session.objective
    targets = torch.cat([batch.targets for batch in look.batches])
    weight = objective.loss_weight(targets)
    answer = torch.zeros(objective.outputs, device=targets.device, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([answer], max_iter=30, line_search_fn="strong_wolfe")

    def measure() -> Tensor:
        search.zero_grad()
        loss = objective.loss(answer.expand(len(targets), -1), targets, weight)
        loss.backward()
        return loss

    with torch.enable_grad():
        search.step(measure)
        return float(measure().detach())


def _why_high(look: Look, start: _Start) -> tuple[str, str, str, dict[str, bool]]:
    """Place, cause, advice and fix: inputs, the last layer's bias, the weights, else unknown."""
    source = look.session.data.source
    inputs = look.batches[0].inputs
    if inputs.is_floating_point():
        size = float(inputs.float().square().mean().sqrt())
        if size > WIDE_STD:
            fix = {"dataset.normalize": True} if source.as_given else {}
            advice = "Let the program normalize them." if fix else "Bring them to a mean of 0 and a std of 1."
            return "inputs", f"the inputs are of size {size:.3g}", advice, fix
    last = _find_last(look.model)
    if last is not None:
        name, bias, weight = last
        if bias > _LARGE_OUTPUTS and bias > 0.5 * start.outputs:
            cause = f"the bias of the last layer, {name}, begins at {bias:.3g}"
            return name, cause, "Begin with zeros, or with the logarithms of the classes' shares.", {}
        if start.outputs > _LARGE_OUTPUTS:
            cause = f"the outputs are of size {start.outputs:.3g}, by initial weights that are too large (the last layer, {name}, has {weight:.2g} times He's)"
            return name, cause, "Leave torch's own initialization, or normalize before the last layer.", {}
    if start.outputs > _LARGE_OUTPUTS:
        return "", f"the outputs are of size {start.outputs:.3g}", "Begin with smaller weights.", {}
    return "", "inputs, initial weights or loss do not fit each other", "Check the scale of inputs and weights.", {}


def _find_last(model: nn.Module) -> tuple[str, float, float] | None:
    """The last layer of weights, how large its bias is, and its weights beside He's."""
    layers = [(name, module) for name, module in model.named_modules() if isinstance(module, Layer)]
    if not layers:
        return None
    name, module = layers[-1]
    bias = float(module.bias.detach().abs().max()) if isinstance(module.bias, Tensor) else 0.0
    size = measure_gain(module) / math.sqrt(2.0)
    return escape_unprintable(name or type(module).__name__, 60), bias, size
