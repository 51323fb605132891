"""One good run for all who spoil a copy of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.hostile.material import Run, copy_run, make_good_run
from tests.reliability.hostile.trial import guarded


@pytest.fixture(scope="session")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_good_run(tmp_path_factory.mktemp("good"))


@pytest.fixture
def run(good_run: Path, tmp_path: Path) -> Iterator[Run]:
    """A copy to spoil, beside a folder that nothing may touch."""
    with guarded(tmp_path / "outside") as sentinel:
        yield copy_run(good_run, tmp_path, sentinel)
