"""Each of twenty planted sources of numbers that are not finite is named: module, operation, line, samples, fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.engine.nonfinite.sources import SOURCES, Source, find, judge


@pytest.mark.filterwarnings("ignore:std\\(\\)")
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_the_producer_is_named(source: Source, tmp_path: Path) -> None:
    found, ending = find(source, tmp_path)
    assert judge(source, found) == "", (found, ending)
