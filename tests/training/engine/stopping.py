"""Hooks that stop a run where a test wants it to stop."""

from __future__ import annotations

from training.engine.runs.run import Hooks
from training.events import AttemptStarted, Event, Validated


def stopping_at(step: int) -> Hooks:
    """At the validation of this very step."""
    hooks = Hooks()

    def watch(event: Event) -> None:
        if isinstance(event, Validated) and event.step == step:
            hooks.control.request_stop()

    hooks.watch = watch
    return hooks


def stopping_after(step: int) -> Hooks:
    """Once so many steps are done, as Ctrl+C would; at the next validation at the latest, because the word of a checkpoint comes
    from its writer's thread and may come late."""
    hooks = Hooks()

    def watch(event: Event) -> None:
        if getattr(event, "step", 0) >= step and event.kind in ("checkpoint_saved", "validated"):
            hooks.control.request_stop()

    hooks.watch = watch
    return hooks


def stopping_at_once() -> Hooks:
    """Before the first step."""

    def stop_at_once(event: Event) -> None:
        if isinstance(event, AttemptStarted):
            raise KeyboardInterrupt

    return Hooks(watch=stop_at_once)
