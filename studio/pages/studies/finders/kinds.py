"""What each kind of study is for, in a plain sentence, and what can be told to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from studio.forms.kinds.choices import KindChoice
from studio.state.formats import kind_title
from training.config import RunConfig
from training.config.field_spec import FieldSpec
from training.labels.progress import FEWEST, MOST, USUAL
from training.studies import ablation, seeds
from training.studies.kinds import STUDY_KINDS
from training.studies.lr_range import study as lr_range
from training.studies.records import TITLES, Kind

_ABOUT: Final[Mapping[Kind, tuple[str, str]]] = {
    "lr-range": ("chart", "Which learning rate? It rises over a wide band on a few seeds; short trials verify what that suggests."),
    "batch": ("layers", "Which batch size? Memory, speed and gradient noise are measured, and no run is made."),
    "speed": ("bolt", "What makes the steps faster? Settings are timed beside each other, and what changes results is said."),
    "seeds": ("refresh", "How far are runs apart by chance, and is another setting better than that?"),
    "cv": ("database", "How good is it on samples it was not trained on, whichever those are?"),
    "ablation": ("sliders", "Which of the changed settings pay? Each goes back to its default, one at a time."),
}  # fmt: skip
"""Icon and sentence, in the order in which they are offered."""


def list_choices(config: RunConfig) -> list[KindChoice]:
    """A card for each kind; one that ``config`` cannot have says why."""
    return [
        KindChoice(kind, TITLES[kind], line, icon, _find_reason(kind, config)) for kind, (icon, line) in _ABOUT.items()
    ]


def _find_reason(kind: Kind, config: RunConfig) -> str:
    why = config.dataset.no_exclude if kind == "cv" else ""
    title = kind_title("dataset", config.dataset.kind)
    return f"Leaving a fold out takes an exclude list, and “{title}” has none: {why}." if why else ""


def list_options(kind: Kind) -> Sequence[FieldSpec]:
    """The numbers and choices that a study of ``kind`` takes, with what is usual."""
    taken = STUDY_KINDS[kind].options
    usual, least = _SEEDS.get(kind, (seeds.USUAL_SEEDS, 2))
    found = (
        _number("seeds", "Seeds", "Runs that differ in the seed alone. More tell smaller differences from noise.", usual, least, seeds.MOST_SEEDS),
        _number("steps", "Steps of the test", "Over which the rate rises through its whole band.", lr_range.USUAL_STEPS, lr_range.FEWEST_STEPS, lr_range.MOST_STEPS),
        _number("trial_steps", "Steps of a trial", "Of each run that tries a rate out; never more than the run itself has.", lr_range.USUAL_TRIAL, 1, lr_range.MOST_STEPS),
        FieldSpec(
            "band", "Band of rates", "The lowest and the highest rate, at least ten times that. Empty: as the optimizer has it.", "numbers", None, False, True,
            placeholder="by the optimizer",
        ),
        _number("folds", "Folds", "Parts into which the training part is divided; so many runs are trained.", USUAL, FEWEST, MOST),
        FieldSpec(
            "by", "Divided by", "By what the folds are divided: whole groups where the data has them, else time, else class by class.",
            "choice", "auto", False, False, choices=("auto", "class", "group", "time"),
            labels={"auto": "Automatic", "class": "Classes", "group": "Groups", "time": "Time"},
        ),
    )  # fmt: skip
    return [each for each in found if each.name in taken]


_SEEDS: Final[Mapping[Kind, tuple[int, int]]] = {
    "seeds": (seeds.USUAL_SEEDS, 2),
    "lr-range": (lr_range.USUAL_SEEDS, 1),
    "ablation": (ablation.USUAL_SEEDS, 1),
}
"""How many are usual, and the fewest."""


def _number(name: str, title: str, about: str, usual: int, least: int, most: int) -> FieldSpec:
    return FieldSpec(name, title, about, "int", usual, False, False, minimum=least, maximum=most)
