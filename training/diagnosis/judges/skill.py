"""Whether validation is any better than guessing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.diagnosis.judges.classes import is_one_class_of_many
from training.diagnosis.judges.curves import guessing_loss
from training.diagnosis.level import slope
from training.diagnosis.recorded import Recorded, once
from training.events import Finding
from training.findings import curves as rules
from training.findings.duration import FEW_STEPS
from training.metric_names import metric, title_of

_SURE = 2.0
"""Standard errors by which the typical validation is better than guessing."""
_MOST_USUAL = 0.6
"""Share of the most frequent class, from which on accuracy says too little."""


class Guess(NamedTuple):
    """What a ``predictor`` (in words) that looks at no input has of the metric ``name``. The best of the validations may be better than
    ``value`` by ``chance`` without knowing more, the mean of many by ``typical``. Where ``telling``, there are
    samples enough to say so, however many validations."""

    name: str
    predictor: str
    value: float
    chance: float
    typical: float
    telling: bool


def judge_skill(run: Recorded) -> Iterator[Finding]:
    """Of a run at work: it waits where that may still come."""
    if is_skilled(run) is not False:
        return
    share, gain = run.step / run.total_steps, _measure_gain(run)
    late = share >= rules.SKILL_AFTER or (share >= rules.FLAT_AFTER and gain >= rules.BY_HEART)
    if late and not _may_come(run, gain):
        yield from _judge(run, gain)


def judge_skill_at_end(run: Recorded) -> Iterator[Finding]:
    """Of a run that is complete, however early."""
    yield from _judge(run, _measure_gain(run))


def _judge(run: Recorded, gain: float) -> Iterator[Finding]:
    if run.step < FEW_STEPS or is_skilled(run) is not False or is_one_class_of_many(run):
        return
    told = next(each for each in _list_guesses(run) if each.telling)
    steps, values = run.metric_values(told.name)
    known = metric(told.name)
    best = float(values.max() if known.maximize else values.min())
    how = "highest" if known.maximize else "lowest"
    limit = known.show(told.value + told.chance if known.maximize else told.value - told.chance)
    lucky = f"up to {limit}" if known.maximize else f"down to {limit}"
    by_heart = gain >= rules.BY_HEART
    learns = " while the training loss falls: it learns its samples by heart" if by_heart else ""
    unlike = ", or validation samples are unlike those of training" if by_heart else ""
    yield rules.NO_SKILL.find(
        "warning",
        f"Validation is no better than guessing{learns}. Its {how} {_in_words(told.name)} is {known.show(best)}; {told.predictor} "
        f"{known.show(told.value)}, by chance {lucky}.",
        f"Labels do not belong to their inputs (shuffled, shifted, joined by a wrong key), or the inputs say nothing about them{unlike}: look at "
        "samples beside their labels on the Data page. Check with Fit one batch tells whether the network can learn at all.",
        evidence={
            "best": best,
            "guessing": told.value,
            "chance": told.chance,
            "validations": len(values),
            "samples": _count_held(run),
            "gain": gain,
        },
        since=int(steps[0]),
    )


def _in_words(name: str) -> str:
    """ "accuracy", but "AUROC" and "R²"."""
    title = title_of(name.removeprefix("val/"))
    return title if title[1:2].isupper() or not title[1:2].isalpha() else title[:1].lower() + title[1:]


@once
def is_skilled(run: Recorded) -> bool | None:
    """Whether a validation was better than guessing by more than chance; None where nobody can tell."""
    if len(run.validations) < rules.LEAST_VALIDATIONS:
        return None
    telling = False
    for each in _find_guesses(run):
        if _is_beaten(run, each):
            return True
        telling |= each.telling
    return False if telling else None


def _is_beaten(run: Recorded, guess: Guess) -> bool:
    _, values = run.metric_values(guess.name)
    better = values - guess.value if metric(guess.name).maximize else guess.value - values
    half = better[len(better) // 2 :]
    return bool(better.max() > guess.chance or half.mean() > guess.typical)


@once
def _list_guesses(run: Recorded) -> list[Guess]:
    """The most telling first."""
    return sorted(_find_guesses(run), key=lambda each: not each.telling)


def _find_guesses(run: Recorded) -> Iterator[Guess]:
    """Of the metrics that were measured at each validation, as numbers."""
    for each in chain(_guess_class(run), _guess_values(run), _guess_ranks(run)):
        values = run.metric_values(each.name)[1]
        if len(values) == len(run.validations) and np.isfinite(values).all():
            yield each


def _sure(run: Recorded) -> float:
    """Standard errors, by which the best of the validations is better than their mean by chance, and one more."""
    return math.sqrt(2 * math.log(max(len(run.validations), 2))) + 1


def _count_held(run: Recorded) -> int:
    return run.data.samples.get("validation", 0) if run.data else 0


def _guess_class(run: Recorded) -> Iterator[Guess]:
    """By the shares of the classes: in accuracy, loss and F1."""
    task, data = run.config.objective, run.data
    if data is None or data.target != "class" or task.kind not in ("classification", "binary"):
        return
    trained, held = (np.array(data.counts.get(part, ()), np.float64) for part in ("train", "validation"))
    ignored = getattr(task, "ignore_index", -1)
    if len(trained) != data.class_count or len(held) != len(trained) or 0 <= ignored < len(held):
        return
    if held.sum() <= 0 or trained.sum() <= 0 or (held > 0).sum() < 2:
        return
    weights = _weigh_classes(run, trained)
    even = run.config.loader.sampling != "balanced" and np.ptp(weights) == 0
    if even and getattr(task, "threshold", 0.5) == 0.5:
        usual = float(held[np.argmax(trained)] / held.sum())
        error = math.sqrt(usual * (1 - usual) / held.sum())
        chance = _sure(run) * error
        telling = usual <= _MOST_USUAL and rules.TELLING * error <= rules.LITTLE_ACCURACY * (1 - usual)
        predictor = "the most frequent class alone has"
        yield Guess("val/accuracy", predictor, usual, chance, _SURE * error, telling)
    if (loss := _guess_loss(run, trained, held, weights)) is not None:
        yield loss
    if task.kind == "classification":
        classes, some = len(held), held[held > 0]
        error = 0.5 * math.sqrt(float((1 / some).mean()) / len(some))
        yield Guess("val/f1", "", 1 / classes, _sure(run) * error, _SURE * error, False)


def _weigh_classes(run: Recorded, trained: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much a sample of each class counts in the loss."""
    task = run.config.objective
    if getattr(task, "balanced", False):
        weights = trained.max() / np.maximum(trained, 1)
        return weights / weights[0] if task.kind == "binary" else weights  # there the second class is weighed alone
    if (positive := getattr(task, "pos_weight", None)) is not None:
        return np.array([1.0, positive])
    weights = np.array(getattr(task, "class_weights", ()), np.float64)
    return weights if len(weights) == len(trained) else np.ones(len(trained))


def _guess_loss(
    run: Recorded, trained: NDArray[np.float64], held: NDArray[np.float64], weights: NDArray[np.float64]
) -> Guess | None:
    """The cross-entropy of who answers the shares of training to all validation samples. How far a network that knows no more comes below
    it: with probabilities that differ from the shares by a factor of 1 + e, a sample gains e with a standard deviation of e, and loses e²/2 on
    average, so that n samples gain z²/2n at most where chance is z standard errors."""
    task, smoothing = run.config.objective, getattr(run.config.objective, "label_smoothing", 0.0)
    if (smoothing and np.ptp(weights)) or not (weights * trained).sum() or not (weights * held).sum():
        return None
    drawn = np.minimum(trained, 1) if run.config.loader.sampling == "balanced" else trained
    answered, asked = (each / each.sum() for each in (weights * drawn, weights * held))
    answered, asked = ((1 - smoothing) * each + smoothing / len(held) for each in (answered, asked))
    if (answered[asked > 0] <= 0).any():
        return None
    guess = -float((asked[asked > 0] * np.log(answered[asked > 0])).sum())
    count = float((weights * held).sum() ** 2 / (weights**2 * held).sum())
    chance, telling = _sure(run) ** 2 / (2 * count), rules.TELLING**2 / (2 * count) <= rules.LITTLE_LOSS * guess
    if task.kind == "binary":  # whose mean is over samples, not over their weights
        times = float((weights * held).sum() / held.sum())
        guess, chance = guess * times, chance * times
    return Guess("val/loss", "the shares of the classes alone have", guess, chance, chance, telling)


def _guess_values(run: Recorded) -> Iterator[Guess]:
    """By the mean: in the share of the variance that is explained, and in order."""
    count = _count_held(run)
    if run.config.objective.kind != "regression" or count < 3:
        return
    chance = _sure(run) ** 2 / count
    yield Guess("val/r2", "the mean alone has", 0.0, chance, chance, rules.TELLING**2 / count <= rules.LITTLE_R2)
    error = 1 / math.sqrt(count - 1)
    yield Guess("val/spearman", "", 0.0, _sure(run) * error, _SURE * error, False)


def _guess_ranks(run: Recorded) -> Iterator[Guess]:
    """By equal scores: in AUROC, of one class or label against the others."""
    count = _count_held(run)
    counts = np.array(run.data.counts.get("validation", ()) if run.data else (), np.float64)
    counts = counts[(counts > 0) & (counts < count)]
    if not len(counts):
        return
    if run.config.objective.kind == "binary":
        counts = counts[:1]
    error = math.sqrt(float(np.mean((count + 1) / (12 * counts * (count - counts)))))
    chance = _sure(run) * error
    yield Guess(
        "val/auroc", "equal scores have", 0.5, chance, _SURE * error, rules.TELLING * error <= rules.LITTLE_AUROC
    )


def _measure_gain(run: Recorded) -> float:
    """By how much the training loss lies below that of guessing, or of the start where that is lower."""
    task, guess = run.config.objective, guessing_loss(run)
    if task.kind == "regression" and task.loss == "mse" and task.standardise:
        guess = 1.0
    began = run.start if guess is None else min(run.start, guess)
    return 1 - run.levels[-1].mean / began if run.levels and began > 0 else 0.0


def _may_come(run: Recorded, gain: float) -> bool:
    """Whether the loss is about to come below guessing: that of validation at the pace of its last half, or that of training, which has
    come down by little and still falls."""
    ahead = (run.total_steps - run.step) / max(run.step, 1)
    losses = run.metric_values("val/loss")[1]
    late = losses[len(losses) // 2 :]
    guess = next((each for each in _list_guesses(run) if each.name == "val/loss"), None)
    if len(late) >= 4 and np.isfinite(late).all():
        rise, t = slope(late)
        target = guess.value - guess.chance if guess is not None else float(losses[0]) * (1 - rules.SLOW_GAIN)
        if t < -2 and float(late[-1]) + rise * ahead * len(losses) < target:
            return True
    trained = run.judged["loss"].astype(np.float64)
    if gain >= rules.SLOW_GAIN or len(trained) < rules.LEAST_JUDGED:
        return False
    return slope(trained[len(trained) // 2 :])[1] < -2


JUDGES = (judge_skill,)
AT_END = (judge_skill_at_end,)
