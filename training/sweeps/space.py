"""All settings that a sweep varies: checked before anything starts, and a trial's values made a configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from training.config import RunConfig, apply_overrides, parse_config
from training.config.describe import describe
from training.config.field_spec import FieldSpec
from training.config.files import config_data, overrides_of
from training.config.run import LONGEST_NAME, SECTIONS, alternatives
from training.errors import ConfigError, InputError, Problem
from training.sweeps.dimension import Dimension, Value, read_dimension, split_choices
from training.toml_text import Toml

_NOT_VARIED = {
    "name": "each trial's run has a name of its own",
    "muted_findings": "it changes nothing that a run learns",
    "checkpoints.monitor": "trials are compared by one metric",
}
_MOST_GRID = 100_000

Params = Mapping[str, Value]
"""What a trial tries: dotted settings and their values."""


@dataclass(frozen=True)
class Space:
    """The dimensions, those of a section's kind first: what else there is to vary depends on them."""

    dimensions: tuple[Dimension, ...]

    def find(self, path: str) -> Dimension | None:
        """The dimension of a setting."""
        return next((each for each in self.dimensions if each.path == path), None)

    def applies(self, dimension: Dimension, base: RunConfig, chosen: Params) -> bool:
        """Whether a trial that has ``chosen`` so far has this setting at all: another kind of optimizer may lack it."""
        section, name, *_ = (*dimension.path.split("."), "")
        if section not in SECTIONS or name == "kind":
            return True
        kind = chosen.get(f"{section}.kind", getattr(getattr(base, section), "kind", ""))
        found = alternatives(section).get(str(kind))
        return found is None or name in found.model_fields

    def is_conditional(self, base: RunConfig) -> bool:
        """Whether some trials lack some of the settings."""
        return any(
            not self.applies(each, base, {kind.path: choice})
            for each in self.dimensions
            for kind in self.dimensions
            for choice in kind.choices
            if kind.path == f"{each.path.partition('.')[0]}.kind"
        )

    def count_grid(self) -> int:
        """How many trials a grid has. Raises InputError where a range does not say its values, and for one too large."""
        count = math.prod(len(dimension.values()) for dimension in self.dimensions)
        if count > _MOST_GRID:
            raise InputError(
                f"--sampler grid: these are {count:,} trials; take fewer values of each, or another sampler."
            )
        return count

    def make_config(self, base: RunConfig, params: Params, name: str) -> RunConfig:
        """The configuration of a trial; what files it names is not looked at. Raises ConfigError where its values do not go together."""
        data: dict[str, Toml] = dict(config_data(base))
        apply_overrides(
            data, [_override(dimension, params) for dimension in self.dimensions if dimension.path in params]
        )
        return parse_config({**data, "name": name}, name, paths=False)


def name_trial(base: str, number: int) -> str:
    """What the run of a trial is called."""
    suffix = f" trial {number}"
    return base[: LONGEST_NAME - len(suffix)] + suffix


def explain_unvaried(path: str) -> str:
    """Why no sweep can vary a setting, as the end of a sentence; "" where one can."""
    return _NOT_VARIED.get(path, "")


def read_space(base: RunConfig, asked: Sequence[str], sampler: str) -> Space:
    """What ``--vary`` asks for of ``base``, each "section.key" or "section.key=range or list". Raises InputError, in one sentence, for an
    unknown setting, bounds outside its own, a wrong type, and what no sweep can vary."""
    if not asked:
        raise InputError("--vary is missing: name a setting to vary, for example --vary optimizer.lr=1e-4:1e-1:log.")
    pairs = [
        (path.strip(), text.strip() if equal else None) for path, equal, text in (each.partition("=") for each in asked)
    ]
    kinds = {path: split for path, split in ((path, _read_kinds(path, text)) for path, text in pairs) if split}
    found: dict[str, Dimension] = {}
    for path, text in pairs:
        if path in found:
            raise InputError(f"--vary {path}: is named twice; name each setting once.")
        if path in SECTIONS:
            raise InputError(f"--vary {path}: is a whole section; name one of its settings, for example {path}.kind.")
        if why := explain_unvaried(path):
            raise InputError(f"--vary {path}: cannot be varied, because {why}.")
        specs = _find_specs(base, path, kinds)
        known = tuple(alternatives(path.partition(".")[0])) if path.endswith(".kind") and "." in path else ()
        found[path] = read_dimension(path, text, specs, known if path.partition(".")[0] in SECTIONS else ())
    ordered = sorted(found.values(), key=lambda dimension: not dimension.path.endswith(".kind"))
    space = Space(tuple(ordered))
    for dimension in space.dimensions:
        _check(space, dimension, base)
    if sampler == "grid":
        if space.is_conditional(base):
            raise InputError(
                "--sampler grid: a setting is varied that only some of the kinds have; vary each kind in a sweep of its own, or "
                "take another sampler."
            )
        space.count_grid()
    return space


def _read_kinds(path: str, text: str | None) -> tuple[str, ...]:
    """The kinds among which a sweep chooses, where ``path`` is a section's kind."""
    section, _, name = path.partition(".")
    if name != "kind" or section not in SECTIONS:
        return ()
    known = alternatives(section)
    kinds = tuple(split_choices(text)) if text is not None else tuple(known)
    if unknown := next((kind for kind in kinds if kind not in known), None):
        raise InputError(f"--vary {path}: there is no kind {unknown}; there are {', '.join(known)}.")
    return kinds


def _find_specs(base: RunConfig, path: str, kinds: Mapping[str, tuple[str, ...]]) -> list[FieldSpec]:
    """The declarations of the setting: one for each kind that a trial may have. Raises InputError for a setting that none has."""
    section, _, name = path.partition(".")
    if section not in SECTIONS:
        specs = [spec for spec in describe(RunConfig) if spec.name == path and path not in SECTIONS]
        if not specs:
            listed = ", ".join(SECTIONS)
            raise InputError(
                f"--vary {path}: there is no such setting; name one as section.key, of the sections {listed}."
            )
        return specs
    if name == "kind" and "" not in alternatives(section):
        return []
    chosen = kinds.get(f"{section}.kind") or (getattr(getattr(base, section), "kind", ""),)
    classes = [alternatives(section)[kind] for kind in chosen if kind in alternatives(section)]
    specs = [spec for each in classes for spec in describe(each) if spec.name == name.partition(".")[0]]
    if not specs:
        data: dict[str, Toml] = dict(config_data(base))
        try:
            apply_overrides(data, [f"{path}=0"])
            parse_config(data, paths=False)
        except ConfigError as error:  # it says what is meant instead
            told = next((problem for problem in error.problems if problem.path == path), error.problems[0])
            raise InputError(f"--vary {told}") from error
        raise InputError(f"--vary {path}: there is no such setting; name one as section.key.")
    return specs if "." not in name else []


def _check(space: Space, dimension: Dimension, base: RunConfig) -> None:
    """Raise InputError where one of its ends, or of its choices, cannot be, or would change what trials are compared by."""
    chosen = _choose_kind(space, dimension, base)
    for value in dimension.extremes:
        params: dict[str, Value] = {**chosen, dimension.path: value}
        try:
            config = space.make_config(base, params, base.name)
        except ConfigError as error:
            if (told := _blame(error.problems, dimension, chosen)) is None:
                continue
            raise InputError(f"--vary {dimension.path}={value}: {told}") from error
        if config.monitor != base.monitor:
            raise InputError(
                f"--vary {dimension.path}={value}: this run goes by {config.monitor}, the others by {base.monitor}, so they cannot be "
                "compared; set checkpoints.monitor to a metric that all have."
            )


def _blame(problems: Sequence[Problem], dimension: Dimension, chosen: Params) -> str | None:
    """What is wrong with the setting itself; None where others, which may be varied, too, do not go with it."""
    own = next(
        (each for each in problems if each.path == dimension.path or each.path.startswith(f"{dimension.path}.")), None
    )
    if own is not None:
        return own.message
    section = dimension.path.partition(".")[0]
    kind_alone = dimension.path == f"{section}.kind" and not chosen
    return str(problems[0]) if kind_alone and problems[0].path.startswith(f"{section}.") else None


def _choose_kind(space: Space, dimension: Dimension, base: RunConfig) -> dict[str, Value]:
    """The kind of its section with which the setting can be tried alone, where the base's own lacks it."""
    kind = space.find(f"{dimension.path.partition('.')[0]}.kind")
    if kind is None or kind is dimension or space.applies(dimension, base, {}):
        return {}
    return next(
        ({kind.path: choice} for choice in kind.choices if space.applies(dimension, base, {kind.path: choice})), {}
    )


def _override(dimension: Dimension, params: Params) -> str:
    value = params[dimension.path]
    return f"{dimension.path}={value}" if isinstance(value, str) else overrides_of({dimension.path: value})[0]
