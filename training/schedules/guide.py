"""Which schedule suits what: the rows of the guide beside the choice and in the help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from training.config.run import alternatives
from training.config.sections import schedule as sections
from training.core.durations import read_duration
from training.schedules.plateau import PlateauState
from training.schedules.schedule import ScheduleConfig, make_schedule

_POINTS = 120
_VALIDATIONS = 40
"""Of the run whose plateau is drawn: it makes progress at the first of them only."""


@dataclass(frozen=True)
class GuideRow:
    """A schedule with what it ``suits`` and its ``trait``; ``settings`` of ``[schedule]`` go with it."""

    title: str
    kind: str
    suits: str
    trait: str
    settings: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def config(self) -> ScheduleConfig:
        """The schedule that choosing it from scratch gives."""
        config = alternatives("schedule")[self.kind].model_validate({"kind": self.kind, **self.settings})
        assert isinstance(config, sections.ScheduleSection | sections.OneCycle)
        return config

    @property
    def changes(self) -> dict[str, JsonValue]:
        """What choosing it changes, as dotted settings."""
        return {"schedule.kind": self.kind} | {f"schedule.{name}": value for name, value in self.settings.items()}

    def curve(self) -> list[float]:
        """Its rate from the first to the last step of a run, as a share of the optimizer's; a plateau's where progress ends
        early."""
        schedule = make_schedule(self.config, 1.0, _POINTS, 1)
        plateau, rates = schedule.plateau, list[float]()
        for step in range(_POINTS):
            rates.append(schedule.lr(step))
            if isinstance(plateau, PlateauState) and step % (_POINTS // _VALIDATIONS) == 0:
                plateau.update(1.0, maximize=True)
        return rates


GUIDE = (
    GuideRow(
        "Cosine",
        "cosine",
        "Image classification, and most training of a known length",
        "Falls smoothly to the end; what it does is well understood",
        {"warmup": 0},
    ),
    GuideRow(
        "One cycle",
        "one_cycle",
        "Few epochs, little time",
        "High rates in the middle get there in fewer epochs",
    ),
    GuideRow(
        "Warm-up + cosine",
        "cosine",
        "Transformers, language models, anything large",
        "A slow start keeps the first steps steady; the usual choice at scale",
        {"warmup": "5 %"},
    ),
    GuideRow(
        "Warm restarts",
        "cosine_restarts",
        "Leaving a poor minimum, snapshots for an ensemble",
        "Goes back to the top now and then and explores again",
        {"t_0": "25 %"},
    ),
    GuideRow(
        "On plateau",
        "plateau",
        "First experiments, when nobody knows how long it takes",
        "Follows the monitored metric, so it needs validations",
    ),
    GuideRow(
        "Warm-up, stable, decay",
        "wsd",
        "A run that may be made longer later",
        "Holds the rate, and decays in the last stretch only",
        {"warmup": "5 %"},
    ),
)


def find_row(config: ScheduleConfig) -> GuideRow | None:
    """The row that ``config`` follows, whatever else is set in it: with or without a warm-up where that is what tells two apart."""
    rows = [row for row in GUIDE if type(row.config) is type(config)]
    return next((row for row in rows if _warms_up(row.config) == _warms_up(config)), rows[0] if rows else None)


def _warms_up(config: ScheduleConfig) -> bool:
    return isinstance(config, sections.ScheduleSection) and read_duration(config.warmup)[0] > 0


def guide_table() -> str:
    """The guide as a table in Markdown."""
    rows = [f"| {row.title} | {row.suits} | {row.trait} |" for row in GUIDE]
    return "\n".join(["| schedule | for | what it does |", "|---|---|---|", *rows])
