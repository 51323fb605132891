"""Why a run does not get where it is sent."""

from __future__ import annotations

from training.errors import InputError, TrainingError


class Away(TrainingError):
    """The far end cannot be reached now, or has a fault of its own: it is tried again later."""


class Refused(InputError):
    """The far end refuses what it is sent: a key, a name. Trying again would not help."""


def explain_missing(package: str, extra: str) -> Refused:
    """The sentence for a client that is not installed."""
    return Refused(f"{package} is not installed; pip install 'trainwright[{extra}]'")
