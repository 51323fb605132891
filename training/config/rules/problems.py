"""Turns pydantic's findings into sentences, and adds the rules that span several sections."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from training.config.describe import describe
from training.config.fields import Section
from training.config.paths import path_problems
from training.config.rules.model_problems import model_problems, text_problems
from training.config.rules.objective_problems import objective_problems
from training.config.rules.optimizer_problems import optimizer_problems
from training.config.rules.schedule_problems import schedule_problems
from training.config.rules.slot_problems import slot_problems
from training.config.rules.task import task_problems
from training.config.run import SECTIONS, RunConfig, alternatives
from training.config.sections.data.classes import class_problems
from training.config.sections.data.dataset_section import DatasetSection, PartsSection
from training.config.sections.data.images import ImageTableDataset, SegmentationDataset
from training.config.sections.data.own_data import OwnDataSection, own_data_problems
from training.config.sections.data.tables import TIME_EXCLUDES, TableSection, repeat_problems, role_problems
from training.config.sections.own_file import own_file_problems
from training.errors import ConfigError, InputError, Problem, TrainingError
from training.findings import require_code
from training.metric_names import is_known, is_share
from training.system.untrusted import escape_unprintable
from training.toml_text import Toml

_MOST_PROBLEMS = 20
_MOST_SHOWN = 60
_MOST_LISTED = 12
_ALIKE = 0.8
"""How alike a name has to be to be meant rather than the very name in another section."""


def problems_of(error: TrainingError) -> tuple[Problem, ...]:
    """What ``error`` says of single settings; nothing where its sentence does not begin with one."""
    if isinstance(error, ConfigError):
        return error.problems
    path, colon, message = error.message.partition(": ")
    section, _, name = path.partition(".")
    if not colon or section not in SECTIONS or not name.isidentifier():
        return ()
    return (Problem(path, f"{message} {error.advice}".strip(), error.fix),)


def problems_from(error: ValidationError, data: Mapping[str, Toml]) -> list[Problem]:
    """One Problem for each of pydantic's errors, in its order; of a great many the first ones."""
    details = error.errors(include_url=False)
    found = [_problem(detail, data) for detail in details[:_MOST_PROBLEMS]]
    if len(details) > _MOST_PROBLEMS:
        found.append(
            Problem("", f"and {len(details) - _MOST_PROBLEMS:,} more problems; is this a configuration at all?")
        )
    return found


def _problem(detail: ErrorDetails, data: Mapping[str, Toml]) -> Problem:
    location = [escape_unprintable(str(part), _MOST_SHOWN) for part in detail["loc"]]
    section = location[0] if location else ""
    if len(location) > 1 and section in SECTIONS and location[1] in alternatives(section) and location[1]:
        del location[1]  # the tag of the union is not part of what the user wrote
    path = ".".join(
        [*location, "every"] if detail["type"] == "cadence" else location
    )  # pydantic names the section alone
    if detail["type"] == "extra_forbidden":
        return Problem(path, _unknown_key(location, data))
    return Problem(path, _sentence(detail, section, location))


def _unknown_key(location: Sequence[str], data: Mapping[str, Toml]) -> str:
    name, elsewhere = location[-1], ""
    if len(location) == 1:
        known: Mapping[str, FieldInfo] = RunConfig.model_fields
        where = "the top level"
    else:
        choices = alternatives(location[0])
        given = data.get(location[0])
        kind = escape_unprintable(str(given.get("kind", "")), _MOST_SHOWN) if isinstance(given, Mapping) else ""
        known = choices[kind].model_fields if kind in choices else next(iter(choices.values())).model_fields
        where = f"[{location[0]}]" + (f" with kind {kind!r}" if kind else "")
        if len(location) == 2 and isinstance(given, Mapping) and (inner := _inner(name, choices.get(kind), given)):
            return f"unknown key in {where}; did you mean {location[0]}.{inner}?"
        if location == ["dataset", "exclude"] and (why := getattr(choices.get(kind), "no_exclude", "")):
            return f"{kind} has no exclude list: {why}."
        others = [other for other, section in choices.items() if name in section.model_fields]
        if len(location) == 2 and others:
            return f"unknown key in {where}; {', '.join(others)} {'has' if len(others) == 1 else 'have'} it."
    if len(location) <= 2:
        elsewhere = _find_elsewhere(name)
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


def _inner(name: str, section: type[Section] | None, given: Mapping[str, Toml]) -> str:
    """The setting of that name in a table of ``section`` whose settings a file decides, such as arguments.width; else ""."""
    if section is None:
        return ""
    found = [spec.name for table in section.model_fields for spec in section.rows(table, given)]
    return next((inner for inner in found if inner.partition(".")[2] == name), "")


def _find_elsewhere(name: str) -> str:
    """The setting of that name in another section, "section.name", or outside of all; "" without any."""
    if name in RunConfig.model_fields and name not in SECTIONS:
        return f"{name} at the top level, before all sections"
    for section in SECTIONS:
        if any(name in fields.model_fields for fields in alternatives(section).values()):
            return f"{section}.{name}"
    return ""


def _sentence(detail: ErrorDetails, section: str, location: Sequence[str]) -> str:
    context = detail.get("ctx", {})
    shown = _show_value(detail["input"])
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
        "cadence": str(detail["msg"]),
        "duration": f"{detail['msg']}, but is {shown}.",
        "tuple_type": f"must be a list of values, but is {shown}.",
        "too_short": f"needs at least {_count(context.get('min_length'))}.",
        "too_long": f"takes at most {_count(context.get('max_length'))}.",
        "model_type": f"must be a section of keys, but is {shown}.",
        "model_attributes_type": f"must be a section of keys, but is {shown}.",
    }
    return sentences.get(detail["type"], f"{detail['msg']} (given: {shown}).")


def _show_value(value: object) -> str:
    """``value`` as it may stand in a sentence, whatever was given."""
    if isinstance(value, int) and value.bit_length() > 10_000:
        return "a number of thousands of digits"  # which Python refuses to print
    return escape_unprintable(repr(value), _MOST_SHOWN)


def _count(values: object) -> str:
    return "one value" if values == 1 else f"{values} values"


def _text_sentence(section: str, location: Sequence[str], shown: str) -> str:
    specs = [spec for found in alternatives(section).values() for spec in describe(found) if spec.name == location[-1]]
    if any(spec.consent for spec in specs):
        return f"cannot be {shown}; leave it out, read the file, then agree to run it (on the command line: --trust)."
    return f"must be text in quotes, but is {shown}."


def _pattern_sentence(location: Sequence[str], shown: str) -> str:
    if location == ["precision", "device"]:
        return f"must be auto, cpu, cuda, cuda:N or mps, but is {shown}."
    if location == ["model", "pretrained"]:
        return f"must be the name of published weights, such as DEFAULT, but is {shown}."
    return f"must be one line of visible text, but is {shown}."


def _unknown_kind(detail: ErrorDetails, kinds: Sequence[str]) -> str:
    tag = escape_unprintable(str(detail.get("ctx", {}).get("tag", "")), _MOST_SHOWN)
    near = difflib.get_close_matches(tag, kinds, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(kinds)}."
    return f"unknown kind {tag!r}; {hint}"


def cross_problems(config: RunConfig) -> list[Problem]:
    """Combinations of settings that cannot work, each with the way out. Looks at no file but for its existence."""
    return [
        *task_problems(config),
        *_dataset_problems(config.dataset),
        *_own_data_problems(config),
        *objective_problems(config),
        *optimizer_problems(config),
        *schedule_problems(config),
        *_loop_problems(config),
        *slot_problems(config),
        *model_problems(config),
        *text_problems(config),
        *path_problems(config),
        *_muted_problems(config.muted_findings),
    ]


def _loop_problems(config: RunConfig) -> Iterator[Problem]:
    threshold = config.loop.stopping_threshold
    if threshold is None or not is_known(config.monitor) or not config.maximize or threshold <= 1.0:
        return
    fix = {"loop.stopping_threshold": threshold / 100} if threshold <= 100.0 else {}
    percent = f"; write {threshold / 100:g} for {threshold:g} %" if fix and is_share(config.monitor) else ""
    what = f"{config.monitor} is never more than 1, so it would not be reached at {threshold:g}{percent}."
    yield Problem("loop.stopping_threshold", what, fix if percent else {})


def _muted_problems(muted: Sequence[str]) -> Iterator[Problem]:
    for key in muted:
        try:
            require_code(key)
        except InputError as error:
            yield Problem("muted_findings", str(error))


def _own_data_problems(config: RunConfig) -> Iterator[Problem]:
    if isinstance(config.dataset, OwnDataSection):
        yield from own_file_problems(config.dataset, "dataset")
        yield from own_data_problems(config.dataset, config.loader)


def _dataset_problems(dataset: DatasetSection) -> Iterator[Problem]:
    yield from class_problems(dataset)
    if isinstance(dataset, TableSection):
        yield from role_problems(dataset)
    elif isinstance(dataset, ImageTableDataset):
        yield from repeat_problems("dataset.targets", dataset.targets)
    elif isinstance(dataset, SegmentationDataset) and dataset.class_names and dataset.class_list:
        yield Problem(
            "dataset.class_names",
            "names the classes, and so does dataset.class_list; empty one of them.",
            {"dataset.class_list": None},
        )
    if time_column := getattr(dataset, "time_column", None):
        for other in TIME_EXCLUDES:
            if getattr(dataset, other):
                what = f"samples are held out by time, or as dataset.{other} says, not both; empty one of them."
                yield Problem("dataset.time_column", what, {f"dataset.{other}": None})
        if isinstance(dataset, ImageTableDataset) and time_column in (dataset.file_column, *dataset.targets):
            yield Problem("dataset.time_column", "is the column of the files or a target, too; choose another.")
    if isinstance(dataset, PartsSection) and dataset.validation == "test" and dataset.test_fraction:
        what = "nothing is held out where dataset.validation is test: the test part of the data is validated on"
        yield Problem("dataset.test_fraction", f"{what}. Set this to 0.", {"dataset.test_fraction": 0.0})
