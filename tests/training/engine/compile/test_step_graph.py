"""The step as a function of tensors, uncompiled: equal to ``train_step`` in everything that it keeps."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.training.engine.compile.uncompiled import (
    WAYS,
    Direct,
    assert_close,
    numbers,
    session_for,
    small_model,
    train,
)


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    small_model(monkeypatch)


@pytest.mark.parametrize(
    ("way", "poisoned"), [(WAYS[0], frozenset()), *((way, frozenset({0, 4, 5})) for way in WAYS)], ids=str
)
def test_it_does_what_the_eager_step_does(way: tuple[str, ...], poisoned: frozenset[int]) -> None:
    """Short last batches, and short last windows where batches are gathered, are among the steps."""
    eager = session_for(False, *way)
    right, kept = train(eager, poisoned), numbers(eager)  # before the next: sessions share dropout's generator
    ours = session_for(True, *way)
    made = train(ours, poisoned)
    assert ours.progress == eager.progress
    assert {step for step, (_, norm) in enumerate(made) if not math.isfinite(norm)} == set(poisoned)
    torch.testing.assert_close(torch.tensor(made), torch.tensor(right), rtol=1e-4, atol=1e-5, equal_nan=True)
    assert_close(numbers(ours), kept)


def test_muon_does_what_it_does_in_the_eager_step() -> None:
    """Its steps are made orthogonal in bfloat16, where the last bit of a gradient may weigh more."""
    way = ("optimizer.kind=muon", "optimizer.adamw_lr_factor=0.5", "schedule.max_lr=1e-3")
    eager = session_for(False, *way)
    right, kept = train(eager, steps=10), numbers(eager)
    ours = session_for(True, *way)
    torch.testing.assert_close(torch.tensor(train(ours, steps=10)), torch.tensor(right), rtol=1e-3, atol=1e-3)
    assert_close(numbers(ours), kept, tolerance=3e-3)


@pytest.mark.parametrize("poisoned", [frozenset(), frozenset({3, 4})], ids=["", "poisoned"])
def test_the_scaler_of_fp16_goes_the_same_way(poisoned: frozenset[int]) -> None:
    way = ("precision.compute=fp16", "optimizer.kind=sgd", "optimizer.lr=0.01")
    eager = session_for(False, *way)
    right, kept = train(eager, poisoned, steps=12), numbers(eager)
    ours = session_for(True, *way)
    made = train(ours, poisoned, steps=12)
    torch.testing.assert_close(torch.tensor(made), torch.tensor(right), rtol=2e-2, atol=1e-3, equal_nan=True)
    assert_close(numbers(ours), kept, tolerance=1e-2)
    scale = ours.training_state()["scaler"]
    assert scale == eager.training_state()["scaler"]
    assert scale["scale"] == 65536.0 / 2 ** len(poisoned)


class Watch(TorchDispatchMode):
    """The names of the operations that are carried out inside."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("way", "compute"), [(WAYS[0], "fp16"), *((way, "fp32") for way in WAYS)], ids=str)
def test_no_tensor_is_made_from_a_plain_number(
    way: tuple[str, ...], compute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU it would be copied there, which no CUDA graph can hold."""
    ours = session_for(True, f"precision.compute={compute}", *way)
    usual, watch = Direct.__call__, Watch()

    def watched(direct: Direct, *others: Tensor) -> Sequence[Tensor]:
        with watch:
            return usual(direct, *others)

    monkeypatch.setattr(Direct, "__call__", watched)
    train(ours, steps=2)
    assert watch.names & {"aten::mm", "aten::addmm"}
    assert not watch.names & {"aten::scalar_tensor", "aten::lift_fresh", "aten::_local_scalar_dense"}


@pytest.mark.parametrize("way", [(), ("loop.accumulation=3", "loop.batch_size=16")], ids=str)
def test_what_is_loaded_takes_the_place_of_what_was_held(way: tuple[str, ...]) -> None:
    """As a roll back does it; the odd windows in between are not made by the graph, and bring state of their own."""
    ours = session_for(True, *way)
    train(ours, steps=7)
    weights = {name: tensor.clone() for name, tensor in ours.model.state_dict().items()}
    assert ours.ema is not None
    average = {name: tensor.clone() for name, tensor in ours.ema.shadow.items()}
    state = copy.deepcopy(ours.training_state())
    first = train(ours, steps=9), numbers(ours)
    ours.model.load_state_dict(weights)
    ours.ema.load_state_dict(average, state["ema_updates"])
    ours.load_training_state(state)
    assert train(ours, steps=9) == first[0]
    for name, tensor in numbers(ours).items():
        assert torch.equal(tensor, first[1][name]), name
