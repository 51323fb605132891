"""What holds the reading of samples up."""

from __future__ import annotations

from pydantic import JsonValue

from training.config.sections.loader import Loader

_MANY = 4
"""Workers, from which on more of them bring little."""


def find_brake(loader: Loader, decodes: bool = True) -> tuple[str, str, dict[str, JsonValue]]:
    """What of the settings does it by request: a clause, advice, and the settings by which the program chooses instead. ``decodes``:
    samples are files that are opened and decoded one by one."""
    if loader.mode == "streamed":
        return (
            ", as they are read while training",
            "In memory, where they fit, nothing is waited for.",
            {"loader.mode": "auto"},
        )
    if decodes and loader.cache == "off":
        return ", as files are decoded in each epoch", "Keep them decoded in a cache.", {"loader.cache": "auto"}
    if loader.workers is not None and loader.workers < _MANY:
        cause = f", as {loader.workers or 'no'} worker reads ahead" if loader.workers < 2 else ""
        return cause, "Let the program choose how many processes read and decode at once.", {"loader.workers": None}
    return "", "A faster disk, smaller files, or less augmentation on the CPU would help.", {}
