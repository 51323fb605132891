"""Turns pydantic's findings into sentences, and adds the rules that span several sections."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from training.config.dataset_section import DatasetSection, PartsSection
from training.config.fields import Section
from training.config.model_problems import model_problems
from training.config.objective_problems import objective_problems
from training.config.optimizer_problems import optimizer_problems
from training.config.paths import missing_path, path_problems
from training.config.run import SECTIONS, RunConfig
from training.config.schedule import OneCycle
from training.config.tables import TableSection, repeat_problems, role_problems
from training.config.task import task_problems
from training.config.text_problems import text_problems
from training.errors import ConfigError, Problem, TrainingError
from training.reading import visible

_MOST_PROBLEMS = 20
_MOST_SHOWN = 60
_MOST_LISTED = 12
_ALIKE = 0.8
"""How alike a name has to be to be meant rather than the very name in another section."""


def alternatives(section: str) -> dict[str, type[BaseModel]]:
    """The classes that may stand in ``section``, by their ``kind`` ("" for a section without choices)."""
    annotation = RunConfig.model_fields[section].annotation
    classes = get_args(annotation) or (annotation,)
    return {
        cls.model_fields["kind"].default if "kind" in cls.model_fields else "": cls
        for cls in classes
        if isinstance(cls, type) and issubclass(cls, BaseModel)
    }


def problems_of(error: TrainingError) -> tuple[Problem, ...]:
    """What ``error`` says of single settings; nothing where its sentence does not begin with one."""
    if isinstance(error, ConfigError):
        return error.problems
    path, colon, message = error.message.partition(": ")
    section, _, name = path.partition(".")
    if not colon or section not in SECTIONS or not name.isidentifier():
        return ()
    return (Problem(path, f"{message} {error.advice}".strip(), error.fix),)


def problems_from(error: ValidationError, data: Mapping[str, Any]) -> list[Problem]:
    """One Problem for each of pydantic's errors, in its order; of a great many the first ones."""
    details = error.errors(include_url=False)
    found = [_problem(detail, data) for detail in details[:_MOST_PROBLEMS]]
    if len(details) > _MOST_PROBLEMS:
        found.append(
            Problem("", f"and {len(details) - _MOST_PROBLEMS:,} more problems; is this a configuration at all?")
        )
    return found


def _problem(detail: ErrorDetails, data: Mapping[str, Any]) -> Problem:
    location = [visible(str(part), _MOST_SHOWN) for part in detail["loc"]]
    section = location[0] if location else ""
    if len(location) > 1 and section in SECTIONS and location[1] in alternatives(section) and location[1]:
        del location[1]  # the tag of the union is not part of what the user wrote
    path = ".".join(location)
    if detail["type"] == "extra_forbidden":
        return Problem(path, _unknown_key(location, data))
    return Problem(path, _sentence(detail, section, location))


def _unknown_key(location: Sequence[str], data: Mapping[str, Any]) -> str:
    name, elsewhere = location[-1], ""
    if len(location) == 1:
        known: Mapping[str, FieldInfo] = RunConfig.model_fields
        where = "the top level"
    else:
        choices = alternatives(location[0])
        given = data.get(location[0])
        kind = visible(str(given.get("kind", "")), _MOST_SHOWN) if isinstance(given, Mapping) else ""
        known = choices[kind].model_fields if kind in choices else next(iter(choices.values())).model_fields
        where = f"[{location[0]}]" + (f" with kind {kind!r}" if kind else "")
        if len(location) == 2 and isinstance(given, Mapping) and (inner := _inner(name, choices.get(kind), given)):
            return f"unknown key in {where}; did you mean {location[0]}.{inner}?"
        others = [other for other, section in choices.items() if name in section.model_fields]
        if len(location) == 2 and others:
            return f"unknown key in {where}; {', '.join(others)} {'has' if len(others) == 1 else 'have'} it."
    if len(location) <= 2:
        elsewhere = _elsewhere(name)
    near = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
    titled = [key for key, field in known.items() if (field.title or "").lower() == name.replace("_", " ").lower()]
    far = difflib.get_close_matches(name, known, n=1, cutoff=0.5) if not elsewhere else []
    found = [repr(key) for key in (*near, *titled)] or [elsewhere] * bool(elsewhere) or [repr(key) for key in far]
    if found:
        return f"unknown key in {where}; did you mean {found[0]}?"
    if len(known) > _MOST_LISTED:
        nearest = difflib.get_close_matches(name, known, n=3, cutoff=0.0)
        return f"unknown key in {where}; the nearest of its {len(known)} are {', '.join(nearest)}."
    return f"unknown key in {where}; known are {', '.join(known)}."


def _inner(name: str, section: type[BaseModel] | None, given: Mapping[str, Any]) -> str:
    """The setting of that name in a table of ``section`` whose settings a file decides, such as arguments.width; else ""."""
    if section is None or not issubclass(section, Section):
        return ""
    found = [spec.name for table in section.model_fields for spec in section.rows(table, given)]
    return next((inner for inner in found if inner.partition(".")[2] == name), "")


def _elsewhere(name: str) -> str:
    """The setting of that name in another section, "section.name", or outside of all; "" without any."""
    if name in RunConfig.model_fields and name not in SECTIONS:
        return f"{name} at the top level, before all sections"
    for section in SECTIONS:
        if any(name in fields.model_fields for fields in alternatives(section).values()):
            return f"{section}.{name}"
    return ""


def _sentence(detail: ErrorDetails, section: str, location: Sequence[str]) -> str:
    context = detail.get("ctx", {})
    shown = _shown(detail["input"])
    kinds = sorted(kind for kind in alternatives(section) if kind) if section in SECTIONS else []
    sentences = {
        "missing": "is required; give a value.",
        "greater_than": f"must be greater than {context.get('gt')}, but is {shown}.",
        "greater_than_equal": f"must be at least {context.get('ge')}, but is {shown}.",
        "less_than": f"must be less than {context.get('lt')}, but is {shown}.",
        "less_than_equal": f"must be at most {context.get('le')}, but is {shown}.",
        "int_type": f"must be a whole number, but is {shown}.",
        "int_from_float": f"must be a whole number, but is {shown}.",
        "float_type": f"must be a number, but is {shown}.",
        "finite_number": "must be an ordinary number, not infinity or NaN.",
        "bool_type": f"must be true or false, but is {shown}.",
        "string_unicode": f"must be text, but {shown} holds bytes that are none.",
        "string_type": _text_sentence(section, location, shown),
        "string_too_short": "must not be empty; give a value.",
        "string_too_long": f"must have at most {context.get('max_length')} characters.",
        "string_pattern_mismatch": _pattern_sentence(location, shown),
        "literal_error": f"must be {context.get('expected')}, but is {shown}.",
        "union_tag_not_found": f"needs a kind: one of {', '.join(kinds)}.",
        "union_tag_invalid": _unknown_kind(detail, kinds),
        "tuple_type": f"must be a list of values, but is {shown}.",
        "too_short": f"needs at least {_count(context.get('min_length'))}.",
        "too_long": f"takes at most {_count(context.get('max_length'))}.",
        "model_type": f"must be a section of keys, but is {shown}.",
        "model_attributes_type": f"must be a section of keys, but is {shown}.",
    }
    return sentences.get(detail["type"], f"{detail['msg']} (given: {shown}).")


def _shown(value: object) -> str:
    """``value`` as it may stand in a sentence, whatever was given."""
    if isinstance(value, int) and value.bit_length() > 10_000:
        return "a number of thousands of digits"  # which Python refuses to print
    return visible(repr(value), _MOST_SHOWN)


def _count(values: object) -> str:
    return "one value" if values == 1 else f"{values} values"


def _text_sentence(section: str, location: Sequence[str], shown: str) -> str:
    fields = [found.model_fields.get(location[-1]) for found in alternatives(section).values()]
    extras = [field.json_schema_extra for field in fields if field is not None]
    if any(isinstance(extra, dict) and "consent" in extra for extra in extras):
        return f"cannot be {shown}; leave it out, read the file, then agree to run it (on the command line: --trust)."
    return f"must be text in quotes, but is {shown}."


def _pattern_sentence(location: Sequence[str], shown: str) -> str:
    if location == ["precision", "device"]:
        return f"must be auto, cpu, cuda, cuda:N or mps, but is {shown}."
    if location == ["model", "pretrained"]:
        return f"must be the name of published weights, such as DEFAULT, but is {shown}."
    return f"must be one line of visible text, but is {shown}."


def _unknown_kind(detail: ErrorDetails, kinds: Sequence[str]) -> str:
    tag = visible(str(detail.get("ctx", {}).get("tag", "")), _MOST_SHOWN)
    near = difflib.get_close_matches(tag, kinds, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(kinds)}."
    return f"unknown kind {tag!r}; {hint}"


def cross_problems(config: RunConfig) -> list[Problem]:
    """Combinations of settings that cannot work, each with the way out. Looks at no file but for its existence."""
    found: list[Problem] = []
    schedule = config.schedule
    if isinstance(schedule, OneCycle):
        if schedule.base_momentum > schedule.max_momentum:
            found.append(Problem("schedule.base_momentum", "must not exceed max_momentum; lower it."))
    elif config.loop.max_steps is not None and schedule.warmup_steps >= config.loop.max_steps:
        found.append(Problem("schedule.warmup_steps", "must be fewer than loop.max_steps; shorten the warm-up."))
    if schedule.kind == "multi_step" and list(schedule.milestones) != sorted(set(schedule.milestones)):
        found.append(Problem("schedule.milestones", "must rise from each to the next, for example 1000, 2000."))
    return [
        *task_problems(config),
        *(role_problems(config.dataset) if isinstance(config.dataset, TableSection) else []),
        *(repeat_problems("dataset.targets", config.dataset.targets) if config.dataset.kind == "image_table" else []),
        *objective_problems(config),
        *optimizer_problems(config),
        *found,
        *model_problems(config),
        *text_problems(config),
        *path_problems(config),
        *_part_problems(config.dataset),
        *_loader_problems(config),
    ]


def _part_problems(dataset: DatasetSection) -> list[Problem]:
    if not (isinstance(dataset, PartsSection) and dataset.validation == "test" and dataset.test_fraction):
        return []
    what = "nothing is held back where dataset.validation is test: the test part of the data is validated on"
    return [Problem("dataset.test_fraction", f"{what}. Set this to 0.", {"dataset.test_fraction": 0.0})]


def _loader_problems(config: RunConfig) -> list[Problem]:
    found: list[Problem] = []
    device = config.precision.device
    if config.loader.decoder == "gpu" and config.dataset.kind != "image_folder":
        what = f"only JPEGs of an image folder can be decoded on a GPU, but the dataset is {config.dataset.kind}"
        found.append(Problem("loader.decoder", f"{what}; choose cpu."))
    elif config.loader.decoder == "gpu" and device in ("cpu", "mps"):
        what = f"decoding on a GPU needs an NVIDIA one, but precision.device is {device}"
        found.append(Problem("loader.decoder", f"{what}; choose cpu."))
    problem = missing_path(Path(config.loader.cache_folder or "."), "folder", may_be_missing=True)  # the run makes it
    if problem:
        found.append(Problem("loader.cache_folder", problem))
    return found
