"""Whether a network has the layers and units that its samples need."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from pydantic import JsonValue
from torch import Tensor, nn

from training.config.sections.user_file import UserFile
from training.doctor.probes.look import Layer
from training.doctor.probes.outputs import is_straight
from training.doctor.samples.looked import Looked
from training.doctor.samples.simple_model import Floats, SimpleModel, shrink_images
from training.engine.session import Session
from training.events import Finding
from training.findings.probes import BENDS, FEWEST_UNITS, NARROW
from training.models.meta_forward import switch_mode
from training.system.untrusted import escape_unprintable

_LEAST = 100
_SURE = 4.0
_USUAL, _FEW = 64, 32
_BARELY = 1e-3


def capacity_findings(looked: Looked, session: Session) -> Iterator[Finding]:
    """A network without a hidden layer, where samples need one; or with a layer of so few units that hardly anything passes."""
    layers = [
        (name, module.weight.shape[0]) for name, module in session.model.named_modules() if isinstance(module, Layer)
    ]
    others = any(module.__class__.__module__.startswith("torch.nn.modules.rnn") for module in session.model.modules())
    if not layers or others or session.beginning or len(looked.trained) < _LEAST:
        return
    name, units = min(layers[:-1], key=lambda layer: layer[1], default=("", 0))
    outputs = session.objective.outputs
    tight = len(layers) > 1 and units < min(outputs - 1, FEWEST_UNITS)
    if len(layers) > 1 and ((not tight and units >= FEWEST_UNITS) or not _is_passed(looked, session, name)):
        return
    bent = None if tight else _measure_bend(looked)
    if not tight and (bent is None or (not units and not _is_straight(looked, session))):
        return
    where = (
        f"layer {escape_unprintable(name, 60)} has {units} unit{'s' * (units > 1)}"
        if units
        else "there is no hidden layer"
    )
    why = f"all that tells {outputs} classes apart has to pass there"
    evidence: dict[str, JsonValue] = {"units": units}
    if bent is not None:
        evidence |= {"straight": bent[0], "bent": bent[1]}
        why = (
            f"what is to be learned bends: a simple model explains {bent[1]:.0%} with bends, and {bent[0]:.0%} without"
        )
    yield NARROW.find(
        "warning",
        f"The network is too small: {where}, and {why}.",
        f"Begin with two hidden layers of {_USUAL} units.",
        place=name,
        evidence=evidence,
        fix=_widen(session),
    )


def _is_passed(looked: Looked, session: Session, name: str) -> bool:
    """Whether all that is answered goes through layer ``name``: where it answers the same to all samples, so does the network. A layer that only
    weighs what others tell, or has a way around it, is none."""
    few = session.data.take(looked.trained[:_FEW]).inputs

    def forget(_module: nn.Module, _inputs: object, made: Tensor) -> Tensor:
        return made[:1].expand_as(made).clone()

    with switch_mode(session.model, training=False), torch.no_grad():
        plain = session.model(few)
        hook = session.model.get_submodule(name).register_forward_hook(forget)
        try:
            passed = session.model(few)
        finally:
            hook.remove()
    return float((passed - passed[:1]).abs().max()) <= _BARELY * float((plain - plain[:1]).abs().max())


def _is_straight(looked: Looked, session: Session) -> bool:
    """Whether what is added to a sample adds to its answer, by itself: a layer of weights alone, without anything around that bends."""
    if not isinstance(session.config.model, UserFile):
        return True
    few = session.data.take(looked.trained[:_FEW]).inputs.float()
    if not few.is_floating_point() or len(few) < 3:
        return False
    with switch_mode(session.model, training=False), torch.no_grad():
        return is_straight(lambda x: session.model(x).double(), few, few - few.roll(1, 0), few - few.roll(2, 0))


def _measure_bend(looked: Looked) -> tuple[float, float] | None:
    """How much a simple model explains, from 0 (guessing) to 1, without random features and with them; None where these bring little."""
    model = looked.model or _model_of_values(looked)
    if model is None:
        return None
    plain = shrink_images(looked.train) if looked.is_image else model.inputs
    straight = _measure(SimpleModel(plain, model.targets, bends=False), looked)
    bent = _measure(model, looked)
    error = 1.0 / math.sqrt(len(looked.trained))
    return (max(straight, 0.0), bent) if bent - straight >= max(BENDS, _SURE * error) else None


def _model_of_values(looked: Looked) -> SimpleModel | None:
    source = looked.data.source
    if source.target != "values":
        return None
    values: Floats = source.targets[looked.trained].numpy().astype(np.float32)
    return looked.learn((values - values.mean(0)) / (values.std(0) + 1e-12))


def _measure(model: SimpleModel, looked: Looked) -> float:
    if looked.model is None:
        return 1.0 - float(((model.held_out - model.targets) ** 2).mean())
    usual = float(np.bincount(looked.labels).max() / len(looked.labels))
    return (float((model.held_out.argmax(1) == looked.labels).mean()) - usual) / (1.0 - usual + 1e-9)


def _widen(session: Session) -> dict[str, JsonValue]:
    hidden = getattr(session.config.model, "hidden", None)
    if isinstance(hidden, int):
        return {"model.hidden": _USUAL}
    if hidden is None:
        return {}
    widened = [max(units, _USUAL) if units < FEWEST_UNITS else units for units in hidden]
    return {"model.hidden": [*widened, *[_USUAL] * (2 - len(widened))]}
