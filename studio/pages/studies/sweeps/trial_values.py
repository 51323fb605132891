"""What a trial tried, as the forms hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import split_path
from training.config import RunConfig
from training.sweeps.space import Params, Space
from training.toml_text import Toml


class TrialValues(NamedTuple):
    """The configuration of a trial, and in it by their paths the settings that were proposed."""

    config: RunConfig
    values: Mapping[str, Toml]


def read_values(space: Space, base: RunConfig, params: Params) -> TrialValues:
    """Raises ConfigError where the values do not go together."""
    config = space.make_config(base, params, base.name)
    held = Draft()
    held.set_config(config)
    return TrialValues(
        config,
        {path: held.kind(split_path(path)[0]) if path.endswith(".kind") else held.value(path) for path in params},
    )
