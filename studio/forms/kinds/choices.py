"""What a panel of kinds offers, by group. No Qt here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from studio.forms.messages import kind_sentence
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import split_path
from training import catalog
from training.catalog import Entry
from training.config import RunConfig
from training.config.rules.task import find_misfits
from training.config.run import alternatives

WITH_CARDS = ("dataset", "model", "objective")
"""Sections whose kinds are so many, and so different, that a list of names says too little."""

_NOTHING: Mapping[str, str] = {}
_COLUMNS = {"Images": 0, "Tabular": 1, "Text": 1, "Your own": 1, "Synthetic": 2}
_GROUP_ICONS = {"Images": "image", "Tabular": "table", "Text": "text", "Your own": "code", "Synthetic": "scatter"}
_ICONS = {
    "image_folder": "folder",
    "segmentation": "layers",
    "torchvision": "download",
    "torchvision_segmentation": "download",
    "idx": "database",
    "npz": "database",
    "npz_pictures": "database",
    "ranking": "list",
    "ranked": "list",
    "shapes": "image",
    "user_file": "code",
    "user_loss": "code",
    "gpt": "text",
    "language_model": "text",
    "tabular": "table",
}
_SECTION_ICONS = {"model": "layers", "objective": "flag"}


@dataclass(frozen=True)
class KindChoice:
    """One card. ``reason`` says why it cannot be chosen as the data are; "" where it can. ``words`` is what else it is found by."""

    kind: str
    title: str
    line: str
    icon: str
    reason: str = ""
    words: str = ""


@dataclass(frozen=True)
class KindGroup:
    """Cards below one heading, in one of the panel's columns."""

    title: str
    choices: tuple[KindChoice, ...]
    column: int = 0


def show_as_choice(entry: Entry, reason: str = "") -> KindChoice:
    """The card of a row of the catalog."""
    section = next(section for section in WITH_CARDS if entry in catalog.entries(section))
    usual = _SECTION_ICONS.get(section) or _GROUP_ICONS[entry.group]
    words = f"{entry.kind} {entry.also} {entry.group}"
    return KindChoice(entry.kind, entry.title, entry.summary, _ICONS.get(entry.kind, usual), reason, words)


def find_groups(
    draft: Draft, section: str, class_count: int | None = None, lacking: Mapping[str, str] = _NOTHING
) -> list[KindGroup]:
    """Datasets by modality; tasks by whether they go with the draft's data, models by whether they do with its task, too, with the
    reason where they do not. ``class_count``: of the data, where it is known and each sample has one class. ``lacking``: kinds for
    which the engine has no package, with the reasons."""
    entries = catalog.entries(section)
    if section == "dataset":
        chosen = {name: [show_as_choice(each) for each in entries if each.group == name] for name in _COLUMNS}
        return [KindGroup(name, tuple(choices), _COLUMNS[name]) for name, choices in chosen.items()]
    misfits = find_misfits(_with_data(draft), section)
    reasons = {
        kind: f"{kind_sentence(section, message.partition('; choose ')[0])}." for kind, message in misfits.items()
    }
    if section == "objective" and class_count not in (None, 2):
        reasons.setdefault("binary", f"It needs exactly two classes, but the data has {class_count:,}.")
    absent = [show_as_choice(each, lacking[each.kind]) for each in entries if each.kind in lacking]
    cards = [show_as_choice(each, reasons.get(each.kind, "")) for each in entries if each.kind not in lacking]
    data = catalog.entry("dataset", draft.kind("dataset")).title
    fitting, others = (tuple(card for card in cards if bool(card.reason) is misfit) for misfit in (False, True))
    groups = (
        KindGroup(f"Goes with {data}", fitting),
        KindGroup(f"Does not go with {data}", others, 1),
        KindGroup("Not installed in the engine", tuple(absent), 1),
    )
    return [group for group in groups if group.choices]


def _with_data(draft: Draft) -> RunConfig:
    """A configuration with the draft's data, as far as they are right: which kinds fit can be told before a folder is named."""
    kind, wrong = draft.kind("dataset"), _wrong_settings(draft)
    values = {name: value for name, value in draft.settings()["dataset"].items() if name not in wrong}
    objective = alternatives("objective")[draft.kind("objective")].model_construct()
    dataset = alternatives("dataset")[kind].model_construct(None, **values)
    return RunConfig().model_copy(update={"dataset": dataset, "objective": objective})


def _wrong_settings(draft: Draft) -> Collection[str]:
    paths = [split_path(problem.path) for problem in draft.problems()]
    return {name for section, name in paths if section == "dataset"}
