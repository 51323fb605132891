"""What may keep a network from learning a few samples, as changes to be tried one at a time, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from training.config.sections.objective import OwnLoss
from training.config.sections.optimizer import AdamW
from training.config.sections.user_file import UserFile
from training.doctor.one_batch.fit import Change
from training.engine.session import Session
from training.findings.data import SCALE
from training.findings.network import FROZEN
from training.findings.settings import UNUSUAL_RATE
from training.objectives.own_loss import make_usual_objective

_NEAR = 3.0
"""A rate that is nearer to the usual one than by this factor is no other."""


def list_changes(session: Session) -> Iterator[Change]:
    """Those that make sense for the run, each the smallest of its kind."""
    config = session.config
    if session.data.facts.layout != "tokens":
        yield Change(
            SCALE.code,
            "inputs of mean 0 and std 1",
            {"dataset.normalize": True} if session.data.source.as_given else {},
            inputs=_standardize,
        )
    if isinstance(config.objective, OwnLoss):
        usual = make_usual_objective(config.objective, session.data.facts, session.device)
        yield Change("", f"the usual loss of {config.objective.task} in place of your own", loss=usual.loss)
    rates = ("optimizer.lr", config.optimizer.lr)
    if (highest := getattr(config.schedule, "max_lr", None)) is not None:
        rates = ("schedule.max_lr", highest)
    path, rate = rates
    usual_rate = type(config.optimizer)().lr
    if not 1 / _NEAR < usual_rate / rate < _NEAR:
        words = f"the usual learning rate of {usual_rate:g}"
        yield Change(UNUSUAL_RATE.code, words, {path: usual_rate}, rate=usual_rate / rate)
    for factor, words in ((10.0, "ten times the learning rate"), (0.1, "a tenth of the learning rate")):
        yield Change(UNUSUAL_RATE.code, words, {path: float(f"{rate * factor:.3g}")}, rate=factor)
    if config.loop.clip_norm or config.loop.clip_value:
        off = {name: None for name in ("loop.clip_norm", "loop.clip_value") if getattr(config.loop, name[5:])}
        yield Change("", "gradients that are not clipped", off, is_clipped=False)
    if config.optimizer.freeze != "off" or _is_frozen(session.model):
        fix = {"optimizer.freeze": "off"} if config.optimizer.freeze != "off" else {}
        yield Change(FROZEN.code, "all weights trained, none frozen", fix, prepare=_unfreeze)
    if config.optimizer.kind != "adamw":
        adamw = AdamW()
        yield Change("", f"AdamW with a learning rate of {adamw.lr:g}", {"optimizer.kind": "adamw"}, optimizer=adamw)
    if isinstance(config.model, UserFile):
        yield Change("", "the initial weights that torch gives its layers", prepare=partial(_draw_again, config.seed))


def _standardize(inputs: Tensor) -> Tensor:
    """By the samples' own mean and std of each channel or column."""
    axes = [0, *range(2, inputs.ndim)]
    std, mean = torch.std_mean(inputs, axes, correction=0, keepdim=True)
    return (inputs - mean) / std.clamp(min=1e-6)


def _is_frozen(model: nn.Module) -> bool:
    return any(not weight.requires_grad for weight in model.parameters())


def _unfreeze(model: nn.Module) -> None:
    for weight in model.parameters():
        weight.requires_grad_(weight.is_floating_point())
    model.train()


def _draw_again(seed: int, model: nn.Module) -> None:
    torch.manual_seed(seed)
    for module in model.modules():
        if type(module).__module__.startswith("torch.nn.") and callable(
            reset := getattr(module, "reset_parameters", None)
        ):
            reset()
