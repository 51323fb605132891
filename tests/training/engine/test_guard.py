"""Windows whose gradient is not finite: no trace of them in the run, their samples told, their cause found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.training.stepping import take_step
from tests.training.tiny import tiny
from training.checkpoints import load_state
from training.checkpoints.load import load_tensors
from training.core.losses import Loss
from training.data.sources.toys import Points
from training.engine import assemble as assembly
from training.engine.assemble import assemble
from training.engine.recovery import nonfinite as skips
from training.engine.recovery.replay import Skip, explain
from training.engine.runs.run import start_run
from training.engine.session import Session, rng_state
from training.engine.step_logger import StepLogger
from training.events import Finding
from training.runs.folder import RunFolder, create_run
from training.runs.records.history import History, read_history
from training.runs.records.series import read_series

ALWAYS = ("loop.accumulation=3", "loop.batch_size=16", "loop.ema_decay=0.9", "loop.clip_norm=0.5")
OPTIMIZERS = [
    ("optimizer.kind=adamw",),
    ("optimizer.kind=adam", "optimizer.amsgrad=true"),
    ("optimizer.kind=sgd",),
    ("optimizer.kind=sgd", "optimizer.momentum=0.0", "optimizer.nesterov=false", "schedule.cycle_momentum=false"),
]


class Brittle(nn.Module):
    """Takes a logarithm that fails for the outermost point of the spiral, in training only."""

    def forward(self, inputs: Tensor) -> Tensor:
        radius = inputs.square().sum(dim=1, keepdim=True)
        return inputs + 1e-3 * torch.log(LIMIT - radius if self.training else radius + 1.0)


LIMIT = 4.0


def small_model(monkeypatch: pytest.MonkeyPatch, *first: nn.Module, dropout: float = 0.0) -> None:
    """Every session has a small network with batch norm, behind ``first``."""

    def make(*_: object) -> nn.Module:
        torch.manual_seed(3)
        layers = [*first, nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, 3)]
        return nn.Sequential(*layers)

    monkeypatch.setattr(assembly, "make_model", make)


def session_for(*overrides: str) -> Session:
    return assemble(tiny(*overrides), lambda phase, fraction: None)


def all_tensors(session: Session) -> dict[str, Tensor]:
    tensors = {f"model {name}": tensor for name, tensor in session.model.state_dict().items()}
    if session.ema is not None:
        tensors |= {f"average {name}": tensor for name, tensor in session.ema.shadow.items()}
    for number, state in session.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer {number} {name}": value for name, value in state.items() if torch.is_tensor(value)}
    return tensors


def assert_equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> None:
    assert list(left) == list(right)
    for name in left:
        assert torch.equal(left[name], right[name]), name
        assert left[name].isfinite().all(), name


def train(session: Session, poisoned: set[int], left_out: bool) -> Session:
    """Two epochs. The ``poisoned`` windows get NaN into the middle one of their batches, or never take place."""
    batches = 0

    def poison(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        nonlocal batches
        batches += 1
        if session.progress.step in poisoned and batches == 2:
            spoiled = inputs[0].clone()
            spoiled[1, 0] = math.nan
            return (spoiled,)
        return inputs

    handle = session.model.register_forward_pre_hook(poison)
    for epoch in range(2):
        for window in session.data.steps(epoch):
            batches = 0
            if left_out and session.progress.step in poisoned:
                session.progress.count_step()  # the rate is a function of the attempted step
            else:
                _, norm = take_step(session, window)
                assert bool(torch.isfinite(norm)) == (session.progress.step - 1 not in poisoned)
    handle.remove()
    return session


@pytest.mark.parametrize("settings", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("mode", ["resident", "streamed"])
def test_a_run_with_poisoned_windows_is_the_run_that_never_had_them(
    settings: tuple[str, ...], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_model(monkeypatch)
    overrides = (*ALWAYS, *settings, f"loader.mode={mode}", "loader.workers=0")
    steps = 2 * session_for(*overrides).data.steps_per_epoch
    poisoned = {0, 4, 5, steps - 1}
    guarded = train(session_for(*overrides), poisoned, left_out=False)
    assert guarded.progress.step == steps
    assert_equal(all_tensors(guarded), all_tensors(train(session_for(*overrides), poisoned, left_out=True)))


@pytest.fixture
def outermost(monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of the point for which ``Brittle`` fails, once in each epoch."""
    small_model(monkeypatch, Brittle(), dropout=0.2)
    with session_for().data as data:
        points = torch.cat([batch.inputs for window in data.steps(0) for batch in window])
        numbers = torch.cat([data.window_samples(0, number) for number in range(data.steps_per_epoch)])
    radii = points.square().sum(dim=1)
    largest, second = radii.topk(2).values.tolist()
    monkeypatch.setattr(f"{__name__}.LIMIT", (largest + second) / 2)
    return int(numbers[radii.argmax()])


def run(workspace: Path, *overrides: str) -> tuple[RunFolder, History]:
    folder = RunFolder(Path(start_run(tiny("model.dropout=0.0", *overrides), workspace).folder))
    return folder, read_history(folder.events_file)


def saved_tensors(folder: RunFolder) -> dict[str, Tensor]:
    checkpoint = max(folder.checkpoints.iterdir())
    state = load_state(checkpoint)
    tensors = {"rng": state["rng"]["cpu"], **load_tensors(checkpoint / "model.safetensors")}
    for number, entries in state["optimizer"]["state"].items():
        tensors |= {f"optimizer {number} {name}": value for name, value in entries.items()}
    return tensors


def test_every_skipped_step_is_told_with_its_samples(tmp_path: Path, outermost: int) -> None:
    folder, history = run(tmp_path)
    assert [event.epoch for event in history.skipped] == [0, 1, 2]
    rows = read_series(folder.series_file)
    assert rows["step"][rows["skipped"] == 1].tolist() == [event.step for event in history.skipped]
    with session_for().data as data:
        for event in history.skipped:
            assert outermost in event.samples
            window = event.step - 1 - event.epoch * data.steps_per_epoch
            assert list(event.samples) == data.window_samples(event.epoch, window).tolist()
            assert event.names == tuple(f"sample {number}" for number in event.samples[:3])
    _, streamed = run(tmp_path, "loader.mode=streamed", "loader.workers=0")
    assert [(e.step, e.samples) for e in streamed.skipped] == [(e.step, e.samples) for e in history.skipped]


def test_the_first_skipped_step_is_explained_once(tmp_path: Path, outermost: int) -> None:
    _, history = run(tmp_path)
    [finding] = [item for item in history.findings if item.code == "nonfinite"]
    assert finding.step == history.skipped[0].step
    assert "log in 0 (Brittle) made NaN of finite numbers" in finding.title
    assert (finding.place, finding.evidence["operation"], finding.evidence["samples"]) == ("0", "log", [outermost])
    assert finding.evidence["exact"]
    assert f"Samples: sample {outermost}." in finding.advice
    assert "logarithm" in finding.advice


@pytest.mark.parametrize("mode", ["resident", "streamed"])
def test_looking_for_the_cause_changes_no_bit(
    tmp_path: Path, outermost: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = (f"loader.mode={mode}", "loader.workers=0", "loop.ema_decay=0.9")
    looked, _ = run(tmp_path, *settings)
    monkeypatch.setattr(
        skips, "explain", lambda session, skip, *_: Finding(level="info", title="not looked", step=skip.step)
    )
    blind, history = run(tmp_path, *settings)
    assert any(item.title == "not looked" for item in history.findings)
    left, right = saved_tensors(looked), saved_tensors(blind)
    assert list(left) == list(right)
    assert all(torch.equal(left[name], right[name]) for name in left)
    assert looked.series_file.read_bytes() == blind.series_file.read_bytes()


def test_an_overflow_now_and_then_is_normal_with_a_gradient_scaler(tmp_path: Path, outermost: int) -> None:
    _, history = run(tmp_path, "precision.compute=fp16")
    assert len(history.skipped) == 3
    assert not [item for item in history.findings if "was skipped:" in item.title]


def test_a_bad_run_does_not_fill_the_disk(tmp_path: Path, outermost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skips, "MOST_EVENTS", 2)
    _, history = run(tmp_path, "loop.epochs=5")
    assert len(history.skipped) == 2
    assert len([item for item in history.findings if "not listed any more" in item.title]) == 1


# --------------------------------------------------------------------------------------------------- what is found


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    small_model(monkeypatch)
    session = session_for("loader.mode=streamed", "loader.workers=0", "loop.accumulation=2")
    yield session
    session.data.close()


def test_samples_that_are_not_finite_are_named(streamed: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    spoiled = int(streamed.data.window_samples(0, 1)[40])  # in the window's second batch
    read = Points.read

    def read_spoiled(source: Points, indices: Tensor) -> Tensor:
        points = read(source, indices)
        points[indices == spoiled] = math.inf
        return points

    monkeypatch.setattr(Points, "read", read_spoiled)
    finding = explain(streamed, Skip(2, 0, 1, 1))
    assert "the inputs of 1 sample held numbers that are not finite" in finding.title
    assert f"Samples: sample {spoiled}." in finding.advice


def test_weights_that_are_not_finite_are_named(streamed: Session) -> None:
    with torch.no_grad():
        streamed.model.get_parameter("4.bias")[1] = math.nan
    finding = explain(streamed, Skip(2, 0, 1, 1))
    assert "4.bias held NaN already" in finding.title
    assert finding.fix == {"schedule.max_lr": 1e-3}


def test_nothing_is_claimed_when_all_is_finite_again(streamed: Session) -> None:
    finding = explain(streamed, Skip(3, 0, 2, 1))
    assert finding.title == "Step 3 was skipped: its gradient was not finite."
    assert "the same samples give a finite one" in finding.advice


def test_a_look_that_fails_ends_nothing_and_leaves_nothing(streamed: Session) -> None:
    window = next(streamed.data.steps(0))
    take_step(streamed, window)
    gradients = [parameter.grad for parameter in streamed.model.parameters()]
    before = {name: tensor.clone() for name, tensor in all_tensors(streamed).items()}
    random = rng_state()["cpu"].clone()

    def fail(outputs: Tensor, targets: Tensor) -> Tensor:
        torch.rand(3)
        raise RuntimeError("no luck")

    streamed.objective = replace(streamed.objective, loss=Loss(fail))
    assert "no luck" in explain(streamed, Skip(1, 0, 0, 1)).advice
    assert_equal(before, all_tensors(streamed))
    assert torch.equal(random, rng_state()["cpu"])
    assert all(p.grad is g for p, g in zip(streamed.model.parameters(), gradients, strict=True))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in streamed.model.modules())


def test_reading_for_the_look_leaves_the_training_pass_alone(streamed: Session) -> None:
    windows = streamed.data.steps(0)
    seen = [next(iter(next(windows))).indices]
    explain(streamed, Skip(1, 0, 0, 1))
    seen += [next(iter(window)).indices for window in windows]
    wanted = [streamed.data.window_samples(0, number)[:32] for number in range(streamed.data.steps_per_epoch)]
    assert all(torch.equal(mine, other) for mine, other in zip(seen, wanted, strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_steps_on_the_gpu_wait_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard, clipping, logging and averaging on, one window poisoned."""
    small_model(monkeypatch)
    session = session_for("precision.device=cuda", "loader.mode=resident", *ALWAYS, "loop.batch_size=8")
    step_logger = StepLogger(
        session,
        create_run(tmp_path, session.config),
        skips.NonFiniteLog(session, lambda event: None, tmp_path / "series.bin"),
    )
    windows = session.data.steps(0)
    numbers: list[tuple[Tensor, Tensor]] = [take_step(session, next(windows))]
    torch.cuda.synchronize()
    poison = torch.tensor(math.nan, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        for step, window in enumerate(windows):
            if step == 2:
                handle = session.model.register_forward_hook(lambda module, inputs, outputs: outputs * poison)
            lr = session.next_lr()
            numbers.append(take_step(session, window))
            step_logger.add(lr, window.samples, *numbers[-1])
            if step == 2:
                handle.remove()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    step_logger.flush()
    step_logger.close()
    norms = torch.stack([norm for _, norm in numbers])
    assert int((~norms.isfinite()).sum()) == 1
    assert session.ema is not None
    assert int(session.ema.count) == len(numbers) - 1
    assert all(tensor.isfinite().all() for tensor in all_tensors(session).values())
