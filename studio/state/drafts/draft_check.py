"""What is wrong with a draft, and what of it can be used although other parts are wrong. No Qt here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from studio.state.drafts.setting_specs import (
    RUN,
    Settings,
    copy_settings,
    default_kind,
    default_value,
    defaults,
    join_sections,
    kinds,
    specs,
    split_path,
)
from training.config import RunConfig
from training.config.migrations import migrate
from training.config.rules.problems import cross_problems, problems_from
from training.config.run import SECTIONS
from training.errors import Problem
from training.runs.cli_consent import checkpoint_problems
from training.toml_text import Toml


def check(settings: Settings) -> tuple[RunConfig | None, list[Problem], RunConfig | None]:
    """The configuration that ``settings`` describe, None when anything is wrong; all that is wrong; and the configuration with defaults in
    its place, None when a required setting is missing."""
    config, problems = _parse(settings)
    return config, problems, config or _repair(settings, problems)


def _parse(settings: Settings) -> tuple[RunConfig | None, list[Problem]]:
    data = join_sections(settings)
    try:
        config = RunConfig.model_validate(data)
    except ValidationError as error:
        problems = problems_from(error, data)
        return None, problems + _further_problems(settings, problems)
    problems = [*cross_problems(config), *checkpoint_problems(config)]
    return (None if problems else config), problems


def _further_problems(settings: Settings, problems: Iterable[Problem]) -> list[Problem]:
    """Rules across sections whose sections are fine: a missing folder shows although the learning rate is wrong too."""
    wrong = {split_path(problem.path)[0] for problem in problems}
    repaired = _repair(settings, problems)
    if repaired is None:
        return []
    return [problem for problem in cross_problems(repaired) if split_path(problem.path)[0] not in wrong]


def _repair(settings: Settings, problems: Iterable[Problem]) -> RunConfig | None:
    repaired = copy_settings(settings)
    for problem in problems:
        section, name = split_path(problem.path)
        if section in repaired and name != "kind":
            repaired[section].pop(name, None)
    try:
        return RunConfig.model_validate(join_sections(repaired))
    except ValidationError:
        return None


def complete(data: Mapping[str, Toml]) -> tuple[Settings, list[str]]:
    """``data`` with every setting present and nothing that no form shows, and the paths that had to be left out.

    Simple values stay as they are, right or wrong: they may be half typed.
    """
    data = migrate(data)
    left_out = [key for key in data if key not in SECTIONS and key not in specs(RUN)]
    result: Settings = {RUN: {}}
    for name, spec in specs(RUN).items():
        value = data.get(name, default_value(spec))
        result[RUN][name] = value if _simple(value) else default_value(spec)
    for section in SECTIONS:
        given = data.get(section)
        values = given if isinstance(given, Mapping) else {}
        kind = str(values.get("kind", default_kind(section)))
        if kind not in kinds(section):
            if kind:
                left_out.append(f"{section}.kind")
            kind = default_kind(section)
        result[section] = defaults(section, kind)
        for name, value in values.items():
            if name == "kind":
                continue
            if name in result[section] and _simple(value):
                # TOML empties an optional setting by ""; in here that is None.
                result[section][name] = None if value == "" and specs(section, kind)[name].optional else value
            else:
                left_out.append(f"{section}.{name}")
    return result, left_out


def _simple(value: Toml) -> bool:
    if isinstance(value, dict):  # a table
        return all(_simple(item) and not isinstance(item, dict) for item in value.values())
    if isinstance(value, list):
        return all(isinstance(item, bool | int | float | str) for item in value)
    return value is None or isinstance(value, bool | int | float | str)
