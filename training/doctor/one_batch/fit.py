"""A few samples, trained on again and again by the step of the run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from pydantic import JsonValue
from torch import Tensor, nn

from training.config.sections.optimizer import Optimizer
from training.core.losses import Loss
from training.core.splits import pick_evenly
from training.core.step import train_step
from training.data.batching.batches import Batch
from training.doctor.one_batch.wrong import choose_measure
from training.engine.session import Session
from training.findings.one_batch import LEARNED, LEFT_LOSS, MOST_STEPS, SAMPLES
from training.models.networks.stages import stages
from training.optim import make_guard, make_optimizer
from training.optim.fast_clip import gradient_norm

_WARM = 10
"""Steps in which the learning rate rises to its peak."""
_LOOK_EVERY = 10
_TOKENS, _LARGE, _FEW_LARGE = 256, 128 * 128, 4
"""Tokens that are learned, at least one text; and images whose every pixel has a class, of so many pixels or more, are fewer."""

Report = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Change:
    """What is done otherwise than the run would do it. ``fix`` are the settings that do the same."""

    code: str = ""
    tried: str = ""
    fix: Mapping[str, JsonValue] = field(default_factory=dict)
    rate: float = 1.0
    optimizer: Optimizer | None = None
    is_clipped: bool = True
    prepare: Callable[[nn.Module], object] = lambda model: None
    inputs: Callable[[Tensor], Tensor] = lambda inputs: inputs
    outputs: Callable[[Tensor], Tensor] = lambda outputs: outputs
    loss: Loss | None = None


@dataclass(frozen=True)
class Fit:
    """``losses`` before each step; ``fitted`` None: time ran out first. At the end: ``error``, the share that was answered wrongly, and
    ``spread``, how much the answers to different samples differ beside their size (0: all are alike)."""

    losses: tuple[float, ...]
    fitted: bool | None
    error: float
    spread: float


class Learner:
    """Trains the network of ``session`` from its initial weights, as often as it is asked to; the session is spent afterwards."""

    def __init__(self, session: Session, batch: Batch) -> None:
        self.session, self.batch = session, batch
        self.measure, self.what = choose_measure(session)
        self._initial = {name: value.detach().clone() for name, value in session.model.state_dict().items()}
        self._trainable = {name: weight.requires_grad for name, weight in session.model.named_parameters()}
        count = session.total_steps
        self.peak = max(session.schedule.lr(step * count // 500) for step in range(500))

    def fit(self, change: Change, deadline: float, report: Callable[[int], None], most: int = MOST_STEPS) -> Fit:
        """At most ``most`` steps, fewer where all is learned or the clock passes ``deadline`` (``time.monotonic``)."""
        session = self.session
        model = self._restart()
        change.prepare(model)
        optimizer = change.optimizer or session.config.optimizer
        made = make_optimizer(
            model, optimizer.model_copy(update={"weight_decay": 0.0}), session.device, stages=stages(model)
        )
        guard = make_guard(made, session.device, model.buffers())
        parameters = [weight for weight in model.parameters() if weight.requires_grad]
        inputs, targets = change.inputs(self.batch.inputs), self.batch.targets
        loss = change.loss or session.objective.loss
        weight = loss.weigh(targets)
        peak = change.rate * (self.peak if change.optimizer is None else optimizer.lr)
        losses: list[float] = []
        error = spread = math.nan
        for step in range(most):
            if time.monotonic() > deadline:
                return Fit(tuple(losses), None, error, spread)
            total, _, _ = train_step(
                lambda given: change.outputs(session.answer(given)),
                parameters,
                loss,
                made,
                [(inputs, targets, weight)],
                peak * min(1.0, (step + 1) / _WARM),
                scaler=session.numerics.scaler,
                autocast=session.numerics.autocast,
                clip=session.clip if change.is_clipped else gradient_norm,
                guard=guard,
            )
            losses.append(float(total))
            if step % _LOOK_EVERY == _LOOK_EVERY - 1 or step == most - 1:
                report(step + 1)
                error, spread = self._measure(change, inputs)
                if self._is_learned(losses, error):
                    return Fit(tuple(losses), True, error, spread)
        return Fit(tuple(losses), False, error, spread)

    def _restart(self) -> nn.Module:
        """The network as it was at first, in training, without dropout."""
        model = self.session.model
        with torch.no_grad():
            for name, value in model.state_dict().items():
                value.copy_(self._initial[name])
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(self._trainable[name])
            parameter.grad = None
        self.session.freezing.train()
        for module in model.modules():
            if isinstance(module, nn.modules.dropout._DropoutNd):
                module.eval()
            elif isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
        torch.manual_seed(self.session.config.seed)
        return model

    @torch.no_grad()
    def _measure(self, change: Change, inputs: Tensor) -> tuple[float, float]:
        with self.session.numerics.autocast():
            outputs = change.outputs(self.session.answer(inputs))
        rows = (outputs.flatten(0, 1) if self.session.data.facts.layout == "tokens" else outputs.flatten(1)).double()
        size = float(rows.square().mean().sqrt())
        spread = float(rows.std(0, correction=0).square().mean().sqrt()) / size if size > 0 else 0.0
        return self.measure(outputs, self.batch.targets), spread

    def _is_learned(self, losses: list[float], error: float) -> bool:
        if not math.isnan(error):
            return error <= LEARNED
        return 0.0 <= losses[-1] < LEFT_LOSS * losses[0]


def choose_batch(session: Session) -> Batch:
    """Some training samples, not varied: of as many classes as there are, no two with equal inputs."""
    numbers = _choose_samples(session)
    batch = session.data.take(numbers)
    if session.objective.views > 1 or session.data.facts.layout == "tokens":
        return batch
    flat = batch.inputs.flatten(1)
    equal = (flat[:, None] == flat[None]).all(2).tril(-1).any(1)  # to one before it
    return session.data.take(numbers[~equal.cpu()]) if bool(equal.any()) else batch


def _choose_samples(session: Session) -> Tensor:
    facts, train = session.data.facts, session.data.splits["train"]
    if facts.layout == "tokens":
        return pick_evenly(train, max(1, min(SAMPLES, _TOKENS // facts.shape[0])))
    if facts.target == "mask" and math.prod(facts.shape[1:]) >= _LARGE:
        return pick_evenly(train, _FEW_LARGE)
    if facts.target != "class":
        return pick_evenly(train, SAMPLES)
    targets = session.data.source.targets[train]
    order = targets.argsort(stable=True)
    classes, counts = targets[order].unique_consecutive(return_counts=True)
    place = torch.arange(len(order)) - (counts.cumsum(0) - counts).repeat_interleave(counts)  # within its class
    if session.objective.compares_samples:  # a few of each of a few classes
        return train[order[place < max(2, SAMPLES // len(classes))]][:SAMPLES]
    rounds = order[place.argsort(stable=True)]  # the first of each class, then the second ...
    return train[pick_evenly(rounds[: len(classes)], SAMPLES) if len(classes) > SAMPLES else rounds[:SAMPLES]]
