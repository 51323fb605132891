"""Stochastic weight averaging: what is averaged, with which statistics, saved, judged and exported."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.optim.swa_utils import SWALR, AveragedModel, get_swa_multi_avg_fn, update_bn

from tests.training.catalog.whole_way import export, train_and_resume
from tests.training.stepping import take_step
from tests.training.tiny import tiny, tiny_images, write_idx
from training.engine.assemble import assemble
from training.engine.evaluate import measure_statistics
from training.engine.runs.run import start_run
from training.errors import ConfigError, InputError
from training.optim.averaging import SWA
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import read_manifest
from training.schedules import make_run_schedule

CPU = "precision.device=cpu"
SETTINGS = (CPU, "loop.swa_start=0.3", "loop.epochs=5", "checkpoints.every_steps=4", "checkpoints.keep_last=99")


def weights(run: Path, step: int, name: str = "model") -> dict[str, Tensor]:
    return load_file(run / "checkpoints" / f"step-{step:08}" / f"{name}.safetensors")


@pytest.mark.parametrize("step", [12, 16, 20])
def test_the_average_of_each_epochs_end_is_kept_to_the_bit(step: int, tmp_path: Path) -> None:
    """40 steps in 5 epochs: from step 12 on, so at 16, 24, 32 and 40."""
    last = train_and_resume(tiny(*SETTINGS), tmp_path, step=step)
    run = last.parent.parent
    assert not (run / "checkpoints" / "step-00000012" / "ema.safetensors").exists()
    assert not read_manifest(run / "checkpoints" / "step-00000012").averaged
    assert read_manifest(last).averaged
    averaged = load_file(last / "ema.safetensors")
    ends = [weights(run, step) for step in (16, 24, 32, 40)]
    for name, value in averaged.items():
        torch.testing.assert_close(value, torch.stack([end[name] for end in ends]).mean(0), rtol=1e-6, atol=1e-7)
    in_between = weights(run, 20, "ema")
    assert all(torch.equal(in_between[name], ends[0][name]) for name in in_between)
    export(last, tmp_path / "exported")
    exported = load_file(tmp_path / "exported" / "model.safetensors")
    assert exported.keys() == averaged.keys()
    assert "equal average (SWA)" in (tmp_path / "exported" / "model.json").read_text()
    assert all(torch.equal(exported[name], averaged[name]) for name in averaged)


def test_before_the_start_the_weights_themselves_are_judged(tmp_path: Path) -> None:
    plain = start_run(tiny(CPU, "loop.epochs=5"), tmp_path)
    averaged = start_run(tiny(*SETTINGS), tmp_path)
    one, other = (
        [event.metrics["val/loss"] for event in read_history(RunFolder(Path(record.folder)).events_file).validations]
        for record in (plain, averaged)
    )
    assert one[:2] == other[:2]  # after the first epoch in the average that is its only member
    assert one[2:] != other[2:]


def test_more_often_than_each_epoch(tmp_path: Path) -> None:
    last = train_and_resume(tiny(*SETTINGS, "loop.swa_every_steps=5"), tmp_path, step=24)
    state = torch.load(last / "state.pt", weights_only=True)
    assert state["ema_updates"] == 6  # 15, 20, ... 40


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_idx(tmp_path_factory.mktemp("data") / "idx", samples=80)


NORMED = (
    CPU,
    "model.kind=whitened_cnn",
    "model.channels=[4, 4, 4]",
    "loop.accumulation=1",
    "loop.batch_size=16",
    "loop.ema_decay=none",
    "loop.swa_start=0.0",
    "loop.swa_every_steps=2",
    "schedule.warmup=0",
)


def test_batch_norms_statistics_are_torchs_of_the_averaged_weights(images: Path) -> None:
    session = assemble(tiny_images(images, *NORMED), lambda *_: None)
    theirs = AveragedModel(session.model, multi_avg_fn=get_swa_multi_avg_fn())
    steps = session.data.steps_per_epoch
    for step in range(steps):
        take_step(session, session.data.rebuild_step(0, step))
        if (step + 1) % 2 == 0:
            theirs.update_parameters(session.model)
    live = {name: buffer.clone() for name, buffer in session.model.named_buffers()}
    generators = torch.get_rng_state()
    measure_statistics(session)
    assert torch.equal(torch.get_rng_state(), generators)
    assert all(torch.equal(live[name], buffer) for name, buffer in session.model.named_buffers())
    assert all(module.training for module in session.model.modules())
    update_bn((batch.inputs for step in range(steps) for batch in session.data.rebuild_step(0, step)), theirs)
    assert isinstance(session.ema, SWA)
    ours = session.ema.shadow
    assert int(session.ema.count) == steps // 2
    for name, wanted in theirs.module.state_dict().items():
        torch.testing.assert_close(ours[name], wanted, rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.parametrize("step", [3, 4])
def test_with_statistics_a_resumed_run_is_the_same(step: int, images: Path, tmp_path: Path) -> None:
    config = tiny_images(images, *NORMED, "checkpoints.every_steps=1", "loop.epochs=2", "checkpoints.keep_last=99")
    last = train_and_resume(config, tmp_path, step=step)
    assert load_file(last / "ema.safetensors")["4.num_batches_tracked"] == 4


def test_the_rate_is_held_as_torchs_swalr_does() -> None:
    config = tiny("loop.swa_start=0.5", "loop.swa_lr=0.003", "schedule.kind=constant", "optimizer.lr=0.01")
    ours = make_run_schedule(config, 20, 10)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=0.01)
    theirs = SWALR(optimizer, swa_lr=0.003, anneal_epochs=0)
    assert [ours.lr(step) for step in range(10)] == [0.01] * 10
    for step in range(10, 20):
        optimizer.step()
        theirs.step()
        assert ours.lr(step) == optimizer.param_groups[0]["lr"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (("loop.swa_start=0.5", "loop.ema_decay=0.9"), "loop.swa_start: one average is enough; empty loop.ema_decay"),
        (("loop.swa_lr=0.1",), "loop.swa_lr: does nothing without SWA; set loop.swa_start"),
        (("loop.swa_every_steps=5",), "loop.swa_every_steps: does nothing without SWA"),
    ],
)
def test_contradictions_are_refused(settings: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        tiny(*settings)
    assert sentence in str(refusal.value)


def test_an_average_that_would_never_begin_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"swa_start: weights would be averaged every 8 steps after step 4, but the run ends"
    ):
        assemble(tiny("loop.swa_start=0.7", "loop.max_steps=6"), lambda *_: None)
