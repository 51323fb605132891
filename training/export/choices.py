"""What may be chosen about an exported model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from training.errors import InputError
from training.export.bundle import ExportBundle
from training.predictions.probabilities import has_threshold
from training.statistics.calibration import COLDEST, HOTTEST

INT8 = "int8"


@dataclass(frozen=True)
class Choices:
    """``temperature`` is asked for what divides the scores of classes and labels before they become probabilities, ``threshold`` for the
    model's own probability, before it is divided, from which on the second of two classes is told, or one for each label. ``quantize``
    is "int8" or ""."""

    temperature: Callable[[], float] | None = None
    threshold: Callable[[], tuple[float, ...]] | None = None
    quantize: str = ""

    @property
    def first_option(self) -> str:
        """The first that was chosen, as the command line calls it; "" where none was."""
        given = {"--temperature": self.temperature, "--threshold": self.threshold, "--quantize": self.quantize}
        return next((name for name, value in given.items() if value), "")


NOTHING = Choices()


@dataclass(frozen=True)
class Settled:
    """What was chosen, as numbers. No thresholds: the run's own."""

    temperature: float | None = None
    thresholds: tuple[float, ...] = ()
    quantize: str = ""

    def describe(self) -> str:
        """In sentences, with a space before each."""
        words = ""
        if self.temperature is not None:
            words += f" Its scores are divided by the temperature {self.temperature:.4g}."
        if self.thresholds:
            plural = "s" if len(self.thresholds) > 1 else ""
            words += f" Its threshold{plural}: {', '.join(f'{each:.4g}' for each in self.thresholds)}."
        return words


def settle(choices: Choices, bundle: ExportBundle) -> Settled:
    """Ask for the numbers, once it is known that the model has use for them. Raises InputError where it has none, or for what is no such
    number."""
    kind = bundle.config.objective.kind.replace("_", " ")
    divisor: float | None = None
    thresholds: tuple[float, ...] = ()
    if choices.temperature is not None:
        if bundle.facts.target not in ("class", "labels") or bundle.objective.is_embedding:
            raise InputError(
                f"--temperature: is for models that answer with probabilities of classes or labels, not for {kind}; leave it out."
            )
        divisor = choices.temperature()
        if not math.isfinite(divisor) or not COLDEST <= divisor <= HOTTEST:
            raise InputError(f"--temperature {divisor:g}: must lie between {COLDEST:g} and {HOTTEST:g}.")
    if choices.threshold is not None:
        if not has_threshold(bundle.config.objective.kind):
            raise InputError(
                f"--threshold: is for models that answer yes or no, or with labels, not for {kind}; leave it out."
            )
        thresholds = _check_thresholds(choices.threshold(), bundle)
    return Settled(divisor, thresholds, choices.quantize)


def _check_thresholds(thresholds: tuple[float, ...], bundle: ExportBundle) -> tuple[float, ...]:
    names, outputs = bundle.facts.names, bundle.objective.outputs
    if len(thresholds) not in (1, outputs):
        wanted = f"one for each label ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''}), or one for all"
        raise InputError(f"--threshold: {len(thresholds)} numbers are given; give {'one' if outputs == 1 else wanted}.")
    for each in thresholds:
        if not math.isfinite(each) or not 0.0 < each < 1.0:
            raise InputError(f"--threshold {each:g}: must lie between 0 and 1, both excluded.")
    return thresholds
