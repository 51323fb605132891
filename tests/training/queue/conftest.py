"""What the tests of the queue share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.queue.working import Person


@pytest.fixture
def person(tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, config, capsys)
