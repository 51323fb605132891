"""Settings that a finding or a failure proposes, carried into a run's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from training.config import RunConfig, apply_overrides, parse_config
from training.config.diff import Change, diff
from training.config.files import config_data


def overrides(fix: Mapping[str, Any]) -> list[str]:
    """``fix`` as the command line's ``--set`` takes it: "section.key=value" with TOML values."""
    return [f"{path}={'none' if value is None else json.dumps(value)}" for path, value in fix.items()]


def fixed(config: RunConfig, fix: Mapping[str, Any]) -> RunConfig:
    """``config`` with the settings of ``fix``; raises TrainingError when they do not fit it."""
    data = config_data(config)
    apply_overrides(data, overrides(fix))
    return parse_config(data, "the proposed settings", paths=False)


def changes(config: RunConfig, fix: Mapping[str, Any]) -> list[Change]:
    """What ``fix`` would change in ``config``; raises TrainingError when it does not fit."""
    return diff(config, fixed(config, fix))
