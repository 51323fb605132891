"""Sessions whose compiled steps are made by the same functions of tensors, uncompiled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.training.stepping import take_step
from tests.training.tiny import tiny
from training.engine import assemble as assembly
from training.engine.assemble import assemble
from training.engine.compile import compile_session, compiled_step
from training.engine.session import Session

STEPS = 50


class Direct:
    """Stands where compiled code would, and computes the same function as it is."""

    def __init__(self, function: Any, held: Any, *others: Tensor) -> None:
        self.function = function
        self.held = held

    def bind(self, held: Any) -> None:
        self.held = held

    def __call__(self, *others: Tensor) -> Sequence[Tensor]:
        return list(self.function(self.held, *others))


class Differing(Direct):
    """Computes something else."""

    def __call__(self, *others: Tensor) -> Sequence[Tensor]:
        return super().__call__(*(1.001 * tensor if tensor.is_floating_point() else tensor for tensor in others))


class Unused(nn.Module):
    """Has a weight that no result depends on."""

    def __init__(self) -> None:
        super().__init__()
        self.idle = nn.Linear(3, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs


def compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled steps are made by the functions that would be compiled."""
    monkeypatch.setattr(compiled_step, "CompiledGraph", Direct)
    monkeypatch.setattr(compiled_step, "refuse_without_compiler", lambda device: None)


def small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch norm, dropout, a shared weight, a frozen one and one that is not used; nothing is compiled."""

    def make(*_: object) -> nn.Module:
        torch.manual_seed(3)
        shared = nn.Linear(8, 8)
        layers = [
            nn.Linear(2, 8),
            nn.BatchNorm1d(8),
            nn.ReLU(),
            shared,
            nn.Dropout(0.2),
            shared,
            Unused(),
            nn.Linear(8, 3),
        ]
        layers[0].bias.requires_grad_(False)
        return nn.Sequential(*layers)

    monkeypatch.setattr(assembly, "make_model", make)
    compile_nothing(monkeypatch)


def session_for(compile_it: bool, *overrides: str) -> Session:
    given = ("loop.ema_decay=0.9", "dataset.samples=330", "precision.threads=1", *overrides)
    session = assemble(tiny(f"precision.compile={'step' if compile_it else 'off'}", *given), lambda *_: None)
    compile_session(session, lambda *_: None)
    assert (session.compiled is not None) == compile_it
    return session


def train(session: Session, poisoned: frozenset[int] = frozenset(), steps: int = STEPS) -> list[tuple[float, float]]:
    """Loss and norm of each step. The second sample of a poisoned window is NaN."""

    def poison(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        spoiled = inputs[0].clone()
        spoiled[1, 0] = math.nan
        return (spoiled,)

    seen: list[tuple[float, float]] = []
    while True:
        for window in session.data.steps(session.progress.epoch, session.progress.window):
            hook = session.model.register_forward_pre_hook(poison) if session.progress.step in poisoned else None
            loss, norm = take_step(session, window)
            if hook is not None:
                hook.remove()
            seen.append((loss.item(), norm.item()))
            if len(seen) == steps:
                return seen
        session.progress.end_epoch()


def numbers(session: Session) -> dict[str, Tensor]:
    """All that a checkpoint keeps, as tensors."""
    kept = {f"model {name}": tensor for name, tensor in session.model.state_dict().items()}
    if session.ema is not None:
        kept |= {f"average {name}": tensor for name, tensor in session.ema.shadow.items()}
        kept["updates"] = session.ema.count
    state = session.training_state()
    for number, item in state["optimizer"]["state"].items():
        kept |= {f"optimizer {number} {name}": value for name, value in item.items()}
    kept |= {f"scaler {name}": torch.tensor(value) for name, value in state["scaler"].items()}
    kept["dropout"] = state["rng"]["cpu"]
    return {name: tensor.clone() for name, tensor in kept.items()}


def assert_close(left: dict[str, Tensor], right: dict[str, Tensor], tolerance: float = 1e-5) -> None:
    assert list(left) == list(right)
    for name in left:
        assert torch.allclose(left[name], right[name], rtol=tolerance, atol=tolerance), name


WAYS = [
    (),
    ("loop.accumulation=3", "loop.batch_size=16"),
    ("optimizer.kind=adam", "optimizer.amsgrad=true", "optimizer.weight_decay=0.1", "loop.clip_norm=0.1"),
    ("optimizer.kind=sgd", "loop.clip_value=0.01", "optimizer.weight_decay=0.01", "loop.accumulation=2"),
    ("optimizer.kind=sgd", "optimizer.momentum=0.0", "optimizer.nesterov=false", "schedule.cycle_momentum=false"),
    ("loop.clip_norm=none", 'schedule={kind="cosine"}', "loop.ema_decay=none"),
    ("optimizer.kind=nadam", "optimizer.head_lr_factor=3.0"),
    ("optimizer.kind=radam", "optimizer.layer_decay=0.5"),
    ("optimizer.kind=adagrad", "optimizer.lr_decay=0.01", "schedule.cycle_momentum=false"),
    ("optimizer.kind=rmsprop", "optimizer.centered=true", "optimizer.lr=1e-3", "schedule.max_lr=1e-3"),
    ("optimizer.kind=adafactor", "schedule.cycle_momentum=false"),
    ("loop.ema_decay=none", "loop.swa_start=0.1", "loop.swa_every_steps=3"),
]
