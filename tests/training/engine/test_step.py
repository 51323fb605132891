"""The step: exact sums over micro-batches, torch's own order, and what each wrong order does to the weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.training.engine.wrong_steps import WRONG, average_before_the_step
from tests.training.stepping import take_step
from tests.training.tiny import tiny
from training.core.guard import FiniteGuard
from training.core.step import train_step
from training.data import Batch
from training.engine.assemble import assemble
from training.engine.fit import Loop
from training.engine.session import Session
from training.optim.averaging import EMA
from training.optim.fast_clip import clip_norm
from training.system.resources import find_resources


@dataclass
class GivenWindow:
    """Micro-batches over the rows of two tensors, cut as told."""

    inputs: Tensor
    targets: Tensor
    cuts: list[int]

    @property
    def samples(self) -> int:
        return len(self.targets)

    def weight(self, weigh: None) -> int:
        return self.samples

    def __iter__(self) -> Iterator[Batch]:
        for inputs, targets in zip(self.inputs.split(self.cuts), self.targets.split(self.cuts), strict=True):
            yield Batch(inputs, targets, torch.arange(len(targets)))


def session_for(*overrides: str) -> Session:
    return assemble(tiny("model.dropout=0.0", *overrides), lambda phase, fraction: None)


class LeavesGradients:
    """A guard that makes no step."""

    def __call__(self, step: Callable[[], object], norm: Tensor) -> bool:
        return True

    def remember(self) -> None:
        """Nothing."""


@pytest.mark.parametrize("accumulation", range(1, 9))
def test_the_gradient_is_that_of_all_samples_of_the_step(accumulation: int) -> None:
    session = session_for("loop.clip_norm=none")
    session.model.double()
    session = replace(session, parameters=list(session.model.parameters()))
    session.guard = LeavesGradients()  # to look at them
    for batches in range(1, 31):
        torch.manual_seed(batches)
        sizes = [4] * (batches - 1) + [1 + batches % 4]  # the last batch of an epoch is often short
        for first in range(0, batches, accumulation):
            cuts = sizes[first : first + accumulation]
            inputs = torch.randn(sum(cuts), 2, dtype=torch.float64)
            targets = torch.randint(0, 3, (sum(cuts),))
            take_step(session, GivenWindow(inputs, targets, cuts))  # type: ignore[arg-type]
            got = [parameter.grad.clone() for parameter in session.parameters if parameter.grad is not None]
            session.optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(session.model(inputs), targets).backward()
            for mine, parameter in zip(got, session.parameters, strict=True):
                torch.testing.assert_close(mine, parameter.grad, rtol=1e-12, atol=1e-15)


def windows() -> list[GivenWindow]:
    """Eight steps of three unequal micro-batches; the fourth overflows fp16."""
    torch.manual_seed(1)
    made = [GivenWindow(torch.randn(21, 2), torch.randint(0, 3, (21,)), [8, 8, 5]) for _ in range(8)]
    made[3].inputs *= 1e6
    return made


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return all(torch.allclose(left[name], right[name], rtol=1e-5, atol=1e-7) for name in right)


def test_the_engines_steps_equal_torchs_own_loop() -> None:
    """With torch's own scaler, clipping and scheduler, as its documentation orders them."""
    session = session_for("precision.compute=fp16", "loop.clip_norm=0.05", "optimizer.lr=0.01", "schedule.max_lr=0.1")
    for window in windows():
        take_step(session, window)  # type: ignore[arg-type]
    other = session_for("precision.compute=fp16", "optimizer.lr=0.01")
    model = other.model
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.01, fused=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=other.total_steps)
    wanted, _ = run_torchs_loop(model, optimizer, scheduler)
    assert equal(dict(session.model.state_dict()), wanted)


# ------------------------------------------------------------------------------- orders that are wrong

STEPS = 24
SCALE = 2.0**16


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    """Whose weights show how large a gradient was, other than Adam's."""
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def cycle(optimizer: torch.optim.Optimizer) -> torch.optim.lr_scheduler.OneCycleLR:
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=STEPS, cycle_momentum=False)


def fp16() -> Any:
    return torch.autocast("cpu", dtype=torch.float16)


def share(outputs: Tensor, targets: Tensor, weight: float | Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs.float(), targets, reduction="sum") / weight


def run_torchs_loop(model: nn.Module, optimizer: Any, scheduler: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The weights, and their exponential moving average by torch's own class, whose every update follows a step."""
    scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True
    )
    for number, window in enumerate(windows()):
        before = {name: buffer.clone() for name, buffer in model.named_buffers()}
        optimizer.zero_grad()
        for batch in window:
            with fp16():
                outputs = model(batch.inputs)
            scaler.scale(share(outputs, batch.targets, window.samples)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        if number == 3:  # the step that is not made
            for name, buffer in model.named_buffers():
                buffer.copy_(before[name])
        else:
            average.update_parameters(model)
    return dict(model.state_dict()), dict(average.module.state_dict())


def run(step: Callable[..., Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The same steps by ``step``, and the average updated after each."""
    model = net()
    optimizer, average = sgd(model), EMA(model, 0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
    rates, guard = cycle(sgd(net())), FiniteGuard(model.buffers())
    for window in windows():
        micro_batches = [(batch.inputs, batch.targets, window.samples) for batch in window]
        lr = rates.get_last_lr()[0]
        rates.optimizer.step()
        rates.step()
        settings = {"scaler": scaler, "autocast": fp16, "clip": partial(clip_norm, max_norm=0.05), "guard": guard}
        if step is average_before_the_step:
            step(model, list(model.parameters()), share, optimizer, micro_batches, lr, **settings, average=average)
            continue
        _, _, stepped = step(model, list(model.parameters()), share, optimizer, micro_batches, lr, **settings)
        average.update(stepped)
    return dict(model.state_dict()), dict(average.shadow)


def test_the_step_equals_torchs_own_loop() -> None:
    model = net()
    optimizer = sgd(model)
    weights, averaged = run_torchs_loop(model, optimizer, cycle(optimizer))
    ours, our_average = run(train_step)
    assert equal(ours, weights)
    floating = {name: tensor for name, tensor in averaged.items() if tensor.is_floating_point()}
    assert equal(our_average, floating)


@pytest.mark.parametrize("step", WRONG, ids=lambda step: step.__name__)
def test_a_step_in_another_order_runs_to_its_end_and_gives_other_weights(step: Callable[..., Any]) -> None:
    model = net()
    optimizer = sgd(model)
    weights, averaged = run_torchs_loop(model, optimizer, cycle(optimizer))
    ours, our_average = run(step)
    floating = {name: tensor for name, tensor in averaged.items() if tensor.is_floating_point()}
    if step is average_before_the_step:
        assert equal(ours, weights)
        assert not equal(our_average, floating)
    else:
        assert not equal(ours, weights)


# ------------------------------------------------------------------------------- in the engine


def test_value_clipping_bounds_every_element() -> None:
    session = session_for("loop.clip_norm=none", "loop.clip_value=0.001")
    take_step(session, windows()[0])  # type: ignore[arg-type]
    largest = max(float(parameter.grad.abs().max()) for parameter in session.parameters if parameter.grad is not None)
    assert largest == pytest.approx(0.001)


def test_a_poisoned_step_changes_nothing() -> None:
    session = session_for("loop.ema_decay=0.5")
    take_step(session, windows()[0])  # type: ignore[arg-type]
    assert session.ema is not None
    before = {name: value.clone() for name, value in session.model.state_dict().items()}
    averaged = {name: value.clone() for name, value in session.ema.shadow.items()}
    poisoned = windows()[1]
    poisoned.inputs[0, 0] = float("nan")
    _loss, norm = take_step(session, poisoned)  # type: ignore[arg-type]
    assert not torch.isfinite(norm)
    assert all(torch.equal(value, before[name]) for name, value in session.model.state_dict().items())
    assert all(torch.equal(session.ema.shadow[name], value) for name, value in averaged.items())


def test_the_diagram_in_the_help_has_the_order_of_the_step_and_of_the_loop() -> None:
    drawn = (find_resources("training", "help") / "loop.md").read_text(encoding="utf-8").split("```")[1]
    step = [
        "zero_grad(", "model(inputs)", "loss(outputs, targets", ".backward()", "unscale_(", "clip", "optimizer.step",
        "scaler.update()",
    ]  # fmt: skip
    loop = [
        "end_epoch()",
        "saver.after_step(control, improved=self.validation.after_step(control))",
        "requests.handle()",
    ]
    around = ["epoch ends?", "validation due?", "a checkpoint", "asked for?"]  # an argument comes before its call
    made, kept = inspect.getsource(train_step), inspect.getsource(Loop._train_epoch)
    for words, text in ((step, made.rpartition('"""')[2]), (loop, kept), ([*step, *around], drawn)):
        places = [text.index(word) for word in words]
        assert places == sorted(places)
