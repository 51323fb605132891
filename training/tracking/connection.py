"""Whether a tracker would take a run, before one is sent."""

from __future__ import annotations

from collections.abc import Callable

from training.errors import TrainingError
from training.sidecars.faults import explain_client
from training.sidecars.keys import hide_keys, provide_keys
from training.tracking.settings import KEYS, TITLES, VARIABLES, Name, TrackerSettings
from training.tracking.to_mlflow import try_mlflow
from training.tracking.to_tensorboard import try_tensorboard
from training.tracking.to_wandb import try_wandb

_TRIES: dict[Name, Callable[..., str]] = {"tensorboard": try_tensorboard, "mlflow": try_mlflow, "wandb": try_wandb}


def try_connection(tracker: Name, settings: TrackerSettings) -> str:
    """Ask ``tracker``, as ``settings`` have it, whether it is there and takes our key; returns the sentence that all is well.

    Raises TrainingError with one sentence where it is not. Takes up to half a minute, loads the tracker's client and puts keys of the
    keyring into this process's environment: a window runs ``python -m training track --test TRACKER`` instead.
    """
    note = provide_keys(KEYS[tracker])
    try:
        with explain_client(TITLES[tracker]):
            told = _TRIES[tracker](getattr(settings, tracker))
    except TrainingError as error:
        raise type(error)(hide_keys(str(error), VARIABLES[tracker]), note) from error
    return f"{told} {note}".strip()
