"""The step as a function of tensors, uncompiled: equal to ``train_step`` in everything that it keeps."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.training.tiny import tiny
from training.checkpoints.snapshot import tensors_in
from training.data import Window
from training.engine import assemble as assembly
from training.engine import compiled
from training.engine.assemble import assemble
from training.engine.compiled import compile_session
from training.engine.device import Numerics
from training.engine.hooks import Hooks
from training.engine.run import resume_run, start_run
from training.engine.session import Session
from training.engine.step import train_step
from training.errors import InputError, TrainingError
from training.runs.manifest import read_manifest

STEPS = 24


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


@pytest.fixture(autouse=True)
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
    monkeypatch.setattr(compiled, "Captured", Direct)
    monkeypatch.setattr(compiled, "refuse_without_compiler", lambda device: None)


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
        for window in session.data.train_windows(session.progress.epoch, session.progress.window):
            hook = session.model.register_forward_pre_hook(poison) if session.progress.step in poisoned else None
            loss, norm = (session.compiled or train_step)(session, window)
            if hook is not None:
                hook.remove()
            seen.append((loss.item(), norm.item()))
            session.progress.window += 1
            if len(seen) == steps:
                return seen
        session.progress.epoch += 1
        session.progress.window = 0


def numbers(session: Session) -> dict[str, Tensor]:
    """All that a checkpoint keeps, as tensors."""
    kept = {f"model {name}": tensor for name, tensor in session.model.state_dict().items()}
    if session.ema is not None:
        kept |= {f"average {name}": tensor for name, tensor in session.ema.state_dict().items()}
        kept["updates"] = session.ema.counter
    state = session.training_state()
    for number, item in state["optimizer"]["state"].items():
        kept |= {f"optimizer {number} {name}": value for name, value in item.items()}
    kept |= {f"scaler {name}": torch.tensor(value) for name, value in state["scaler"].items()}
    kept["dropout"] = state["rng"]["cpu"]
    return {name: tensor.clone() for name, tensor in kept.items()}


def assert_close(left: dict[str, Tensor], right: dict[str, Tensor], tolerance: float = 3e-5) -> None:
    assert list(left) == list(right)
    for name in left:
        assert torch.allclose(left[name], right[name], rtol=tolerance, atol=tolerance / 3), name


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


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("poisoned", [frozenset(), frozenset({0, 4, 5})], ids=["", "poisoned"])
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


@pytest.mark.parametrize("compute", ["fp32", "fp16"])
@pytest.mark.parametrize("way", WAYS, ids=str)
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
    assert "aten::linalg_vector_norm" in watch.names
    assert not watch.names & {"aten::scalar_tensor", "aten::lift_fresh", "aten::_local_scalar_dense"}


@pytest.mark.parametrize("way", [(), ("loop.accumulation=3", "loop.batch_size=16")], ids=str)
def test_what_is_loaded_takes_the_place_of_what_was_held(way: tuple[str, ...]) -> None:
    """As a roll back does it; the odd windows in between are not made by the graph, and bring state of their own."""
    ours = session_for(True, *way)
    train(ours, steps=7)
    weights = {name: tensor.clone() for name, tensor in ours.model.state_dict().items()}
    assert ours.ema is not None
    average = {name: tensor.clone() for name, tensor in ours.ema.state_dict().items()}
    state = copy.deepcopy(ours.training_state())
    first = train(ours, steps=9), numbers(ours)
    ours.model.load_state_dict(weights)
    ours.ema.load_state_dict(average, state["ema_updates"])
    ours.load_training_state(state)
    assert train(ours, steps=9) == first[0]
    for name, tensor in numbers(ours).items():
        assert torch.equal(tensor, first[1][name]), name


@pytest.mark.parametrize("way", [(), ("loop.accumulation=3", "loop.batch_size=16")], ids=str)
def test_a_step_that_runs_out_of_memory_leaves_nothing_behind(
    way: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shortage then makes a step that does not take place, which must not put older buffers back."""
    ours = session_for(True, *way)
    train(ours, steps=3)
    before = numbers(ours)
    calls = 0

    def exhausted(direct: Direct, *others: Tensor) -> Sequence[Tensor]:
        nonlocal calls
        calls += 1
        if calls == len(way):  # none, or the second batch of the window
            raise torch.OutOfMemoryError("out of memory")
        return list(direct.function(direct.held, *others))

    monkeypatch.setattr(Direct, "__call__", exhausted)
    calls = -1 if not way else 0
    assert ours.compiled is not None
    window = next(ours.data.train_windows(0, 3))
    with pytest.raises(torch.OutOfMemoryError):
        ours.compiled(ours, window)
    ours.guard.step(torch.tensor(math.nan))
    after = numbers(ours)
    for name, tensor in before.items():
        assert name == "dropout" or torch.equal(tensor, after[name]), name


@pytest.mark.parametrize("way", [(), ("loop.accumulation=2", "loop.batch_size=16")], ids=str)
def test_smaller_batches_after_memory_ran_out_are_made_by_the_eager_step(way: tuple[str, ...]) -> None:
    eager = session_for(False, *way)
    ours = session_for(True, *way)
    for session in (eager, ours):
        session.progress.batch_size = 8
        session.cut_batches()
        torch.manual_seed(0)
        train(session, steps=9)
    right = numbers(eager)
    for name, tensor in numbers(ours).items():
        assert torch.equal(tensor, right[name]), name


def runs_out_once(session: Session) -> None:
    """Memory is short for a moment, in the twelfth step."""
    if session.progress.step == 11 and not session.progress.batch_size:
        raise torch.OutOfMemoryError("out of memory")


@pytest.mark.parametrize(
    "way", [(), ("loop.accumulation=2", "loop.batch_size=16"), ("precision.compile=model",)], ids=str
)
def test_a_run_stopped_after_it_went_on_in_smaller_batches_resumes_to_the_same_bits(
    way: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the process that goes on has compiled anything or not: what stands for compiled code differs widely here."""
    step, forward = compiled.CompiledStep.__call__, compiled.CompiledModel.__call__

    def make_step(made: compiled.CompiledStep, session: Session, window: Window) -> tuple[Tensor, Tensor]:
        runs_out_once(session)
        return step(made, session, window)

    def pass_forward(made: compiled.CompiledModel, inputs: Tensor) -> Any:
        runs_out_once(made._session)
        return forward(made, inputs)

    monkeypatch.setattr(compiled.CompiledStep, "__call__", make_step)
    monkeypatch.setattr(compiled.CompiledModel, "__call__", pass_forward)
    monkeypatch.setattr(torch, "compile", lambda model, dynamic: lambda inputs: 1.001 * model(inputs))
    monkeypatch.setattr(compiled, "Captured", Differing)
    settings = ("precision.compile=step", "loop.on_out_of_memory=smaller_batches", "dataset.samples=330", *way)
    whole = start_run(tiny(*settings), tmp_path / "whole")
    hooks = Hooks()
    hooks.watch = lambda event: hooks.control.request_stop() if event.kind == "found" else None
    stopped = start_run(tiny(*settings), tmp_path / "cut", hooks)
    assert 11 <= stopped["step"] < whole["step"]
    resumed = resume_run(stopped["run"], tmp_path / "cut")
    files = [read_manifest(Path(record["last_checkpoint"]))["files"] for record in (resumed, whole)]
    assert files[0] == files[1]


@pytest.mark.parametrize("first", [True, False])
def test_memory_that_runs_out_among_the_writes_of_a_step_is_survived_only_where_they_can_be_undone(
    first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first step of a process the numbers before are kept; later the run ends, rather than go on with others."""
    calls = 0

    def halfway(direct: Direct, *others: Tensor) -> Sequence[Tensor]:
        nonlocal calls
        calls += 1
        if calls == (1 if first else 4):
            for tensor in tensors_in(direct.held):
                tensor.add_(1)
            raise torch.OutOfMemoryError("out of memory")
        return list(direct.function(direct.held, *others))

    monkeypatch.setattr(Direct, "__call__", halfway)
    settings = ("dataset.samples=330", "loop.ema_decay=0.9")
    ours = start_run(
        tiny("precision.compile=step", "loop.on_out_of_memory=smaller_batches", *settings), tmp_path / "ours"
    )
    if not first:
        assert (ours["status"], ours["step"]) == ("failed", 3)
        assert ours["fix"] == {"loop.batch_size": 16, "loop.accumulation": 2}
        return
    small = start_run(tiny("loop.batch_size=16", "loop.accumulation=2", *settings), tmp_path / "small")
    files = [read_manifest(Path(record["last_checkpoint"]))["files"] for record in (ours, small)]
    for name in ("model.safetensors", "ema.safetensors"):
        assert files[0][name] == files[1][name]


def test_a_roll_back_to_before_memory_ran_out_compiles_what_a_resumed_run_had_not(tmp_path: Path) -> None:
    session = session_for(True)
    state = copy.deepcopy(session.training_state())
    session = assemble(session.config, lambda *_: None)
    session.progress.batch_size = 16
    compile_session(session, lambda *_: None)
    assert session.compiled is None
    session.load_training_state(state)
    compile_session(session, lambda *_: None)
    assert session.compiled is not None


@pytest.mark.parametrize(("way", "batches"), [((), 1), (("loop.accumulation=3", "loop.batch_size=16"), 3)], ids=str)
def test_a_profile_hears_of_each_batch_when_it_is_computed(way: tuple[str, ...], batches: int) -> None:
    ours = session_for(True, *way)
    laps: list[str] = []
    ours.lap = laps.append
    train(ours, steps=1)
    assert laps == [*["data", "step"] * batches, *["step"] * (batches > 1)]


def test_an_optimizer_that_cannot_be_part_of_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "rule_of", lambda optimizer: None)
    with pytest.raises(
        InputError, match=r"precision\.compile: AdamW cannot be part of such a step; use --set"
    ) as caught:
        session_for(True)
    assert caught.value.fix == {"precision.compile": "off"}


def test_memory_that_runs_out_before_the_first_step_is_told_with_batches_that_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 0

    def backward(numerics: Numerics, loss: Tensor) -> None:
        if size > 16:
            raise torch.OutOfMemoryError("out of memory")
        loss.backward()

    def forward(module: nn.Module, inputs: tuple[Tensor]) -> None:
        nonlocal size
        size = len(inputs[0])

    monkeypatch.setattr(Numerics, "backward", backward)
    session = assemble(tiny("precision.compile=step", "dataset.samples=330"), lambda *_: None)
    session.model.register_forward_pre_hook(forward)
    with pytest.raises(TrainingError, match="ran out of memory in step 1 with batches of 32") as caught:
        compile_session(session, lambda *_: None)
    assert caught.value.fix == {"loop.batch_size": 16, "loop.accumulation": 2}
