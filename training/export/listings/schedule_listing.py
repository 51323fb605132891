"""The learning rate of a script: the settings of ``[schedule]`` as a function made of calls of ``training.core.schedules``."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from training.config.describe import describe as describe_settings
from training.config.rules.schedule_problems import goes_by_epochs
from training.config.sections.schedule import OneCycle, WarmupStableDecay
from training.core.durations import read_duration
from training.export.bundle import ExportBundle
from training.schedules import ScheduleConfig, describe
from training.schedules.formulas import ANNEALS, DECAY_SHAPES

_RATES = {
    "one_cycle": "one_cycle({t}, {total}, PCT_START, {values}, {anneal})",
    "constant": "LR",
    "linear": "linear_decay({t}, {length}, LR, END_FACTOR)",
    "cosine": "cosine_annealing({t}, {length}, LR, ETA_MIN)",
    "cosine_restarts": "cosine_warm_restarts({t}, {t_0}, T_MULT, LR, ETA_MIN)",
    "step": "step_decay({t}, {step_size}, LR, GAMMA)",
    "multi_step": "multi_step_decay({t}, {milestones}, LR, GAMMA)",
    "exponential": "exponential_decay({t}, LR, GAMMA)",
    "polynomial": "polynomial_decay({t}, {length}, LR, POWER)",
    "wsd": "stable_decay({t}, {length}, decay_steps(DECAY_FRACTION, {total}, {length}), LR, END_FACTOR, {shape})",
    "plateau": "LR * factor",
}
"""The rate behind the warm-up, by the kind of schedule: a call of ``training.core.schedules``."""
_WIDTH = 108


@dataclass(frozen=True)
class ScheduleListing:
    """The function ``learning_rate``: ``lines`` count what is written as epochs or shares of the run, ``rise`` is the branch for
    the warm-up, condition and rate; ``needs`` are the lengths among its parameters. ``momentum`` is a call for one cycle's."""

    warmup: bool
    lines: tuple[str, ...]
    rise: tuple[str, str] | None
    rate: str
    momentum: str
    needs: tuple[str, ...]
    words: str


def describe_schedule(bundle: ExportBundle) -> ScheduleListing:
    """How a script says the schedule of its run."""
    config = bundle.config.schedule
    by_epochs = goes_by_epochs(config)
    warmup = not isinstance(config, OneCycle) and read_duration(config.warmup)[0] > 0
    names, counts = _name_durations(config, warmup)
    now, total = ("epoch", "epochs") if by_epochs else ("step", "total_steps")
    behind = f" - {names['warmup']}" if warmup else ""
    words = {**names, "t": f"{now}{behind}", "length": f"{total}{behind}", "total": total, "values": "RATES"}
    if isinstance(config, WarmupStableDecay):
        words["shape"] = DECAY_SHAPES[config.decay_shape].__name__
    if isinstance(config, OneCycle):
        words["anneal"] = ANNEALS[config.anneal_strategy].__name__
    rate, rise = _RATES[config.kind].format(**words), None
    if warmup:
        rising = f"LR * linear_warmup({now}, {names['warmup']}, WARMUP_START_FACTOR)"
        if config.kind == "plateau":
            rate = f"{rising} * factor"
        else:
            rise = (f"{now} < {names['warmup']}", rising)
    used = " ".join([rate, *(rise or ())])
    epochs = {"epoch": "step // steps_per_epoch", "epochs": _EPOCHS}
    lines = [f"{name} = {value}" for name, value in epochs.items() if by_epochs and re.search(rf"\b{name}\b", used)]
    text = " ".join([*lines, *counts, used])
    there = {"t": "epoch" if by_epochs else 'progress["step"]', "total": _EPOCHS if by_epochs else total}
    return ScheduleListing(
        warmup,
        (*lines, *counts),
        rise,
        rate,
        _RATES["one_cycle"].format(**words | there | {"values": "MOMENTA"}) if isinstance(config, OneCycle) else "",
        tuple(name for name in ("total_steps", "steps_per_epoch") if re.search(rf"\b{name}\b", text)),
        "\n    ".join(textwrap.wrap(describe(config, bundle.config.optimizer.lr), _WIDTH)),
    )


_EPOCHS = "count_epochs(total_steps, steps_per_epoch)"


def _name_durations(config: ScheduleConfig, warmup: bool) -> tuple[dict[str, str], list[str]]:
    """How the formula calls each duration, and the lines that count those that are not steps already."""
    names, lines = dict[str, str](), list[str]()
    by_epochs = goes_by_epochs(config)
    count = "count_duration({}, total_steps, steps_per_epoch" + (', "epoch")' if by_epochs else ")")
    for spec in describe_settings(type(config)):
        if spec.editor not in ("duration", "durations") or (spec.name == "warmup" and not warmup):
            continue
        value, constant = getattr(config, spec.name), spec.name.upper()
        values = value if spec.editor == "durations" else [value]
        if not by_epochs and all(isinstance(each, int) for each in values):
            names[spec.name] = constant
            continue
        names[spec.name] = spec.name
        counted = (
            count.format(constant) if spec.editor == "duration" else f"[{count.format('each')} for each in {constant}]"
        )
        lines.append(f"{spec.name} = {counted}")
    return names, lines
