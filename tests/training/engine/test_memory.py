"""Memory runs out: what is said, what is proposed, and what a run does that goes on by itself."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from tests.training.tiny import tiny, tiny_images, write_idx
from training.config import RunConfig
from training.console import Console
from training.core.batch_plan import BatchPlan
from training.engine.device import ran_out_of_memory
from training.engine.runs.run import Hooks, resume_run, start_run
from training.events import Event, Finding
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.records.series import read_series

AUTOMATIC = "loop.on_out_of_memory=smaller_batches"


class Card:
    """The memory of a device, as far as batches go: larger ones than it holds are refused in a forward pass, from the
    ``first``'th pass of a training step on, ``times`` times. A pass without gradients is no training step's."""

    def __init__(self, holds: int, evaluating: int = 10**9, first: int = 0, times: int = 10**9) -> None:
        self.holds, self.evaluating, self.first, self.times = holds, evaluating, first, times
        self.passes = 0

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        fits = len(inputs[0]) <= (self.holds if module.training else self.evaluating)
        self.passes += module.training and torch.is_grad_enabled()
        if not fits and (not module.training or self.passes > self.first) and self.times:
            self.times -= 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


def install(card: Card | None, monkeypatch: pytest.MonkeyPatch, model: Any = None) -> None:
    """Let the next runs' models compute on ``card``."""
    assemble, factory = import_module("training.engine.assemble"), import_module("training.models")

    def make_model(*arguments: Any) -> nn.Module:
        made: nn.Module = model() if model else factory.make_model(*arguments)
        if card is not None:
            made.register_forward_pre_hook(card)
        return made

    monkeypatch.setattr(assemble, "make_model", make_model)


def digests(record: StatusRecord) -> dict[str, str]:
    """Weights and averaged weights of the newest checkpoint."""
    files = read_manifest(Path(str(record.last_checkpoint))).files
    return {name: facts.sha256 for name, facts in files.items() if name.endswith(".safetensors")}


def series(record: StatusRecord) -> bytes:
    return read_series(RunFolder(Path(record.folder)).series_file).tobytes()


def findings(record: StatusRecord) -> list[Finding]:
    return read_history(RunFolder(Path(record.folder)).events_file).findings


def with_batch_norm() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))


# ------------------------------------------------------------------------------------------------ what is proposed


def samples_of_steps(epoch: BatchPlan) -> list[tuple[int, int]]:
    windows = [epoch.batches_of(step) for step in range(epoch.steps)]
    return [(window[0][0], window[-1][1]) for window in windows]


def test_a_proposal_keeps_the_samples_of_every_step() -> None:
    proposals = 0
    for n in range(1, 90):
        for batch_size in (1, 2, 3, 4, 6, 7, 9, 12, 16, 35):
            for accumulation in (1, 2, 3, 5):
                whole = BatchPlan(n, batch_size, accumulation)
                finer = whole.smaller(batch_size // 2)
                while finer is not None:
                    proposals += 1
                    assert finer.batch_size <= batch_size // 2
                    assert samples_of_steps(finer) == samples_of_steps(whole)
                    finer = finer.smaller(finer.batch_size // 2)
    assert proposals > 5000


def test_same_windows_are_recognized_whatever_the_batches() -> None:
    sizes = [(size, count) for size in range(1, 9) for count in range(1, 7)]
    for n in (1, 2, 7, 12, 13, 24, 25, 30):
        for one in sizes:
            for other in sizes:
                left, right = BatchPlan(n, *one), BatchPlan(n, *other)
                assert left.has_steps_of(right) == (samples_of_steps(left) == samples_of_steps(right))


@pytest.mark.parametrize(
    ("batch_size", "accumulation", "proposed"),
    [(64, 1, (32, 2)), (35, 1, (7, 5)), (97, 1, (1, 97)), (91, 2, (26, 7)), (3, 4, (1, 12)), (1, 8, None)],
)
def test_the_largest_batch_that_divides_the_window_is_proposed(
    batch_size: int, accumulation: int, proposed: tuple[int, int] | None
) -> None:
    finer = BatchPlan(1000, batch_size, accumulation).smaller(batch_size // 2)
    assert (finer and (finer.batch_size, finer.accumulation)) == proposed


def test_single_samples_are_not_proposed_when_an_epoch_would_get_another_step() -> None:
    assert BatchPlan(25, 3, 4).smaller(1) is None  # the 25th sample is part of the second step now
    assert BatchPlan(26, 3, 4).smaller(1) == BatchPlan(26, 1, 12)


@pytest.mark.parametrize(
    ("error", "memory"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 8 GB)"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("std::bad_alloc"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_memory_is_recognized_whoever_says_it(error: Exception, memory: bool) -> None:
    assert ran_out_of_memory(error) == memory


# ------------------------------------------------------------------------------------------- a run that is told to stop


def test_a_run_that_does_not_fit_ends_with_settings_that_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Card(holds=16), monkeypatch)
    failed = start_run(tiny(), tmp_path)
    assert failed.status == "failed"
    assert failed.fix == {"loop.batch_size": 16, "loop.accumulation": 2}
    assert "in step 1 with batches of 32" in str(failed.reason)
    assert "21 MB more were asked for" in str(failed.reason)
    assert "Tried to allocate 20.00 MiB" in RunFolder(Path(failed.folder)).log_file.read_text()
    assert "Use loop.batch_size = 16 and loop.accumulation = 2, which fits" in str(failed.advice)
    final = read_history(RunFolder(Path(failed.folder)).events_file).final
    assert getattr(final, "fix", None) == failed.fix
    Console().print_end(failed)
    command = f"python -m training resume {failed.folder} --set loop.batch_size=16 --set loop.accumulation=2\n"
    assert capsys.readouterr().err.endswith(command)

    said: list[Event] = []
    done = resume_run(failed.folder, tmp_path, settings(failed), Hooks(watch=said.append))
    assert done.status == "completed"
    assert done.fix == {}
    assert done.run != failed.run
    assert done.parent is not None
    assert done.parent.run == failed.run
    [finding] = [event for event in said if isinstance(event, Finding)]
    assert "new run from the beginning" in finding.title
    assert "loop.batch_size: 32 → 16" in finding.advice


def settings(record: StatusRecord) -> list[str]:
    """The fix as the console writes it for ``--set``."""
    return [f"{name}={value}" for name, value in record.fix.items()]


def test_what_is_proposed_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(Card(holds=3), monkeypatch)
    failed = start_run(tiny("loop.accumulation=3"), tmp_path)
    assert (failed.step, failed.fix) == (0, {"loop.batch_size": 2, "loop.accumulation": 48})
    assert "batches of 32:" in str(failed.reason)
    assert resume_run(failed.folder, tmp_path, settings(failed)).status == "completed"


def test_resumed_with_the_fix_it_goes_on_at_its_step_with_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny("model.dropout=0", "loop.ema_decay=0.9")
    install(None, monkeypatch)
    whole = start_run(config, tmp_path / "whole")
    install(Card(holds=16, first=13), monkeypatch)
    failed = start_run(config, tmp_path)
    assert (failed.status, failed.step) == ("failed", 13)
    done = resume_run(failed.folder, tmp_path, settings(failed))
    assert (done.status, done.step) == ("completed", whole.step)
    rows = read_series(RunFolder(Path(done.folder)).series_file)
    assert rows["step"].tolist() == list(range(1, whole.step + 1))
    assert rows["lr"].tolist() == read_series(RunFolder(Path(whole.folder)).series_file)["lr"].tolist()
    for name in digests(whole):
        ours, theirs = (load_file(Path(str(record.last_checkpoint)) / name) for record in (done, whole))
        for key, tensor in theirs.items():  # without dropout and batch normalization only rounding differs
            torch.testing.assert_close(ours[key], tensor, rtol=1e-3, atol=1e-5, msg=f"{name} {key}")


def test_validation_that_does_not_fit_proposes_its_own_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(Card(holds=64, evaluating=32), monkeypatch)
    failed = start_run(tiny("loop.validation_batch_size=64"), tmp_path)
    assert failed.fix == {"loop.validation_batch_size": 32}
    assert "with batches of 64 without training" in str(failed.reason)
    done = resume_run(failed.folder, tmp_path, settings(failed))
    assert done.status == "completed"


@pytest.mark.parametrize("automatic", [False, True])
def test_single_samples_that_do_not_fit_end_with_other_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, automatic: bool
) -> None:
    install(Card(holds=0), monkeypatch)
    config = tiny("loop.batch_size=2", "loop.ema_decay=0.9", *([AUTOMATIC] if automatic else []))
    if not automatic:
        config = tiny("loop.batch_size=1", "loop.ema_decay=0.9")
    failed = start_run(config, tmp_path)
    assert failed.status == "failed"
    assert failed.fix == {}
    assert "No smaller batches" in str(failed.advice)
    assert "loop.ema_decay" in str(failed.advice)


def test_batch_normalization_is_never_given_single_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(Card(holds=1), monkeypatch, with_batch_norm)
    failed = start_run(tiny("loop.batch_size=8", AUTOMATIC), tmp_path)
    assert failed.status == "failed"
    assert [item.fix["loop.batch_size"] for item in findings(failed)] == [4, 2]
    assert "batch normalization will see smaller batches" in findings(failed)[0].advice
    assert failed.fix == {}


@pytest.mark.parametrize("automatic", [False, True])
def test_a_step_that_the_optimizer_began_is_never_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, automatic: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes.")

    monkeypatch.setattr(torch, "_fused_adamw_", fail)
    failed = start_run(tiny(*([AUTOMATIC] if automatic else [])), tmp_path)
    assert failed.status == "failed"
    assert "while the optimizer changed the weights" in str(failed.reason)
    assert failed.fix == {}
    assert findings(failed) == []


# ------------------------------------------------------------------------------------------ a run that goes on by itself


@pytest.mark.parametrize(
    "loader", [("resident", 0), ("streamed", 0), pytest.param(("streamed", 1), marks=pytest.mark.slow)]
)
def test_what_goes_on_in_smaller_batches_is_the_run_that_began_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loader: tuple[str, int]
) -> None:
    """Bit for bit, dropout and all: the window that did not fit is begun again with the generators put back."""
    data = write_idx(tmp_path / "data")
    read = [f"loader.mode={loader[0]}", f"loader.workers={loader[1]}", "loop.epochs=2"]
    install(Card(holds=10, first=1), monkeypatch)  # the window's first batch goes through, its second does not
    adapted = start_run(tiny_images(data, AUTOMATIC, *read), tmp_path)
    assert adapted.status == "completed"
    [finding] = findings(adapted)
    assert finding.level == "warning"
    assert finding.fix == {"loop.batch_size": 10, "loop.accumulation": 6}
    assert "step 1 with batches of 20; the run goes on with batches of 10, 6 of them to a step" in finding.title
    assert RunFolder(Path(adapted.folder)).config().loop.batch_size == 20
    install(None, monkeypatch)
    small = start_run(tiny_images(data, "loop.batch_size=10", "loop.accumulation=6", *read), tmp_path)
    assert digests(adapted) == digests(small)
    assert series(adapted) == series(small)
    assert adapted.metrics == small.metrics


def test_batch_normalization_forgets_the_batches_of_the_window_that_did_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(Card(holds=8, first=2), monkeypatch, with_batch_norm)
    adapted = start_run(tiny("loop.batch_size=32", "loop.accumulation=3", AUTOMATIC), tmp_path)
    assert [item.fix["loop.batch_size"] for item in findings(adapted)] == [16, 8]
    install(None, monkeypatch, with_batch_norm)
    small = start_run(tiny("loop.batch_size=8", "loop.accumulation=12"), tmp_path)
    assert digests(adapted) == digests(small)
    assert series(adapted) == series(small)


def ends_after(config: RunConfig, workspace: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> StatusRecord:
    """A run whose process has, as far as its folder tells, vanished after ``step``: nothing is saved at the end."""
    fit = import_module("training.engine.fit")
    real = fit.train_step

    def train_step(session: Any, window: Any, lr: float) -> Any:
        if session.progress.step == step:
            raise OSError("gone")
        return real(session, window, lr)

    with monkeypatch.context() as patch:
        patch.setattr(fit, "train_step", train_step)
        return start_run(config, workspace)


def test_a_run_killed_after_it_went_on_in_smaller_batches_resumes_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny(AUTOMATIC, "loop.epochs=4", "checkpoints.every_steps=100", "loop.ema_decay=0.9")

    def once() -> Card:
        return Card(holds=16, first=11, times=1)  # memory is short for a moment, in the twelfth step

    install(once(), monkeypatch)
    whole = start_run(config, tmp_path)
    install(once(), monkeypatch)
    killed = ends_after(config, tmp_path, 14, monkeypatch)
    assert killed.status == "failed"
    assert list_checkpoints(RunFolder(Path(killed.folder)))[0].step == 11  # saved before anything was different
    install(None, monkeypatch)
    resumed = resume_run(killed.folder, tmp_path)
    assert resumed.status == "completed"
    assert (
        read_manifest(Path(str(resumed.last_checkpoint))).files == read_manifest(Path(str(whole.last_checkpoint))).files
    )
    assert series(resumed) == series(whole)
    assert resumed.metrics == whole.metrics


def test_validation_goes_on_in_smaller_batches_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(Card(holds=64, evaluating=20), monkeypatch)
    adapted = start_run(tiny(AUTOMATIC, "loop.ema_decay=0.9", "loop.validation_batch_size=64"), tmp_path)
    assert adapted.status == "completed"
    assert [item.fix for item in findings(adapted)] == [
        {"loop.validation_batch_size": 32},
        {"loop.validation_batch_size": 16},
    ]
    install(None, monkeypatch)
    whole = start_run(tiny("loop.validation_batch_size=16", "loop.ema_decay=0.9"), tmp_path)
    assert digests(adapted) == digests(whole)
    assert adapted.metrics == whole.metrics


def test_other_faults_are_not_taken_for_a_lack_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = nn.Linear.forward

    def fail(layer: nn.Linear, inputs: Tensor) -> Tensor:
        if layer.training:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
        return forward(layer, inputs)

    monkeypatch.setattr(nn.Linear, "forward", fail)
    failed = start_run(tiny(AUTOMATIC), tmp_path)
    assert "shapes cannot be multiplied" in str(failed.reason)
    assert failed.fix == {}
