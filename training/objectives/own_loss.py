"""A loss of a person's own, with the metrics of a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from training import catalog
from training.config.rules.signature import FUNCTION
from training.config.sections.objective import OwnLoss
from training.core.losses import Loss, sum_own
from training.core.own.returned import describe_kind
from training.errors import InputError, TrainingError
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.own_code.run_file import chosen_arguments, explain_faults, read_agreed, run_file
from training.own_code.user_rng import preserve_rng, set_user_seed
from training.system.untrusted import escape_unprintable

_TRIED = 3
"""Made-up samples that the loss is tried on."""


def make_own_loss(config: OwnLoss, facts: DataFacts, device: torch.device, code: Path | None = None) -> Objective:
    """The loss that the file's ``build(...)`` returns, of outputs and targets as the task of ``config`` has them, in float32: logits (n,
    classes) and classes int64 (n,), logits and labels or values float32 (n, K), logits (n, classes, H, W) and masks int64 (n, H, W) with
    -100 where a pixel counts nowhere. ``code`` is the run's copy of the file. Raises InputError for each of its faults."""
    task = make_usual_objective(config, facts, device)
    own = _build(config, task.outputs, code, device)
    _try(own, task.outputs, facts, device)
    return replace(task, loss=Loss(partial(sum_own, own=own)), parts={}, initial_loss=None)


def make_usual_objective(config: OwnLoss, facts: DataFacts, device: torch.device) -> Objective:
    """The task of ``config`` with the loss that it usually has. Raises InputError where the data is for another."""
    measured = config.measured
    if facts.target not in measured.takes:
        raise InputError(
            f"objective.task: {config.task} is not what the data is for; choose another task, or other data."
        )
    make: Callable[..., Objective] = catalog.resolve(catalog.entry("objective", measured.kind))
    return make(measured, facts, device)


class CheckedLoss:
    """The person's loss, whose answers are looked at."""

    def __init__(self, path: str, loss: Callable[[Tensor, Tensor], Any]) -> None:
        self.path, self.loss = path, loss

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Raises TrainingError for what is no loss of this batch."""
        found: Tensor = self.loss(outputs, targets)
        if fault := _find_fault(found, outputs):
            raise TrainingError(
                f"{escape_unprintable(self.path)}: {fault}", "Correct the file, and start a new run with it."
            )
        return found


def arguments_of(config: OwnLoss, signature: Any, outputs: int) -> dict[str, Any]:
    """All that ``build`` is called with."""
    return dict.fromkeys(signature.filled, outputs) | chosen_arguments(config, signature)


def _find_fault(found: Any, outputs: Tensor) -> str:
    """Why this is no loss of a batch, as a sentence; "" where it is one."""
    if not isinstance(found, Tensor) or not found.is_floating_point():
        what = "a tensor of whole numbers" if isinstance(found, Tensor) else describe_kind(found)
        return f"the loss answers {what}; return a tensor of the batch's mean, or of a number for each sample."
    if found.dim() and len(found) != len(outputs):
        return (
            f"the loss answers {describe_kind(found)} for {len(outputs)} samples; return one number, the mean over the batch, or one for each "
            "sample."
        )
    if found.device != outputs.device:
        return f"the loss answers on {found.device}, but the outputs are on {outputs.device}; make its tensors where those are."
    return ""


def _build(config: OwnLoss, outputs: int, code: Path | None, device: torch.device) -> CheckedLoss:
    path = Path(config.path)
    signature = read_agreed(config, "objective", code)
    with preserve_rng():
        torch.default_generator.manual_seed(0)
        set_user_seed(0, "loss", 0)
        module = run_file(signature, path)
        with explain_faults(path, "cannot build the loss"):
            made = getattr(module, FUNCTION)(**arguments_of(config, signature, outputs))
            made = made.to(device) if isinstance(made, nn.Module) else made
    shown = escape_unprintable(str(path))
    if not callable(made):
        raise InputError(
            f"{shown}: {FUNCTION} returns {describe_kind(made)}, no loss; return a torch.nn.Module or a function."
        )
    if isinstance(made, nn.Module) and any(weight.requires_grad for weight in made.parameters()):
        raise InputError(
            f"{shown}: the loss has weights of its own, which nothing would train; make them buffers, or part of the network."
        )
    return CheckedLoss(str(path), made)


def _try(own: CheckedLoss, outputs: int, facts: DataFacts, device: torch.device) -> None:
    """Raise InputError where the loss cannot take such outputs and targets, or nothing can be learned from it."""
    path, shown = Path(own.path), escape_unprintable(own.path)
    answers, targets = _make_up(outputs, facts)
    answers = answers.to(device).requires_grad_()
    buffers = (
        {name: tensor.clone() for name, tensor in own.loss.named_buffers()} if isinstance(own.loss, nn.Module) else {}
    )
    with preserve_rng(), torch.enable_grad():
        with explain_faults(path, f"the loss of {_TRIED} made-up samples"):
            found = own.loss(answers, targets.to(device))
        if fault := _find_fault(found, answers):
            raise InputError(f"{shown}: {fault}")
        if not bool(found.isfinite().all()):
            raise InputError(f"{shown}: the loss of {_TRIED} made-up samples is not finite; correct the file.")
        if not found.requires_grad:
            raise InputError(
                f"{shown}: the loss has no gradient, so nothing would be learned; compute it from the outputs with torch."
            )
        with explain_faults(path, f"the gradient of the loss of {_TRIED} made-up samples"):
            (slope,) = torch.autograd.grad(found.sum(), answers, allow_unused=True)
    if slope is None or not bool(slope.isfinite().all()):
        raise InputError(
            f"{shown}: the gradient of the loss of {_TRIED} made-up samples is not finite; correct the file."
        )
    if isinstance(own.loss, nn.Module):
        changed = [
            name for name, tensor in own.loss.named_buffers() if not torch.equal(tensor, buffers.get(name, tensor))
        ]
        if changed:
            raise InputError(
                f"{shown}: the loss changes its buffer {escape_unprintable(changed[0], 60)}, which no checkpoint holds, so no run could be resumed "
                "exactly; let it follow from outputs and targets alone."
            )


def _make_up(outputs: int, facts: DataFacts) -> tuple[Tensor, Tensor]:
    """Outputs and targets of a few samples, the same each time."""
    generator = torch.Generator().manual_seed(0)
    places = facts.shape[1:] if facts.target == "mask" else ()
    answers = torch.randn((_TRIED, outputs, *places), generator=generator)
    if facts.target in ("class", "mask"):
        return answers, torch.randint(0, len(facts.names), (_TRIED, *places), generator=generator)
    if facts.target == "labels":
        return answers, torch.randint(0, 2, (_TRIED, outputs), generator=generator).float()
    return answers, torch.randn((_TRIED, outputs), generator=generator)
