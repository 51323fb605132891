"""How a batch is shared out among processes."""

from __future__ import annotations

import os
from collections.abc import Callable

from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data
from training.config.rules.slot_problems import slot_problems
from training.errors import ConfigError, InputError, join_choices, pluralize
from training.toml_text import Toml

CUT_OFF, RESUME = "The run was cut off", "Resume it with"
"""How it is told that a process of a run ended before the run, and what is to be typed then."""


def describe_share(samples: int, count: int) -> str:
    """ "256 = 8 x 32": how a batch is shared out."""
    low, more = divmod(samples, count)
    each = f"{low}" if not more else f"{low} or {low + 1}"
    return f"{samples} = {count} x {each}"


Tell = Callable[[str], object]


def ignore(words: str) -> None:
    """What is told to nobody."""


def with_slots(config: RunConfig, count: int, tell: Tell = ignore) -> RunConfig:
    """``config`` of a run that has not begun, with batches that ``count`` processes can share: cut into so many slots, which ``tell`` hears, where
    they are not cut yet. Raises InputError where they are cut otherwise, or cannot be."""
    if config.loop.slots > 1 or count == 1:
        refuse_other_count(config.loop.slots, count)
        return config
    data: dict[str, Toml] = dict(config_data(config))
    apply_overrides(data, [f"loop.slots={count}"])
    cut = parse_config(data, paths=False)
    if problems := [*slot_problems(cut)]:
        raise ConfigError(problems)
    tell(f"loop.slots = {count}: a batch of {describe_share(config.loop.batch_size, count)} samples.")
    return cut


def refuse_other_count(slots: int, count: int) -> None:
    """Raise InputError where ``count`` processes cannot share ``slots``."""
    if slots % count == 0:
        return
    fitting = join_choices([str(number) for number in range(1, slots + 1) if slots % number == 0])
    raise InputError(
        f"loop.slots: {pluralize(slots, 'slot')} cannot be shared out among {count} processes.",
        f"Use {fitting} process{'' if slots == 1 else 'es'}, or set loop.slots to a multiple of {count}, which makes another run.",
        fix={"loop.slots": count},
    )


def refuse_one_device(device: str, count: int) -> None:
    """Raise InputError where ``device`` is a single one, which ``count`` processes would have to share."""
    if device.startswith(("cuda:", "mps")):
        raise InputError(
            f"precision.device: {device} is a single GPU, and {count} processes share the run; use cuda, of which each takes one of its own, "
            "or cpu.",
            fix={"precision.device": "auto"},
        )


def refuse_here() -> None:
    """Raise InputError on a system that torch's launcher does not work on."""
    if os.name == "nt":
        raise InputError(
            "Several processes cannot share a run on Windows: torch has no NCCL there, and its launcher does not start.",
            "Use Windows' Subsystem for Linux (WSL 2) or a machine with Linux.",
        )
