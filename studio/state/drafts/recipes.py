"""What a run's settings become when other data is chosen: those of the preset for it. No Qt."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from studio.state.drafts.kind_change import carry_over, equal
from studio.state.drafts.setting_specs import (
    RUN,
    Section,
    Settings,
    copy_settings,
    default_value,
    defaults,
    kinds,
    same_sort,
    specs,
    split_path,
    split_sections,
)
from training.config import parse_config
from training.config.run import LONGEST_NAME, alternatives
from training.config.sections.data.dataset_section import DatasetSection
from training.facts import Target
from training.presets import preset_names, preset_text
from training.presets.recipes import RECIPES
from training.toml_text import Toml, read_toml

_OF_THE_FILE = frozenset({"path", "label_separator", "query_column"})
"""What a preset says of a file of its own."""
_OF_THE_MACHINE = ("precision", "loader")
_TASK_SECTIONS = ("model", "objective", "optimizer", "schedule", "loop", "checkpoints")


@cache
def _preset(name: str) -> Settings:
    return split_sections(parse_config(read_toml(preset_text(name), name), name, paths=False).model_dump(mode="json"))


def preset_data(name: str, device: str = "auto") -> Settings:
    """All settings of a preset, as the draft holds them, and the ``device``, which presets leave open."""
    data = copy_settings(_preset(name))
    data["precision"]["device"] = device
    return data


def place(data: Settings) -> list[Toml]:
    """Where the data lies, as far as settings tell."""
    return [data["dataset"].get(name) for name in ("kind", "name", "path", "images", "inputs")]


def takes(data: Settings) -> tuple[Target, ...]:
    """What the task of these settings can learn."""
    found: tuple[Target, ...] = getattr(alternatives("objective")[str(data["objective"]["kind"])], "takes", ())
    return found


def likely_target(data: Settings, wanted: tuple[Target, ...] = ()) -> Target:
    """What is to be learned of the data, as far as settings tell: what is ``wanted`` if that may be, else a class."""
    values = data["dataset"]
    chosen = alternatives("dataset")[str(values["kind"])]
    assert issubclass(chosen, DatasetSection)
    possible = chosen.model_construct(None, **values).possible_targets
    return next((each for each in (*wanted, "class") if each in possible), possible[0])


def recipe(kind: str, target: Target) -> Settings:
    """The settings for data of a kind that says nothing else."""
    data = preset_data(RECIPES[kind, target])
    given, before = data["dataset"], specs("dataset", str(data["dataset"]["kind"]))
    values = data["dataset"] = defaults("dataset", kind)
    for name, spec in specs("dataset", kind).items():
        fits = name in before and name not in _OF_THE_FILE and same_sort(before[name], spec)
        if fits and not equal(given[name], default_value(before[name])):
            values[name] = target if name == "task" else given[name]
    if target == "tasks":
        values["task"] = target  # which no data tells by itself
    if target not in takes(data):
        others = (each for each in kinds("objective") if target in takes({"objective": {"kind": each}}))
        data["objective"] = defaults("objective", next(others))
    return data


def with_recipe(before: Settings, present: Settings, target: Target) -> Settings:
    """``present``, whose data is other than in ``before``, with the settings for it. What the person had set on purpose, other
    than the recipe for the data before, stays where the same is to be learned of samples of the same form; what concerns
    the machine stays in any case."""
    kind, old_kind = str(present["dataset"]["kind"]), str(before["dataset"]["kind"])
    old_target = likely_target(before, takes(before))
    made, usual = recipe(kind, target), recipe(old_kind, old_target)
    alike = target == old_target and target in takes(before) and _layout(kind) == _layout(old_kind)
    for section in _TASK_SECTIONS:
        if alike or section == "checkpoints":
            made[section] = _keep_changed(section, before[section], usual[section], made[section])
    if not alike:
        made["checkpoints"]["monitor"] = recipe(kind, target)["checkpoints"]["monitor"]
    made["dataset"] = _dataset(before["dataset"], present["dataset"], usual["dataset"], made["dataset"], alike)
    for section in _OF_THE_MACHINE:
        made[section] = copy.deepcopy(present[section])
    if made["loader"].get("sampling") == "balanced" and target != "class":
        made["loader"]["sampling"] = "shuffle"
    name = new_name(before, with_name(present, str(before[RUN]["name"])), str(made[RUN]["name"]))
    return with_name({**made, RUN: present[RUN]}, name)


def without_recipe(present: Settings, made: Settings, before: Settings) -> Settings:
    """``present``, of another kind of data than the recipe ``made``, without what it carried over from that recipe: nobody had set
    that, neither ``before`` nor since."""
    changed = copy_settings(present)
    values, left, first = changed["dataset"], made["dataset"], before["dataset"]
    for name, spec in specs("dataset", str(values["kind"])).items():
        if name in _OF_THE_FILE or spec.of_the_data or name not in left or not equal(values[name], left[name]):
            continue
        if name not in first or not equal(values[name], first[name]):
            values[name] = default_value(spec)
    return changed


def with_edits(data: Settings, present: Settings, edited: Iterable[str]) -> Settings:
    """``data`` with the settings ``edited`` (dotted paths) as they are at ``present``, where it has them. Which data it is,
    and what is learned of it, is none of them."""
    changed = copy_settings(data)
    for section, name in sorted(map(split_path, edited), key=lambda place: place[1] != "kind"):
        new, old = changed[section], present[section]
        if name == "kind":
            changed[section] = copy.deepcopy(old)
            continue
        known, spec = (specs(section, str(each.get("kind", ""))).get(name) for each in (old, new))
        of_the_data = section == "dataset" and (name in _OF_THE_FILE or name == "task" or (spec and spec.of_the_data))
        if known and spec and same_sort(known, spec) and not of_the_data:
            new[name] = copy.deepcopy(old[name])
    return changed


def with_name(data: Settings, name: str) -> Settings:
    """``data`` of a run that is called ``name``."""
    return {**data, RUN: {**data[RUN], "name": name}}


def new_name(before: Settings, present: Settings, otherwise: str = "") -> str:
    """What the run is called now: after its data, or ``otherwise``, unless somebody gave it a name."""
    return name_after_change(present, str(before["dataset"].get("path") or ""), otherwise)


def with_kept_settings(before: Settings, present: Settings, made: Settings) -> Settings:
    """``before`` with the data of ``present``, and whatever was set of it since ``made``, the recipe, was put in place."""
    data = copy_settings(before)
    now, then = present["dataset"], made["dataset"]
    if now["kind"] != data["dataset"]["kind"]:
        data["dataset"] = carry_over("dataset", data["dataset"], str(now["kind"]))
    for name, spec in specs("dataset", str(now["kind"])).items():
        if name in _OF_THE_FILE or spec.of_the_data or not equal(now[name], then.get(name)):
            data["dataset"][name] = copy.deepcopy(now[name])
    return data


def without_strangers(data: Settings, columns: list[str], classes: list[str]) -> Settings:
    """``data`` without the names of columns that its table does not have, and of classes that it does not have; where it is not known
    which there are (none), they stay."""
    changed = copy_settings(data)
    values = changed["dataset"]
    for name, spec in specs("dataset", str(values["kind"])).items():
        known, named = columns if spec.columns else classes if spec.classes else [], values[name]
        if not known:
            continue
        if isinstance(named, list):
            kept = [each for each in named if each in known]
            values[name] = kept if spec.columns or len(kept) > 1 else []  # one class is none to tell from others
        elif named not in (None, *known):
            values[name] = default_value(spec)
    return changed


def _layout(kind: str) -> str:
    return str(getattr(alternatives("dataset")[kind], "layout", ""))


def _keep_changed(section: str, typed: Section, usual: Section, made: Section) -> Section:
    """``made`` with what was ``typed`` instead of the ``usual``."""
    if typed.get("kind") != usual.get("kind"):
        return copy.deepcopy(typed)
    kind = str(made.get("kind", ""))
    before = specs(section, str(typed.get("kind", "")))
    for name, spec in specs(section, kind).items():
        if name in before and same_sort(before[name], spec) and not equal(typed[name], usual[name]):
            made[name] = copy.deepcopy(typed[name])
    return made


def _dataset(before: Section, present: Section, usual: Section, made: Section, alike: bool) -> Section:
    """What is known of the data at present, and for the rest ``made``."""
    kind = str(present["kind"])
    other_kind = kind != before["kind"]
    for name, spec in specs("dataset", kind).items():
        value = present[name]
        if name == "task" and made[name] != "auto":
            continue
        if name in _OF_THE_FILE or spec.of_the_data:
            kept = True
        elif other_kind and name in before and equal(value, before[name]):  # carried over
            kept = alike and not equal(value, usual.get(name))
        elif other_kind:  # as it was left when this kind was chosen last
            kept = not equal(value, default_value(spec))
        else:
            kept = not equal(value, usual.get(name))
        if kept:
            made[name] = copy.deepcopy(value)
    return made


CLEANED = " cleaned"
"""At the end of the name of a run that starts over without excluded samples."""
FROM_STEP = re.compile(r" from step [\d,]+$")
"""At the end of a branch's name."""
_ADDED = re.compile(rf"(?:{CLEANED}|{FROM_STEP.pattern.removesuffix('$')})+$")


def name_after_change(data: Settings, place_before: str = "", otherwise: str = "") -> str:
    """The name for the settings ``data`` once their data, network or task is another one: a preset's ("table classes") or that of
    the data before may say what the run no longer does, so its data names it, and where that has no place it is
    ``otherwise``; one that was typed stays."""
    name, place = str(data[RUN]["name"]), data["dataset"].get("path")
    stem = _ADDED.sub("", name)
    if stem not in _names_of_presets() and stem != _name_place(place_before):
        return name
    return _name_place(place) or otherwise or name


def _name_place(place: object) -> str:
    """What the file or folder of the data is called."""
    if not isinstance(place, str) or not place:
        return ""
    path = Path(place)
    return (path.name if path.is_dir() else path.stem)[:LONGEST_NAME]


@cache
def _names_of_presets() -> frozenset[str]:
    return frozenset(str(read_toml(preset_text(name), name).get("name")) for name in preset_names())
