"""A window whose gradient was not finite, computed once more under watch to find where the first such number arose."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from training.checkpoints.snapshot import tensors_in
from training.config import RunConfig
from training.engine.session import Session
from training.errors import list_first, pluralize
from training.events import Finding, warn
from training.optim.fast_clip import gradient_norm
from training.own_code.user_rng import preserve_rng

logger = logging.getLogger(__name__)

HUGE = 1e15
"""Beyond this a product of two float32 numbers, summed over a layer, comes near the largest there is (3.4e38)."""

_SHOWN_NAMES = 3

Fix = dict[str, float | str]
"""Dotted settings and their values."""


@dataclass(frozen=True)
class Cause:
    """Where numbers stopped being finite: ``text`` says it, ``numbers`` is the evidence, ``samples`` who was involved."""

    kind: str  # input, weights, forward, loss, backward, norm; "" when all was finite
    text: str
    numbers: str = ""
    largest: float = 0.0  # finite magnitude that went in
    samples: tuple[int, ...] = ()


def explain(session: Session, step: int, epoch: int, window: int) -> Finding:
    """Compute the window of the skipped ``step`` again, with the weights as they are now, and tell what it shows.

    Weights, buffers, gradients, the optimizer and the random generators are afterwards what they were, so a run that
    looks is the same run. A look that fails ends nothing; it is told.
    """
    try:
        with preserve_state(session):
            cause = _search(session, epoch, window)
    except Exception as error:
        logger.exception("Step %d could not be computed again", step)
        return warn(
            f"Step {step:,} was skipped: its gradient was not finite.",
            f"Computing it again to find the cause failed ({error}). {_general_advice(session)}",
            step=step,
        )
    return _describe(session, step, cause)


@contextmanager
def preserve_state(session: Session) -> Iterator[None]:
    """Inside, the model may be run forward and backward; afterwards nothing of it is left."""
    buffers = [(buffer, buffer.detach().clone()) for buffer in session.model.buffers()]
    gradients = [(parameter, parameter.grad) for parameter in session.model.parameters()]
    waited = session.data.waited
    devices = [session.device] if session.device.type == "cuda" else []
    try:
        with preserve_rng(devices), torch.enable_grad():
            for parameter, _ in gradients:
                parameter.grad = None
            yield
    finally:
        with torch.no_grad():
            for buffer, kept in buffers:
                buffer.copy_(kept)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        session.data.waited = waited


def _search(session: Session, epoch: int, number: int) -> Cause:
    for name, parameter in session.model.named_parameters():
        if not _finite(parameter):
            return Cause("weights", f"the weights {name} were not finite themselves")
    window = session.data.rebuild_step(epoch, number)
    weight = window.weight(session.objective.loss_weight if session.objective.is_weighted else None)
    for batch in window:
        bad = _bad_rows(batch.inputs, len(batch.indices))
        if bad.any():
            samples = tuple(batch.indices[bad].tolist())
            return Cause(
                "input", f"{pluralize(len(samples), 'sample')} of it held numbers that are not finite", "", 0, samples
            )
        watch = _Watch(batch.indices)
        with watch.over(session.model):
            with session.numerics.autocast():
                outputs = session.model(batch.inputs)
            part = session.objective.loss(outputs, batch.targets, weight)
            if not _finite(part):
                return watch.forward or _loss_cause(outputs, batch.indices)
            session.numerics.scaler.scale(part).backward()
        if watch.backward is not None:
            return watch.backward
    if not session.numerics.scaler.is_enabled() and not _finite(gradient_norm(session.parameters)):
        return Cause("norm", "every number of its gradient was finite, but so large that their norm was not", "", HUGE)
    return Cause("", "")


def _loss_cause(outputs: Any, indices: Tensor) -> Cause:
    largest = max((_largest(tensor) for tensor in _numbers(outputs)), default=0.0)
    return Cause(
        "loss",
        "the loss was not finite, though the model's output was",
        f"The largest output was {largest:.3g}.",
        largest,
        tuple(indices.tolist()),
    )


class _Watch:
    """Hooks on every module of a model that note the first number that is not finite, forward and backward."""

    def __init__(self, indices: Tensor) -> None:
        self._indices = indices
        self.forward: Cause | None = None
        self.backward: Cause | None = None
        self._arrived = ""  # where the gradient was last seen finite

    @contextmanager
    def over(self, model: nn.Module) -> Iterator[None]:
        """Watch ``model`` inside."""
        handles: list[Any] = []
        for name, module in model.named_modules():
            shown = name or "the model as a whole"
            handles.append(module.register_forward_pre_hook(partial(self._enter, shown)))
            handles.append(module.register_forward_hook(partial(self._leave, shown)))
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                handles.append(parameter.register_hook(partial(self._reach_weights, name)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, name: str, module: nn.Module, inputs: Any) -> None:
        if self.forward is None and not all(map(_finite, _numbers(inputs))):
            text = f"what goes into {name} was not finite, though every module before it gave finite numbers"
            self.forward = Cause("forward", text, samples=tuple(self._indices.tolist()))

    def _leave(self, name: str, module: nn.Module, inputs: Any, outputs: Any) -> None:
        for tensor in _numbers(outputs):
            if self.forward is None and not _finite(tensor):
                self.forward = _forward_cause(name, module, inputs, tensor, self._indices)
            if tensor.requires_grad:
                # On the tensor, not the module: a module's backward hook forbids the next one to work in place.
                tensor.register_hook(partial(self._come_back, name))

    def _come_back(self, name: str, gradient: Tensor) -> None:
        if _finite(gradient):
            self._arrived = name if self.backward is None else self._arrived
            return
        since = f"It was finite until it had come back to {self._arrived}." if self._arrived else ""
        self._blame(f"the gradient that arrives at the output of {name} was the first that was not finite", since)

    def _reach_weights(self, name: str, gradient: Tensor) -> None:
        if not _finite(gradient):
            self._blame(f"the gradient of the weights {name} was the first that was not finite")

    def _blame(self, text: str, numbers: str = "") -> None:
        self.backward = self.backward or Cause("backward", text, numbers, samples=tuple(self._indices.tolist()))


def _forward_cause(name: str, module: nn.Module, inputs: Any, output: Tensor, indices: Tensor) -> Cause:
    entered = max((_largest(tensor) for tensor in _numbers(inputs)), default=0.0)
    weights = max((_largest(parameter) for parameter in module.parameters(recurse=False)), default=0.0)
    bad = _bad_rows(output, len(indices))
    numbers = f"The largest number that went in was {entered:.3g}"
    numbers += f", its largest weight {weights:.3g}." if weights else "."
    return Cause(
        "forward",
        f"the output of {name} ({type(module).__name__}) was the first that was not finite",
        numbers,
        max(entered, weights),
        tuple(indices[bad].tolist()),
    )


def _numbers(value: Any) -> Iterator[Tensor]:
    """The floating-point tensors in ``value``."""
    return (tensor for tensor in tensors_in(value) if tensor.is_floating_point())


def _finite(tensor: Tensor) -> bool:
    return bool(torch.isfinite(tensor.detach()).all())


def _largest(tensor: Tensor) -> float:
    """Largest finite magnitude."""
    values = tensor.detach().float().abs()
    return float(torch.where(values.isfinite(), values, 0.0).max()) if values.numel() else 0.0


def _bad_rows(tensor: Tensor, count: int) -> Tensor:
    """Bool (count,) on the CPU: which samples' numbers are not all finite; all, where rows are no samples."""
    if tensor.ndim == 0 or len(tensor) != count:
        return torch.full((count,), not _finite(tensor))
    return ~torch.isfinite(tensor.detach()).reshape(count, -1).all(dim=1).cpu()


# --------------------------------------------------------------------------------------------------- what is told of it


def _describe(session: Session, step: int, cause: Cause) -> Finding:
    reason, fix = cause.text, Fix()
    if cause.kind:
        remedy, fix = _remedy(session, cause)
        who = f"Samples: {_names(session, cause.samples)}." if cause.samples else ""
        advice = " ".join(part for part in (cause.numbers, who, remedy) if part)
    else:
        reason = "its gradient was not finite"
        advice = (
            "Computed again with the weights of now, which have moved on since, the same samples give a finite one. "
        )
        advice += _general_advice(session)
    return warn(f"Step {step:,} was skipped: {reason}.", advice, step=step, fix=fix)


def _names(session: Session, samples: tuple[int, ...]) -> str:
    return list_first(sample_names(session, samples), len(samples))


def sample_names(session: Session, samples: tuple[int, ...]) -> tuple[str, ...]:
    """What a person calls the first few of ``samples``."""
    return tuple(session.data.source.name(sample) for sample in samples[:_SHOWN_NAMES])


def _remedy(session: Session, cause: Cause) -> tuple[str, Fix]:
    """What to do about it, in words and as settings."""
    if cause.kind == "input":
        return "Repair these samples or take them out of the data; until then their steps are skipped.", {}
    if cause.kind == "weights":
        advice = "Go back to an earlier checkpoint, and on from there with a lower learning rate."
        return advice, lower_rate(session.config)
    if cause.largest >= HUGE:
        advice = "The numbers have grown out of bounds: lower the learning rate or clip the gradient's norm."
        return advice, lower_rate(session.config)
    if session.numerics.scaler.is_enabled():
        other = instead_of_fp16(session.device)
        return f"fp16 holds no number above 65,504: compute in {other}.", {"precision.compute": other}
    if cause.kind == "forward":
        return (
            "Numbers of this size are no reason to overflow: look there for a logarithm or a division of zero, or a root "
            "of a negative number, and add a small number inside."
        ), {}
    return (
        "Look there for a root, a logarithm or a division whose input may be zero, and add a small number inside; if the "
        "loss was growing before, lower the learning rate."
    ), {}


def _general_advice(session: Session) -> str:
    if session.numerics.scaler.is_enabled():
        return "With fp16 a few are normal; many mean that bf16 or fp32 should be used."
    return "If there are many, lower the learning rate."


def instead_of_fp16(device: torch.device) -> str:
    """The number format with the range of float32 that costs least."""
    return "bf16" if device.type != "cuda" or torch.cuda.is_bf16_supported() else "fp32"


def lower_rate(config: RunConfig) -> Fix:
    """The settings for a tenth of the learning rate."""
    highest = getattr(config.schedule, "max_lr", None)
    if highest is not None:
        return {"schedule.max_lr": float(f"{highest / 10:.3g}")}
    return {"optimizer.lr": float(f"{config.optimizer.lr / 10:.3g}")}
