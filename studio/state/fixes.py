"""Settings that a finding or a failure proposes, carried into a run's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training.config import RunConfig, apply_overrides, parse_config
from training.config.diff import Change, diff
from training.config.files import config_data, overrides_of


def fixed(config: RunConfig, fix: Mapping[str, Any]) -> RunConfig:
    """``config`` with the settings of ``fix``; raises TrainingError when they do not fit it."""
    data = config_data(config)
    apply_overrides(data, overrides_of(fix))
    return parse_config(data, "the proposed settings", paths=False)


def changes(config: RunConfig, fix: Mapping[str, Any]) -> list[Change]:
    """What ``fix`` would change in ``config``; raises TrainingError when it does not fit."""
    return diff(config, fixed(config, fix))
