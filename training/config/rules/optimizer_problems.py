"""Whether optimizer, schedule and loop go together, as far as settings tell."""

from __future__ import annotations

from collections.abc import Iterator

from training.config.run import RunConfig
from training.config.sections.optimizer import WITHOUT_MOMENTUM, Sgd
from training.config.sections.schedule import OneCycle
from training.errors import Problem


def optimizer_problems(config: RunConfig) -> Iterator[Problem]:
    """What an optimizer cannot do, fine-tuning that contradicts itself, and averages of nothing or two at once."""
    optimizer, schedule = config.optimizer, config.schedule
    if isinstance(optimizer, Sgd) and optimizer.nesterov and optimizer.momentum == 0.0:
        what = "needs momentum above 0; set momentum to 0.9 or switch nesterov off."
        yield Problem("optimizer.nesterov", what, {"optimizer.momentum": 0.9})
    if isinstance(schedule, OneCycle) and schedule.cycle_momentum and optimizer.kind in WITHOUT_MOMENTUM:
        what = f"{type(optimizer).__name__} has no momentum to cycle; switch it off."
        yield Problem("schedule.cycle_momentum", what, {"schedule.cycle_momentum": False})
    yield from _fine_tuning_problems(config)
    loop = config.loop
    if loop.swa_start is None:
        for name in ("swa_every_steps", "swa_lr"):
            if getattr(loop, name) is not None:
                yield Problem(f"loop.{name}", "does nothing without SWA; set loop.swa_start, or leave this empty.")
    elif loop.ema_decay is not None:
        yield Problem("loop.swa_start", "one average is enough; empty loop.ema_decay, or leave this empty.")


def _fine_tuning_problems(config: RunConfig) -> Iterator[Problem]:
    optimizer, precision = config.optimizer, config.precision
    later = optimizer.unfreeze_epoch
    if later is None:
        if optimizer.freeze == "all_but_head" and optimizer.layer_decay != 1.0:
            what = "has nothing to act on where the head alone is trained; set it to 1."
            yield Problem("optimizer.layer_decay", what)
    elif optimizer.freeze == "off":
        yield Problem("optimizer.unfreeze_epoch", "nothing is frozen; choose what to freeze, or leave this empty.")
    elif later >= config.loop.epochs:
        what = f"must be fewer than loop.epochs, which is {config.loop.epochs}"
        yield Problem("optimizer.unfreeze_epoch", f"{what}; unfreeze sooner, or leave this empty.")
    elif precision.compile != "off" or precision.cuda_graphs != "off":
        setting = "compile" if precision.compile != "off" else "cuda_graphs"
        what = "what was compiled or recorded for the head cannot train the rest from optimizer.unfreeze_epoch on"
        yield Problem(f"precision.{setting}", f"{what}; set it to off.")
