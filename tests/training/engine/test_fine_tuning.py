"""Freezing by depth and in two stages, and rates by depth."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.training.catalog.whole_way import train_and_resume
from tests.training.stepping import take_step
from tests.training.tiny import tiny, tiny_images, write_idx
from training.config import RunConfig
from training.engine.assemble import assemble
from training.engine.runs.run import branch_run, start_run
from training.engine.session import Session
from training.errors import ConfigError, InputError
from training.runs.folder import RunFolder

CPU = "precision.device=cpu"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_idx(tmp_path_factory.mktemp("data") / "idx", samples=80)


def normed(images: Path, *more: str) -> RunConfig:
    """Seven convolutions, six batch norms whose scales the network itself keeps, and a head: 4 steps an epoch."""
    return tiny_images(
        images,
        CPU,
        "model.kind=whitened_cnn",
        "model.channels=[4, 4, 4]",
        "loop.accumulation=1",
        "loop.batch_size=16",
        "loop.epochs=2",
        "checkpoints.every_steps=1",
        "schedule.warmup=0",
        "optimizer.weight_decay=0.1",
        *more,
    )


def weights(run: Path, step: int) -> dict[str, Tensor]:
    return load_file(run / "checkpoints" / f"step-{step:08}" / "model.safetensors")


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> set[str]:
    return {name for name in before if not torch.equal(before[name], after[name])}


HEAD = {"26.weight"}


def test_all_but_the_head_stays_as_it_was(images: Path, tmp_path: Path) -> None:
    last = train_and_resume(normed(images, "optimizer.freeze=all_but_head", "loop.epochs=1"), tmp_path, step=2)
    run = last.parent.parent
    assert changed(weights(run, 1), weights(run, 4)) == HEAD  # batch norms' statistics stay, too


@pytest.mark.parametrize(
    ("optimizer", "step"), [("adamw", 2), ("adamw", 4), ("adamw", 6), ("sgd", 4), ("rmsprop", 4), ("muon", 4)]
)
def test_first_the_head_then_all(optimizer: str, step: int, images: Path, tmp_path: Path) -> None:
    settings = ("optimizer.freeze=all_but_head", "optimizer.unfreeze_epoch=1", f"optimizer.kind={optimizer}")
    last = train_and_resume(normed(images, *settings), tmp_path, step=step)
    run = last.parent.parent
    assert changed(weights(run, 1), weights(run, 4)) == HEAD
    everything = changed(weights(run, 4), weights(run, 8))
    fixed = {name for name in weights(run, 4) if name not in everything}
    assert {"2.weight", "4.running_mean", "4.bias", "26.weight"} <= everything
    assert fixed == {"0.weight"} | {name for name in fixed if name.endswith(".weight")}  # what the network itself keeps
    assert len(fixed) == 7


def test_the_first_stages_alone(images: Path, tmp_path: Path) -> None:
    config = normed(images, "optimizer.freeze=stages", "optimizer.freeze_stages=3", "loop.epochs=1")
    run = Path(start_run(config, tmp_path).folder)
    moved = changed(weights(run, 1), weights(run, 4))
    assert not any(int(name.split(".")[0]) < 9 for name in moved)
    assert {"9.weight", "11.running_var", "26.weight"} <= moved


def test_too_many_stages_are_refused(images: Path) -> None:
    config = normed(images, "optimizer.freeze=stages", "optimizer.freeze_stages=40")
    with pytest.raises(
        InputError, match=r"freeze_stages: this network has \d+ stages, so at most \d+ of them can stay"
    ):
        assemble(config, lambda *_: None)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (("optimizer.unfreeze_epoch=1",), "optimizer.unfreeze_epoch: nothing is frozen"),
        (
            ("optimizer.freeze=all_but_head", "optimizer.unfreeze_epoch=3"),
            "optimizer.unfreeze_epoch: must be fewer than loop.epochs, which is 3",
        ),
        (
            ("optimizer.freeze=all_but_head", "optimizer.unfreeze_epoch=1", "precision.compile=step"),
            "precision.compile: what was compiled or recorded for the head cannot train the rest",
        ),
        (
            ("optimizer.freeze=all_but_head", "optimizer.layer_decay=0.5"),
            "optimizer.layer_decay: has nothing to act on",
        ),
    ],
)
def test_contradictions_are_refused(settings: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        tiny(*settings)
    assert sentence in str(refusal.value)


def assembled(*settings: str) -> Session:
    return assemble(tiny(CPU, "schedule.kind=constant", "model.dropout=0.0", *settings), lambda *_: None)


def one_step(session: Session) -> list[Tensor]:
    before = [parameter.detach().clone() for parameter in session.parameters]
    take_step(session, session.data.rebuild_step(0, 0))
    return [(now - then).detach() for now, then in zip(session.parameters, before, strict=True)]


def test_a_stages_step_is_as_much_smaller_as_its_rate() -> None:
    """SGD's step is its rate times the gradient."""
    plain = ("optimizer.kind=sgd", "optimizer.momentum=0.0", "optimizer.nesterov=false", "loop.clip_norm=none")
    usual = one_step(assembled(*plain))
    scaled = one_step(assembled(*plain, "optimizer.layer_decay=0.5", "optimizer.head_lr_factor=8.0"))
    for index, factor in enumerate((0.25, 0.25, 0.5, 0.5, 8.0, 8.0)):
        torch.testing.assert_close(scaled[index], factor * usual[index], rtol=1e-4, atol=1e-7)


def test_a_branch_that_trains_all_begins_with_the_heads_weights(images: Path, tmp_path: Path) -> None:
    first = start_run(normed(images, "optimizer.freeze=all_but_head", "loop.epochs=1"), tmp_path)
    checkpoint = Path(str(first.last_checkpoint))
    second = branch_run(checkpoint, normed(images, "loop.epochs=2"), tmp_path)
    assert second.status == "completed", second.reason
    events = RunFolder(Path(second.folder)).events_file.read_text()
    assert "because optimizer.freeze groups the weights otherwise" in events
    assert "2.weight" in changed(load_file(checkpoint / "model.safetensors"), weights(Path(second.folder), 8))
