"""How the script augments images: the calls of our own functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from training.config import RunConfig
from training.config.sections.data.image_section import ImageSection
from training.config.sections.objective import Segmentation
from training.data.augment.geometry import turn
from training.data.augment.mixing import mix
from training.data.augment.steps import Step, steps

_MIXING = ("mixup_alpha", "cutmix_alpha")
_WIDTH = 114


@dataclass(frozen=True)
class Augmentation:
    """The lines of ``augment``, and the arguments of what is done after normalization."""

    varied: list[str]
    erased: list[str]
    mixed: str


def describe_augmentation(config: RunConfig) -> Augmentation | None:
    """What the templates ask for; None where nothing is augmented."""
    found = steps(config.dataset, mask=_is_masked(config))
    early = [step for step in found if step.takes != "inputs"]
    late = [step for step in found if step.takes == "inputs"]
    varied = [line for number, step in enumerate(early) for line in _call(step, early[:number], config)]
    if varied:
        last = max(number for number, line in enumerate(varied) if line.startswith("images = "))
        varied[last] = varied[last].replace("images =", "return", 1)
    mixed = {name: name for name in _mixing(config)}
    if not found and not mixed:
        return None
    erased = [", ".join(_write_arguments(step.function, step.arguments, config)) for step in late]
    return Augmentation(varied, erased, ", ".join(_write_arguments(mix, mixed, config)))


def list_augmentation_settings(config: RunConfig) -> list[str]:
    """The settings that the script names in capitals, in their order."""
    named = {
        setting
        for step in steps(config.dataset, mask=_is_masked(config))
        for name, setting in step.arguments.items()
        if _is_named(step.function, name, getattr(config.dataset, setting))
    }
    named |= set(_mixing(config))
    return [name for name in type(config.dataset).model_fields if name in named]


def _is_masked(config: RunConfig) -> bool:
    """Whether the last channel of what is augmented is a mask, which moves with its image and keeps its numbers."""
    return isinstance(config.objective, Segmentation)


def _mixing(config: RunConfig) -> list[str]:
    dataset = config.dataset
    return [name for name in _MIXING if getattr(dataset, name)] if isinstance(dataset, ImageSection) else []


def _call(step: Step, before: list[Step], config: RunConfig) -> list[str]:
    """The lines that make the step, after one that makes bytes of images that are numbers by now."""
    rounded = bool(before) and before[-1].function is turn and step.takes != "geometry"
    lines = ["images = images.round().to(torch.uint8)"] if rounded else []
    words = _write_arguments(step.function, step.arguments, config)
    made, given = "images", "images"
    if _is_masked(config) and step.takes == "colors":
        made, given = "colors", "images[..., :-1].contiguous()"
    elif _is_masked(config) and step.takes != "pixels":
        words = ["mask=True", *words]
    start = f"{made} = {step.function.__name__}("
    if len(line := f"{start}{given}, draws, {', '.join(words)})") <= _WIDTH:
        lines.append(line)
    else:
        lines += [start, f"    {given},", "    draws,", *(f"    {word}," for word in words), ")"]
    return lines + ["images = torch.cat([colors, images[..., -1:]], dim=3)"] * (made == "colors")


def _write_arguments(function: Callable[..., Any], arguments: dict[str, str], config: RunConfig) -> list[str]:
    """``name=SETTING`` for each of the arguments that says more than its default."""
    words = []
    for name, setting in arguments.items():
        value = getattr(config.dataset, setting)
        if value != inspect.signature(function).parameters[name].default:
            text = (
                setting.upper() if _is_named(function, name, value) else f'"{value}"' if value is not True else "True"
            )
            words.append(f"{name}={text}")
    return words


def _is_named(function: Callable[..., Any], name: str, value: Any) -> bool:
    """Whether the value stands in the script under the setting's name: every number that is not the default."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and value != inspect.signature(function).parameters[name].default
