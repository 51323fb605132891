"""Which of many cases every run of the tests goes through; all of them are gone through with ``--run-slow``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_of(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """The first ``count`` cases for every run of the tests; the others, which cost as much and seldom find more, are slow."""
    return [case if number < count else pytest.param(case, marks=pytest.mark.slow) for number, case in enumerate(cases)]


def some_of(corpus: Iterable[Any], every: int) -> list[Any]:
    """All of ``corpus`` for ``--run-slow``; each ``every``-th of them for every run of the tests."""
    return [
        pytest.param(name, marks=() if number % every == 0 else pytest.mark.slow) for number, name in enumerate(corpus)
    ]
