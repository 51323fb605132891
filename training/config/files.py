"""Configurations as TOML: read, override by ``--set``, write."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from pydantic import JsonValue, ValidationError

from training.config.migrations import current_name, migrate
from training.config.paths import with_absolute_paths
from training.config.rules.optimizer_scale import Moved, rescale
from training.config.rules.problems import cross_problems, problems_from
from training.config.run import SECTIONS, RunConfig, alternatives
from training.errors import ConfigError, InputError, Problem
from training.system.untrusted import escape_unprintable
from training.toml_text import Toml, parse_toml, read_config_text, read_table, read_toml

logger = logging.getLogger(__name__)


def load_config(path: Path, overrides: Iterable[str] = ()) -> RunConfig:
    """Read the TOML file ``path`` and apply ``overrides`` ("section.key=value").

    Relative paths inside mean relative to the file; where nothing lies there, relative to the working folder.
    Raises InputError when the file cannot be read, ConfigError when its content cannot run.
    """
    text, source = read_config_text(path), escape_unprintable(str(path))
    data = read_toml(text, source)
    tell_moved(apply_overrides(data, overrides))
    return parse_config(data, source=source, folder=path.resolve().parent)


def parse_config(
    data: Mapping[str, Toml],
    source: str = "",
    folder: Path | None = None,
    paths: bool = True,
    about: Collection[str] = (),
) -> RunConfig:
    """Check ``data`` and make a RunConfig; raises ConfigError with every problem found.

    ``folder`` is what relative paths are relative to. ``paths=False`` leaves the existence of files unchecked (for a
    run's own record, which must stay readable after its dataset moved). ``about`` names the sections that are looked at, where
    only a part of a run is: settings of others that do not go together are no matter then.
    """
    if folder is not None:
        data = with_absolute_paths(data, folder)
    try:
        config = RunConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(problems_from(error, data), source) from error
    problems = cross_problems(config) if paths else []
    if about:
        problems = [problem for problem in problems if problem.path.partition(".")[0] in about]
    if problems:
        raise ConfigError(problems, source)
    return config


def apply_overrides(data: dict[str, Toml], overrides: Iterable[str]) -> Moved:
    """Apply "section.key=value" (or "name=value") to ``data`` in place; values are TOML, else plain text. With another optimizer
    the settings that are not named go to its scale, as in the window: returned is what stood there and what does now."""
    data.update(migrate(data))
    before, named = read_table(data, "optimizer"), set[str]()
    for override in overrides:
        key, separator, text = override.partition("=")
        parts = current_name(key.strip()).split(".")
        if not separator or not 1 <= len(parts) <= 3 or not all(parts):
            raise InputError(f"--set {override}: must look like section.key=value, for example loop.epochs=3.")
        if len(parts) > 1 and parts[0] not in SECTIONS:
            raise ConfigError([Problem(key, f"unknown section; known are {', '.join(SECTIONS)}.")], "--set")
        value = text.strip() if _is_choice(parts, text.strip()) else _parse_override(text.strip())
        if len(parts) == 1:
            data[parts[0]] = value
            named |= {f"{parts[0]}.{name}" for name in read_table(data, parts[0]).keys() - {"kind"}}
        else:
            section = data.setdefault(parts[0], {})
            if not isinstance(section, dict):
                raise ConfigError([Problem(parts[0], "must be a section of keys.")], "--set")
            if parts[1] == "kind" and isinstance(value, str):
                _keep_known_keys(section, parts[0], value)
            elif (
                "kind" not in section and "" not in alternatives(parts[0]) and parts[0] != "objective"
            ):  # the data tells
                default = RunConfig.model_fields[parts[0]].default
                section["kind"] = default.kind
            if len(parts) == 3:
                value = read_table(section, parts[1]) | {parts[2]: value}
            section[parts[1]] = value
        named.add(".".join(parts))
    changed = "optimizer.kind" in named and isinstance(data["optimizer"], dict)
    return rescale(data, before, named) if changed else {}


def tell_moved(moved: Moved) -> None:
    """Say which settings went to another optimizer's scale."""
    if moved:
        pairs = ", ".join(
            f"{path} {_format_override(old)} -> {_format_override(new)}" for path, (old, new) in moved.items()
        )
        logger.warning("Moved to the other optimizer's scale: %s. What --set names stays.", pairs)


def _keep_known_keys(section: dict[str, Toml], name: str, kind: str) -> None:
    """Another kind was chosen: keys that only the old kind knows go with it."""
    choices = alternatives(name)
    chosen = choices.get(kind)
    before = choices.get(str(section.get("kind", RunConfig.model_fields[name].default.kind)))
    if chosen is None or before is None or chosen is before:
        return
    for key in [key for key in section if key != "kind"]:
        old, new = before.model_fields.get(key), chosen.model_fields.get(key)
        if old is not None and (new is None or new.annotation != old.annotation):
            del section[key]


def _is_choice(parts: Sequence[str], text: str) -> bool:
    """Whether ``text`` is one of the words to choose from in the setting, of whatever kind its section is."""
    if len(parts) != 2:
        return False
    fields = (section.model_fields.get(parts[1]) for section in alternatives(parts[0]).values())
    return any(text in get_args(field.annotation) for field in fields if field is not None)


def _parse_override(text: str) -> Toml:
    if text in ("none", "null"):
        return ""  # how a TOML file says that an optional setting is empty
    try:
        parsed = parse_toml(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return text if len(parsed) > 1 else parsed["value"]


def overrides_of(fix: Mapping[str, JsonValue]) -> list[str]:
    """Settings that are proposed, as ``--set`` takes them: "section.key=value" with TOML values."""
    return [f"{path}={_format_override(value)}" for path, value in fix.items()]


def _format_override(value: Toml) -> str:
    """``value`` as ``_parse_override`` reads it; a word that it takes as it stands is easier to type without quotes."""
    if value is None:
        return "none"
    return value if isinstance(value, str) and _parse_override(value) == value else json.dumps(value)


def config_data(config: RunConfig) -> dict[str, JsonValue]:
    """``config`` as plain TOML-ready data: lists for tuples; an optional setting that is unset is left out, or is ""
    where leaving it out would bring its default back."""
    data: dict[str, JsonValue] = config.model_dump(mode="json", exclude_none=True)
    for key, values in data.items():
        if isinstance(values, dict):
            section = getattr(config, key)
            fields = type(section).model_fields.items()
            values.update(
                {name: "" for name, info in fields if getattr(section, name) is None and info.default is not None}
            )
    return data


def dump_config(config: RunConfig) -> str:
    """``config`` as TOML text that ``load_config`` reads back to an equal config."""
    import tomlkit  # only writers pay for it

    document = tomlkit.document()
    data = config_data(config)
    for key in [key for key in data if key not in SECTIONS]:
        document[key] = data[key]
    for section in SECTIONS:
        values = read_table(data, section)
        table = tomlkit.table()
        if "kind" in values:
            table["kind"] = values.pop("kind")
        for key, value in values.items():
            unset = value == "" and getattr(getattr(config, section), key) is None
            table[key] = tomlkit.string("").comment("unset") if unset else value
        document[section] = table
    return tomlkit.dumps(document)


def save_config(config: RunConfig, path: Path) -> None:
    """Write ``config`` to ``path``; raises InputError when the place cannot be written."""
    from training.system.atomic import write_text

    try:
        write_text(path, dump_config(config))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place.") from error
