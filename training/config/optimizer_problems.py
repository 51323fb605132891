"""Whether optimizer, schedule and loop go together, as far as settings tell."""

from __future__ import annotations

from training.config.optimizer import WITHOUT_MOMENTUM, Sgd
from training.config.run import RunConfig
from training.config.schedule import OneCycle
from training.errors import Problem


def optimizer_problems(config: RunConfig) -> list[Problem]:
    """What an optimizer cannot do, and fine-tuning that contradicts itself."""
    optimizer, schedule = config.optimizer, config.schedule
    found: list[Problem] = []
    if isinstance(optimizer, Sgd) and optimizer.nesterov and optimizer.momentum == 0.0:
        found.append(
            Problem(
                "optimizer.nesterov",
                "needs momentum above 0; set momentum to 0.9 or switch nesterov off.",
                {"optimizer.momentum": 0.9},
            )
        )
    if isinstance(schedule, OneCycle) and schedule.cycle_momentum and optimizer.kind in WITHOUT_MOMENTUM:
        name = type(optimizer).__name__
        found.append(
            Problem(
                "schedule.cycle_momentum",
                f"{name} has no momentum to cycle; switch it off.",
                {"schedule.cycle_momentum": False},
            )
        )
    return [*found, *_fine_tuning_problems(config), *_averaging_problems(config)]


def _fine_tuning_problems(config: RunConfig) -> list[Problem]:
    optimizer, precision = config.optimizer, config.precision
    found: list[Problem] = []
    later = optimizer.unfreeze_epoch
    if later is None:
        if optimizer.freeze == "all_but_head" and optimizer.layer_decay != 1.0:
            found.append(
                Problem("optimizer.layer_decay", "has nothing to act on where the head alone is trained; set it to 1.")
            )
        return found
    if optimizer.freeze == "off":
        found.append(
            Problem("optimizer.unfreeze_epoch", "nothing is frozen; choose what to freeze, or leave this empty.")
        )
    elif later >= config.loop.epochs:
        what = f"must be fewer than loop.epochs, which is {config.loop.epochs}"
        found.append(Problem("optimizer.unfreeze_epoch", f"{what}; unfreeze sooner, or leave this empty."))
    elif precision.compile != "off" or precision.cuda_graphs != "off":
        setting = "compile" if precision.compile != "off" else "cuda_graphs"
        what = "what was compiled or recorded for the head cannot train the rest from optimizer.unfreeze_epoch on"
        found.append(Problem(f"precision.{setting}", f"{what}; set it to off."))
    return found


def _averaging_problems(config: RunConfig) -> list[Problem]:
    loop = config.loop
    if loop.swa_start is None:
        return [
            Problem(f"loop.{name}", "does nothing without SWA; set loop.swa_start, or leave this empty.")
            for name in ("swa_every_steps", "swa_lr")
            if getattr(loop, name) is not None
        ]
    if loop.ema_decay is not None:
        return [Problem("loop.swa_start", "one average is enough; empty loop.ema_decay, or leave this empty.")]
    return []
