"""The packages of networks that others wrote: an engine can do without, and then without their networks."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

_PACKAGES: Final = {"torchvision": "torchvision", "torchvision_segmentation": "torchvision", "timm": "timm"}
"""By the kind of a network."""


def missing_for_networks() -> dict[str, str]:
    """By the kinds of networks that this Python cannot build, why, as a sentence. Looks only, and loads none of the packages."""
    return {kind: explain_absence(package) for kind, package in _PACKAGES.items() if find_spec(package) is None}


def explain_absence(package: str) -> str:
    """The sentence, for terminal and window alike."""
    return (
        f"{package} is not installed where the engine works ({sys.executable}); install it there (pip install {package}), or choose "
        "another network, or another engine."
    )
