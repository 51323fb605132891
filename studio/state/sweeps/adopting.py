"""Adopt: the settings of a trial go into the draft, as one change that can be taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from studio.state.context import AppContext
from studio.state.drafts.setting_specs import RUN, split_path
from studio.state.formats import kind_title
from training.config.field_spec import plain
from training.config.files import config_data
from training.errors import TrainingError, pluralize
from training.sweeps.folder import Sweep
from training.sweeps.records import TrialRecord
from training.toml_text import Toml


def adopt_trial(context: AppContext, sweep: Sweep, trial: TrialRecord) -> None:
    """Write what ``trial`` tried into the forms; the other settings stay as they are there."""
    draft, before = context.draft, context.draft.settings()
    try:
        base = sweep.base()
        data = config_data(sweep.space.make_config(base, trial.params, base.name))
        if told := _explain_misfit(context, data, list(trial.params)):
            context.notifier.notify(
                f"{told} Nothing was changed.", "warning", title=f"Trial {trial.number} was not adopted"
            )
            return
        draft.apply({path: _find(data, path) for path in trial.params})
    except (TrainingError, OSError) as error:
        context.notifier.notify(str(error), "danger", title=f"Trial {trial.number} was not adopted")
        return
    if draft.settings() == before:
        context.notifier.notify(f"The forms have the settings of trial {trial.number} already.", "info")
        return
    context.notifier.notify(
        f"{pluralize(len(trial.params), 'setting')} of trial {trial.number} stand in the forms on Setup.",
        "success",
        action_text="Undo",
        action=lambda: draft.replace(before),
    )


def _explain_misfit(context: AppContext, data: Mapping[str, Any], paths: Sequence[str]) -> str:
    """Why the forms cannot take these settings: another kind is chosen there, which has others, or means something else by them."""
    for path in paths:
        section = split_path(path)[0]
        kind = str(data[section].get("kind", "")) if section != RUN else ""
        if kind != context.draft.kind(section) and f"{section}.kind" not in paths:
            return f"The sweep is of another {section}: {kind_title(section, kind)}, and the forms have {kind_title(section, context.draft.kind(section))}."
    return ""


def _find(data: Mapping[str, Any], path: str) -> Toml:
    """Raises KeyError."""
    found: Any = data
    for part in path.split("."):
        if not isinstance(found, Mapping) or part not in found:
            raise KeyError(path)
        found = found[part]
    return plain(found)
