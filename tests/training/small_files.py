"""A disk that takes no more, without a disk: the system refuses to let files grow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """Inside, a write beyond ``size`` bytes of a file fails (what fits of it is written), as on a full disk."""
    if sys.platform == "win32":
        pytest.skip("has no limit on a file's size")
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
