"""Memory runs out around a step that is a function of tensors: before the first, in one, and among its writes."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.training.engine.compile.uncompiled import (
    Differing,
    Direct,
    numbers,
    session_for,
    small_model,
    train,
)
from tests.training.tiny import tiny
from training.checkpoints.snapshot import tensors_in
from training.data import MicroBatches
from training.engine.assemble import assemble
from training.engine.compile import compile_session, compiled_step
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import resume_run, start_run
from training.engine.session import Session
from training.errors import TrainingError
from training.runs.records.manifest import read_manifest


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    small_model(monkeypatch)


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
    window = next(ours.data.steps(0, 3))
    with pytest.raises(torch.OutOfMemoryError):
        ours.compiled(ours, window, ours.next_lr())
    ours.guard(lambda: None, torch.tensor(math.nan))
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", [(), ("loop.accumulation=2", "loop.batch_size=16"), ("precision.compile=model",)], ids=str
)
def test_a_run_stopped_after_it_went_on_in_smaller_batches_resumes_to_the_same_bits(
    way: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the process that goes on has compiled anything or not: what stands for compiled code differs widely here."""
    step, forward = compiled_step.CompiledStep.__call__, compiled_step.CompiledModel.__call__

    def make_step(
        made: compiled_step.CompiledStep, session: Session, window: MicroBatches, lr: float
    ) -> tuple[Tensor, Tensor]:
        runs_out_once(session)
        return step(made, session, window, lr)

    def pass_forward(made: compiled_step.CompiledModel, inputs: Tensor) -> Any:
        runs_out_once(made._session)
        return forward(made, inputs)

    monkeypatch.setattr(compiled_step.CompiledStep, "__call__", make_step)
    monkeypatch.setattr(compiled_step.CompiledModel, "__call__", pass_forward)
    monkeypatch.setattr(torch, "compile", lambda model, dynamic: lambda inputs: 1.001 * model(inputs))
    monkeypatch.setattr(compiled_step, "CompiledGraph", Differing)
    settings = ("precision.compile=step", "loop.on_out_of_memory=smaller_batches", "dataset.samples=330", *way)
    whole = start_run(tiny(*settings), tmp_path / "whole")
    hooks = Hooks()
    hooks.watch = lambda event: hooks.control.request_stop() if event.kind == "found" else None
    stopped = start_run(tiny(*settings), tmp_path / "cut", hooks)
    assert 11 <= stopped.step < whole.step
    resumed = resume_run(stopped.run, tmp_path / "cut")
    files = [read_manifest(Path(str(record.last_checkpoint))).files for record in (resumed, whole)]
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
        assert (ours.status, ours.step) == ("failed", 3)
        assert ours.fix == {"loop.batch_size": 16, "loop.accumulation": 2}
        return
    small = start_run(tiny("loop.batch_size=16", "loop.accumulation=2", *settings), tmp_path / "small")
    files = [read_manifest(Path(str(record.last_checkpoint))).files for record in (ours, small)]
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


def test_memory_that_runs_out_before_the_first_step_is_told_with_batches_that_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 0

    def scale(scaler: torch.amp.GradScaler, loss: Tensor) -> Tensor:
        if size > 16:
            raise torch.OutOfMemoryError("out of memory")
        return loss

    def forward(module: nn.Module, inputs: tuple[Tensor]) -> None:
        nonlocal size
        size = len(inputs[0])

    monkeypatch.setattr(torch.amp.GradScaler, "scale", scale)
    session = assemble(tiny("precision.compile=step", "dataset.samples=330"), lambda *_: None)
    session.model.register_forward_pre_hook(forward)
    with pytest.raises(TrainingError, match="ran out of memory in step 1 with batches of 32") as caught:
        compile_session(session, lambda *_: None)
    assert caught.value.fix == {"loop.batch_size": 16, "loop.accumulation": 2}
