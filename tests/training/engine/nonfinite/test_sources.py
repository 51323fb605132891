"""Each of twenty planted sources of numbers that are not finite is named: module, operation, line, samples, fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training.engine.nonfinite.sources import SOURCES, Source, find, judge, make_network, settings_of
from training.engine.runs.run import start_run


@pytest.mark.filterwarnings("ignore:std\\(\\)")
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_the_producer_is_named(source: Source, tmp_path: Path) -> None:
    found, ending = find(source, tmp_path)
    assert judge(source, found) == "", (found, ending)


@pytest.mark.parametrize(
    ("source", "evidence"),
    [
        (
            Source("log", {"model": make_network("x = x if self.training else (x * 0).log()")}, "second.1"),
            {"operation": "log", "part": "validation"},
        ),
        (
            Source(
                "statistics",
                {
                    "model": make_network(
                        "x = self.norm(x)",
                        "self.norm.running_var.data += float('nan') if late else 0.0",
                        setup="self.norm = nn.BatchNorm1d(6)",
                    )
                },
                "second.1.norm",
            ),
            {"source": "second.1.norm.running_var", "part": "validation"},
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Source) else "",
)
def test_what_only_a_validation_meets_is_named(source: Source, evidence: dict[str, Any], tmp_path: Path) -> None:
    found, ending = find(source, tmp_path)
    assert found is not None, ending
    assert found.title.startswith("The validation behind step ")
    assert found.place == source.place
    assert found.evidence.items() >= evidence.items()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (x - 3 * late).log() if late else x", "What made it so is named at step 6, and no setting mends it"),
        ("x = x.exp().exp() if late else x * 1e20", "learning rate ten times lower"),
    ],
)
def test_a_run_that_failed_by_it_says_where_the_cause_is_named(text: str, said: str, tmp_path: Path) -> None:
    source = Source("late", {"model": make_network(text)}, "second.1")
    record = start_run(settings_of(source, tmp_path), tmp_path / "runs")
    assert record.status == "failed"
    assert said in (record.advice or "")
    assert bool(record.fix) == (said == "learning rate ten times lower")
