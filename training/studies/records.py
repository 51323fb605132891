"""What lies in a study's folder: ``plan.json``, written once, and ``result.json``, written at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from training.config import RunConfig, parse_config
from training.config.files import config_data
from training.errors import format_bytes, format_duration, pluralize

Kind = Literal["seeds", "lr-range", "cv", "ablation", "batch", "speed"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
TITLES: Final[Mapping[Kind, str]] = {
    "seeds": "Seeds",
    "lr-range": "Learning-rate range test",
    "cv": "Cross-validation",
    "ablation": "Ablation",
    "batch": "Batch size",
    "speed": "Speed check",
}
"""Here, since the window names studies from its start on, and what carries them out takes long to load."""


FORMAT: Final = 1
"""Of plans and results."""


class Form(BaseModel):
    """What is written, and never changed."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="constants")


class PlannedRun(Form):
    """A run of a study: ``key`` is what the study calls it, ``settings`` are all of its configuration."""

    key: str
    settings: dict[str, JsonValue]

    @property
    def config(self) -> RunConfig:
        """Of the run."""
        return parse_config(self.settings, self.key, paths=False)

    @classmethod
    def of(cls, key: str, config: RunConfig) -> PlannedRun:
        """Of ``config``."""
        return cls(key=key, settings=config_data(config))


class Cost(Form):
    """What a run of the configuration takes on this machine: seconds of a ``step``, of a ``validation`` and of a ``start`` of its process;
    ``steps`` of the run and of an epoch, validations, the bytes that a checkpoint takes, and the kind of ``device``."""

    step: float
    validation: float
    start: float
    steps: int
    steps_per_epoch: int
    validations: int
    checkpoint: int
    device: str = "cpu"

    def estimate(self, config: RunConfig, steps: int | None = None) -> Expected:
        """Of one run of ``config``, or of its first ``steps``."""
        made = self.steps if steps is None else steps
        validations = self.validations if steps is None else math.ceil(steps / self.steps_per_epoch)
        seconds = self.start + made * self.step + validations * self.validation
        return Expected(1, made, seconds, (config.checkpoints.keep_last + 1) * self.checkpoint + (1 << 20))


class Expected(NamedTuple):
    """``runs`` of ``steps`` each: seconds and bytes of all together."""

    runs: int
    steps: int
    seconds: float
    bytes: int

    def repeat(self, times: int) -> Expected:
        """So many of them."""
        return Expected(self.runs * times, self.steps, self.seconds * times, self.bytes * times)

    @property
    def words(self) -> str:
        """A sentence."""
        return (
            f"{pluralize(self.runs, 'run')} of {pluralize(self.steps, 'step')}{' each' * (self.runs > 1)}: about {format_duration(self.seconds)} and up to "
            f"{format_bytes(self.bytes)} of the disk."
        )


class Plan(Form):
    """``runs`` are those that are known beforehand; ``words`` what is said before it begins, a sentence each; ``seconds`` and ``bytes`` of the
    disk are what it takes, as far as is known before."""

    format: Literal[1] = 1
    kind: Kind
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
    created: float
    settings: dict[str, JsonValue]
    options: dict[str, JsonValue] = {}
    cost: Cost | None = None
    runs: tuple[PlannedRun, ...] = ()
    words: tuple[str, ...] = ()
    seconds: float = 0.0
    bytes: int = 0

    @property
    def config(self) -> RunConfig:
        """What is studied."""
        return parse_config(self.settings, self.id, paths=False)

    def number(self, name: str, usual: int) -> int:
        """The option of that name."""
        value = self.options.get(name)
        return value if isinstance(value, int) else usual


class Draft(Form):
    """What a kind of study makes of a configuration and of what was asked for; ``bytes`` are what it needs of the disk."""

    runs: tuple[PlannedRun, ...] = ()
    words: tuple[str, ...] = ()
    seconds: float = 0.0
    bytes: int = 0


class Reached(Form):
    """How far a study is: ``done`` of ``parts`` (0: not known yet), what it does now in ``words``, and with which ``run``, since the moment
    ``at``. This attempt works since ``since`` (0: not known), when ``before`` parts were there already, the share of the run that it goes on
    with among them. ``problem`` says why it came to no end."""

    done: int = 0
    parts: int = 0
    words: str = ""
    run: str = ""
    at: float = 0.0
    since: float = 0.0
    before: float = 0.0
    problem: str = ""


class Result(Form):
    """``sentence`` says it all in one; ``adopt`` are the settings that are proposed, ``details`` what it rests on."""

    format: Literal[1] = 1
    kind: Kind
    sentence: str
    notes: tuple[str, ...] = ()
    adopt: dict[str, JsonValue] = {}
    details: dict[str, JsonValue] = {}
    created: float = 0.0


Options = Mapping[str, JsonValue]
Ask = Callable[..., dict[str, Any]]
"""``Worker.ask``: what is asked, and what belongs to it by name."""
