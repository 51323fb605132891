"""What is said of settings that do nothing is true."""

from __future__ import annotations

import pytest

from training.config import parse_config
from training.config.idle import idle_settings


@pytest.mark.parametrize(
    ("validation", "given", "idle"),
    [
        ("auto", [], False),  # nobody has looked
        ("auto", ["test", "train"], False),
        ("auto", ["train", "validation"], True),
        ("split", ["train", "validation"], False),
        ("test", ["test", "train"], True),
    ],
)
def test_a_column_of_parts_decides_what_it_names(validation: str, given: list[str], idle: bool) -> None:
    table = {"kind": "table", "path": "t.csv", "targets": ["y"], "split_column": "part", "validation": validation}
    found = idle_settings(parse_config({"dataset": table, "model": {"kind": "tabular"}}, paths=False), given)
    assert ("dataset.validation_fraction" in found) == idle
    assert ("dataset.split_seed" in found) == idle
