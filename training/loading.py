"""Whether there is memory enough for torch, whose native code does not always survive finding out by itself."""

from __future__ import annotations

import re
import subprocess
import sys

from training.errors import TrainingError

_SHORTAGE = re.compile("failed to map segment|cannot allocate memory|MemoryError|OpenBLAS error", re.IGNORECASE)


def expect_torch() -> None:
    """To be called before torch is imported. Raises TrainingError where a limit on this process's memory (``ulimit -v``)
    leaves too little for it: then it is loaded once in a process that may die of that."""
    if not _limited():
        return
    command = [sys.executable, "-c", "import numpy, torch"]
    trial = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if trial.returncode < 0 or (trial.returncode and is_shortage(trial.stderr.decode(errors="replace"))):
        raise too_little_memory()


def is_shortage(text: str) -> bool:
    """Whether what an import failed of tells of too little memory."""
    return _SHORTAGE.search(text) is not None


def too_little_memory() -> TrainingError:
    """What is said then."""
    return TrainingError(
        "There is not enough memory to load torch.",
        "Raise the limit (ulimit -v), or end other programs, and start again.",
    )


def _limited() -> bool:
    try:
        import resource
    except ImportError:  # Windows, which knows no such limit
        return False
    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in limits)
