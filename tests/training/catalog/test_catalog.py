"""Config classes and catalog rows belong together, one to one."""

from __future__ import annotations

import pytest

from training import catalog
from training.catalog import METRICS, Entry, entries, entry, metric, resolve
from training.config import RunConfig
from training.config.run import alternatives

SECTIONS = ["dataset", "model", "objective", "optimizer", "schedule"]
ALL = [(section, row) for section in SECTIONS for row in entries(section)]


@pytest.mark.parametrize("section", SECTIONS)
def test_each_config_class_has_exactly_one_row(section: str) -> None:
    configurable = alternatives(section)
    rows = {row.kind: row.config for row in entries(section)}
    assert rows == configurable
    assert len(entries(section)) == len(configurable)
    assert len({row.title for row in entries(section)}) == len(configurable)


@pytest.mark.parametrize(("section", "row"), ALL, ids=lambda value: value.kind if isinstance(value, Entry) else value)
def test_each_target_exists(section: str, row: Entry) -> None:
    assert callable(resolve(row))
    assert entry(section, row.kind) is row
    assert row.summary.endswith(".")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(KeyError, match="schedule has no kind 'cosinus'"):
        entry("schedule", "cosinus")
    with pytest.raises(KeyError, match="no metric is called 'f2'"):
        metric("val/f2")


def test_metrics_are_those_that_can_be_monitored() -> None:
    for asked, name, maximize in (
        ("auto", "val/accuracy", True),
        ("val/accuracy", "val/accuracy", True),
        ("val/loss", "val/loss", False),
    ):
        config = RunConfig.model_validate({"checkpoints": {"monitor": asked}})
        assert (config.monitor, config.maximize) == (name, maximize)
    assert [found.name for found in METRICS][:2] == ["loss", "accuracy"]
    assert metric("train/accuracy").show(0.98765) == "98.77%"
    assert metric("loss").show(0.123456) == "0.1235"


def test_package_offers_what_it_names() -> None:
    assert all(hasattr(catalog, name) for name in catalog.__all__)
