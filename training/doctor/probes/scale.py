"""How large the numbers of a fresh network are, and which of its units are dead already."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch
from pydantic import JsonValue
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from training.doctor.probes.look import Layer, Look, describe_module, measure_gain
from training.events import Finding
from training.findings.data import FAR_MEAN
from training.findings.probes import (
    DEAD,
    DEAD_LAYER,
    DEAD_SHARE,
    FAINT,
    GAIN,
    INIT_SCALE,
    LARGE_OUTPUT,
    LEAST_PLACES,
    LEAST_UNITS,
    LOW_GAIN,
    NEAR_END,
    SATURATED,
    SATURATING,
    SIGMOIDS,
    SILENT,
    SMALL_GAIN,
)
from training.system.untrusted import escape_unprintable

_RELUS = {"relu", "relu_", "relu6"}
_BOUNDED = {"tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0)}


@dataclass(frozen=True)
class Activation:
    """What an activation (of softmax: one whose output a linear layer takes) made of its input, ``inside`` which module."""

    kind: str
    inside: str
    values: Tensor


class _Activations(TorchFunctionMode):
    """Notes what ReLUs, sigmoids, tanhs and softmaxes answer, as modules or as functions."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Activation] = []
        self.shares: list[tuple[str, Tensor]] = []  # what softmaxes answered, themselves
        self.at: list[str] = [""]

    def leave(self) -> None:
        self.at.pop()

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").strip("_")
        if (name in _RELUS or name in _BOUNDED) and isinstance(result, Tensor):
            self.found.append(Activation(name, self.at[-1], result.detach().clone()))
        elif name == "softmax" and isinstance(result, Tensor):
            self.shares.append((self.at[-1], result))
        elif name == "linear":
            taken = [(at, made) for at, made in self.shares if made is args[0]]
            self.found += [Activation("softmax", at, made.detach()) for at, made in taken]
        return result


@contextmanager
def _note_activations(model: nn.Module) -> Iterator[list[Activation]]:
    mode = _Activations()
    handles: list[Any] = []
    for name, module in model.named_modules():
        if not isinstance(module, torch.jit.ScriptModule):
            handles.append(module.register_forward_pre_hook(partial(lambda name, *_: mode.at.append(name), name)))
            handles.append(module.register_forward_hook(lambda *_: mode.leave()))
    try:
        with mode:
            yield mode.found
    finally:
        for handle in handles:
            handle.remove()


def scale_findings(look: Look) -> list[Finding]:
    """Of all batches together, in training."""
    inputs = [batch.inputs for batch in look.batches]
    given = torch.cat(inputs) if len({each.shape[1:] for each in inputs}) == 1 else inputs[0]
    with _note_activations(look.model) as activations:
        outputs = look.answer(given, training=True)
    look.restore()
    saturated = [each for each in activations if _is_saturated(each, outputs)]
    signal = float(outputs.std(0).max() / given.float().std()) if len(given) > 1 else math.inf
    return [
        *_find_dead(look, activations),
        *_find_softmax(look, activations),
        *_find_sigmoids(look, activations, outputs, signal),
        *_scale(look, outputs, saturated, signal),
    ]


def _units(values: Tensor) -> Tensor:
    """(places, units) of what a layer answers: channels of images, else the last axis."""
    values = values.movedim(1, -1) if values.ndim == 4 else values
    return values.reshape(-1, values.shape[-1]) if values.ndim > 1 else values[None]


def _find_dead(look: Look, activations: list[Activation]) -> list[Finding]:
    worst, share = None, 0.0
    every: list[Tensor] = []
    for each in activations:
        units = _units(each.values)
        if each.kind not in _RELUS or units.shape[1] < 2 * LEAST_UNITS or len(units) < LEAST_PLACES:
            continue
        every.append((units <= 0).all(0).float())
        dead = float(every[-1].mean())
        if dead > share:
            worst, share = each, dead
    if worst is None or (share < DEAD_LAYER and float(torch.cat(every).mean()) < DEAD_SHARE):
        return []
    where = describe_module(worst.inside, look.model.get_submodule(worst.inside))
    title = f"{share:.0%} of the units in {where} answer 0 to every sample before the first step, and learn nothing while they do."
    cause, advice = _why_dead(look)
    config = look.session.config.model
    fix = (
        {"model.norm": "layer" if look.session.data.facts.layout == "list" else "batch"}
        if getattr(config, "norm", "") == "none"
        else {}
    )
    return [DEAD.find("warning", f"{title}{cause}", advice, place=worst.inside, evidence={"dead": share}, fix=fix)]


def _why_dead(look: Look) -> tuple[str, str]:
    for name, module in look.model.named_modules():
        if isinstance(module, Layer) and isinstance(module.bias, Tensor) and len(module.bias) >= LEAST_UNITS:
            bias, weight = float(module.bias.detach().mean()), float(module.weight.detach().float().std())
            if bias < -3.0 * weight * math.sqrt(module.weight[0].numel()) and bias < -0.5:
                return f" The biases of {escape_unprintable(name, 60)} begin at {bias:.3g}.", "Begin with biases of 0."
            if float((module.weight.detach() <= 0).float().mean()) > 0.99:
                return f" All weights of {escape_unprintable(name, 60)} begin below 0.", "Draw weights of both signs."
    inputs = look.batches[0].inputs.float()
    if float(inputs.mean().abs()) > FAR_MEAN * float(inputs.std()):
        return " The inputs lie far from 0.", "Normalize the inputs."
    return "", "Leave torch's own initialization, scale the inputs, or use GELU."


def _find_softmax(look: Look, activations: list[Activation]) -> list[Finding]:
    """One that stands between two layers; that of attention weighs values, and no layer takes it."""
    found = next((each for each in activations if each.kind == "softmax"), None)
    if found is None:
        return []
    where = describe_module(found.inside, look.model.get_submodule(found.inside))
    units = found.values.shape[-1]
    title = f"A softmax in {where} stands between two layers: its {units:,} outputs add up to 1, so that hardly anything of a sample comes through."
    advice = "Use ReLU or GELU between layers; softmax is for class probabilities, and inside the loss already."
    return [SATURATING.find("warning", title, advice, place=found.inside, evidence={"units": units})]


def _find_sigmoids(look: Look, activations: list[Activation], outputs: Tensor, signal: float) -> list[Finding]:
    """Several behind each other: the slope of each is a quarter at most, so that answers hardly differ."""
    hidden = [each for each in activations if each.kind == "sigmoid" and each.values.shape != outputs.shape]
    if look.session.beginning or len({each.inside for each in hidden}) < SIGMOIDS or not 0.0 < signal < FAINT:
        return []
    where = describe_module(hidden[0].inside, look.model.get_submodule(hidden[0].inside))
    title = (
        f"{len(hidden)} sigmoids follow each other, the first in {where}: answers to different samples differ by {signal:.1g} of what the samples do, as each lets a quarter through "
        "at most."
    )
    fix: dict[str, JsonValue] = {"model.activation": "relu"} if hasattr(look.session.config.model, "activation") else {}
    advice = "Use ReLU or GELU in hidden layers, or a normalization between them; sigmoid is for probabilities."
    return [SATURATING.find("warning", title, advice, place=hidden[0].inside, evidence={"signal": signal}, fix=fix)]


def _is_saturated(activation: Activation, outputs: Tensor) -> bool:
    """Of hidden ones: most values at either end of the range."""
    if activation.kind not in _BOUNDED or activation.values.shape == outputs.shape:
        return False
    low, high = _BOUNDED[activation.kind]
    middle, reach = (low + high) / 2, NEAR_END * (high - low) / 2
    return float(((activation.values - middle).abs() > reach).float().mean()) > SATURATED


def _scale(look: Look, outputs: Tensor, saturated: list[Activation], signal: float) -> list[Finding]:
    """``signal``: how much the answers to different samples differ, beside the samples themselves."""
    if not look.is_own or look.session.beginning:
        return []
    gains = {
        name: measure_gain(module)
        for name, module in look.model.named_modules()
        if isinstance(module, Layer) and isinstance(module.weight, Tensor) and module.weight[0].numel() >= LEAST_UNITS
    }
    if not gains:
        return []
    large = [name for name, gain in gains.items() if gain > GAIN]
    small = [name for name, gain in gains.items() if 0.0 < gain < SMALL_GAIN]
    size = float(outputs.square().mean().sqrt())
    if 2 * len(large) >= len(gains) and (size > LARGE_OUTPUT or saturated):
        worst = max(large, key=lambda name: gains[name])
        harm = (
            f"its outputs are of size {size:.3g}"
            if size > LARGE_OUTPUT
            else f"the {saturated[0].kind} in {saturated[0].inside or 'forward'} is at its ends"
        )
        times = gains[worst] / math.sqrt(2.0)
        title = f"The initial weights are too large, {times:,.0f} times He's in {escape_unprintable(worst, 60)}: {harm} before the first step."
    elif (len(small) >= 2 and 2 * len(small) >= len(gains)) or (
        signal < SILENT and min(gains.values()) > 0.0 and median(gains.values()) < LOW_GAIN
    ):
        worst = min(gains, key=lambda name: gains[name] or math.inf)
        times = math.sqrt(2.0) / gains[worst]
        title = f"The initial weights are too small, {times:,.0f} times less than He's in {escape_unprintable(worst, 60)}: hardly anything of a sample comes through."
    else:
        return []
    advice = "Leave torch's own initialization, or use nn.init.kaiming_normal_ for weights and zeros for biases."
    return [
        INIT_SCALE.find("warning", title, advice, place=worst, evidence={"weight_gain": gains[worst], "output": size})
    ]
