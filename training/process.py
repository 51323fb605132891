"""Settings of the process that must be made before torch is loaded."""

from __future__ import annotations

import os


def tune_process() -> None:
    """Let arithmetic threads wait politely.

    libgomp's threads spin at every barrier before they sleep, for milliseconds by default. On a desktop, where a
    window, a browser or another run wants the cores too, they then burn the time the slower thread needs: measured on
    two busy cores, a small CNN's step took 440 ms instead of 75. A short spin costs nothing measurable on idle cores.
    Results do not depend on it. What the user has set is left alone.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
