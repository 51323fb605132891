"""The step: exact windows, and an order of lines in which no two may change places."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.training.tiny import tiny
from training.data import Batch
from training.engine import step as step_module
from training.engine.assemble import assemble
from training.engine.session import Session

TrainStep = Callable[[Session, Any], tuple[Tensor, Tensor]]


@dataclass
class GivenWindow:
    """A window over the rows of two tensors, cut as told."""

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

    def step(self, norm: Tensor) -> bool:
        return True

    def remember(self) -> None:
        """Nothing."""


@pytest.mark.parametrize("accumulation", range(1, 9))
def test_the_window_gradient_is_that_of_all_its_samples(accumulation: int) -> None:
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
            step_module.train_step(session, GivenWindow(inputs, targets, cuts))  # type: ignore[arg-type]
            got = [parameter.grad.clone() for parameter in session.parameters if parameter.grad is not None]
            session.optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(session.model(inputs), targets).backward()
            for mine, parameter in zip(got, session.parameters, strict=True):
                torch.testing.assert_close(mine, parameter.grad, rtol=1e-12, atol=1e-15)


def windows() -> list[GivenWindow]:
    """Eight windows of three unequal batches; the fourth overflows fp16."""
    torch.manual_seed(1)
    made = [GivenWindow(torch.randn(21, 2), torch.randint(0, 3, (21,)), [8, 8, 5]) for _ in range(8)]
    made[3].inputs *= 1e6
    return made


def run_engine(train_step: TrainStep) -> dict[str, Tensor]:
    session = session_for("precision.compute=fp16", "loop.clip_norm=0.05", "optimizer.lr=0.01", "schedule.max_lr=0.1")
    for window in windows():
        train_step(session, window)
    return {name: value.clone() for name, value in session.model.state_dict().items()}


def run_plainly() -> dict[str, Tensor]:
    """The same eight steps with torch's own scaler, clipping and scheduler, as its documentation orders them."""
    session = session_for("precision.compute=fp16", "optimizer.lr=0.01")
    model, scaler = session.model, torch.amp.GradScaler("cpu")
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.01, fused=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=session.total_steps)
    for window in windows():
        optimizer.zero_grad()
        for batch in window:
            with torch.autocast("cpu", dtype=torch.float16):
                outputs = model(batch.inputs)
            loss = nn.functional.cross_entropy(outputs.float(), batch.targets, reduction="sum") / window.samples
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
    return dict(model.state_dict())


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return all(torch.allclose(left[name], right[name], rtol=1e-5, atol=1e-7) for name in right)


def test_scaler_clip_and_schedule_equal_torchs_own_order() -> None:
    assert equal(run_engine(step_module.train_step), run_plainly())


def swapped(first: str, second: str) -> TrainStep:
    """``train_step`` with the two top-level statements that contain ``first`` and ``second`` exchanged."""
    tree = ast.parse(inspect.getsource(step_module))
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "train_step")
    places = [
        next(index for index, node in enumerate(function.body) if text in ast.unparse(node)) for text in (first, second)
    ]
    left, right = places
    function.body[left], function.body[right] = function.body[right], function.body[left]
    module = types.ModuleType("swapped_step")
    exec(compile(ast.fix_missing_locations(tree), "swapped_step", "exec"), module.__dict__)
    result: TrainStep = module.train_step
    return result


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("parameter.grad = None", "numerics.backward"),
        ("numerics.backward", "numerics.unscale"),
        ("numerics.unscale", "gradient_norm("),
        ("numerics.unscale", "clip_gradients_("),
        ("clip_gradients_(", "guard.step"),
        ("numerics.unscale", "guard.step"),
        ("progress.step += 1", "apply_schedule"),
    ],
)
def test_no_two_lines_may_change_places(first: str, second: str) -> None:
    reference = run_plainly()
    try:
        result = run_engine(swapped(first, second))
    except (RuntimeError, UnboundLocalError, AssertionError):
        return  # torch itself refuses the wrong order
    assert not equal(result, reference)


def test_value_clipping_bounds_every_element() -> None:
    session = session_for("loop.clip_norm=none", "loop.clip_value=0.001")
    step_module.train_step(session, windows()[0])  # type: ignore[arg-type]
    largest = max(float(parameter.grad.abs().max()) for parameter in session.parameters if parameter.grad is not None)
    assert largest == pytest.approx(0.001)


def test_a_poisoned_window_changes_nothing_and_is_counted() -> None:
    session = session_for("loop.ema_decay=0.5")
    step_module.train_step(session, windows()[0])  # type: ignore[arg-type]
    assert session.ema is not None
    before = {name: value.clone() for name, value in session.model.state_dict().items()}
    averaged = {name: value.clone() for name, value in session.ema.state_dict().items() if torch.is_tensor(value)}
    poisoned = windows()[1]
    poisoned.inputs[0, 0] = float("nan")
    _loss, norm = step_module.train_step(session, poisoned)  # type: ignore[arg-type]
    assert not torch.isfinite(norm)
    assert all(torch.equal(value, before[name]) for name, value in session.model.state_dict().items())
    assert all(torch.equal(session.ema.state_dict()[name], value) for name, value in averaged.items())
