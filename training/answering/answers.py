"""What the scores of a model say of samples, as records for people and programs."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.answering.given import Sample
from training.answering.measured import Measured, measure_model
from training.answering.model import UsableModel
from training.export.usage.samples import answers, calibrate, softmax
from training.protocol.model_answers import MOST_CHANCES, Chance, ImagePixels, MaskAnswer, ModelAnswer, Ranked, Value

_TOGETHER = {"image": 16, "vector": 1024, "list": 64, "tokens": 1}


def answer_samples(model: UsableModel, samples: Iterable[Sample], with_images: bool = False) -> Iterator[ModelAnswer]:
    """What the model says of each sample, in their order, some asked together. ``with_images``: as the model sees them."""
    waiting, measured = iter(samples), measure_model(model)
    while group := list(islice(waiting, _TOGETHER[model.record.input.layout])):
        yield from _answer_group(model, measured, group, with_images)


def _answer_group(
    model: UsableModel, measured: Measured, group: Sequence[Sample], with_images: bool
) -> Iterator[ModelAnswer]:
    read = [sample.values for sample in group if sample.values is not None]
    if model.kind == "tokens":
        scores = iter([model.token_logits(values) for values in read])  # type: ignore[arg-type]
    else:
        scores = iter(model.logits(np.stack(read)) if read else [])
    for sample in group:
        if sample.values is None:
            yield ModelAnswer(name=sample.name, refused=sample.refused, notes=sample.notes)
            continue
        answer = _answer(model, measured, sample, next(scores))
        if with_images and model.record.input.layout == "image":
            answer = answer.model_copy(update={"image": show_image(sample.values)})
        yield answer


def _answer(model: UsableModel, measured: Measured, sample: Sample, scores: NDArray[np.float32]) -> ModelAnswer:
    """Of one sample, whose scores are those of a batch without its first side."""
    make, output, names = _Maker(sample), model.facts["output"], model.facts["classes"]
    if not np.isfinite(scores).all():
        return ModelAnswer(
            name=sample.name, refused="the model answers with numbers that are not finite", notes=sample.notes
        )
    (said,) = answers(model.facts, scores[np.newaxis])
    scores = calibrate(model.facts, scores)  # as its probabilities are
    match output["kind"]:
        case "class":
            return make(prediction=(said[0],), chances=_class_chances(output["probabilities"], names, scores))
        case "labels":
            least = dict(zip(names, output.get("thresholds") or [output["threshold"] or 0.5] * len(names), strict=True))
            chances = _sort(said.items())
            told = tuple(each.name for each in chances if each.probability >= least[each.name])
            return make(prediction=told, chances=chances)
        case "values":
            return make(values=tuple(_value(measured, name, value) for name, value in said.items()))
        case "tasks":
            return _answer_tasks(model, measured, make, scores)
        case "mask":
            return make(mask=_show_mask(names, said))
        case "ranks":
            items = [place for place in said if place < len(sample.items)]
            return make(
                ranking=tuple(Ranked(name=sample.items[place], score=float(scores.flat[place])) for place in items)
            )
        case "tokens":
            return make(
                prediction=(model.vocabulary.show(names.index(said[0])),),
                chances=_token_chances(model, scores),
                perplexity=_perplexity(scores, sample.values),
            )
    return make(embedding=tuple(said), nearest=measured.find_nearest(scores))


class _Maker:
    """The answer about ``sample`` with what the model says of it."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    def __call__(self, **said: Any) -> ModelAnswer:
        return ModelAnswer(name=self._sample.name, notes=self._sample.notes, **said)


def _class_chances(how: str, names: Sequence[str], scores: NDArray[np.float32]) -> tuple[Chance, ...]:
    if how == "sigmoid":  # one score, for the second of two classes
        second = float(1 / (1 + np.exp(-scores[0].astype(np.float64))))
        return _sort(zip(names, (1 - second, second), strict=True))
    return _sort(zip(names, softmax(scores[np.newaxis].astype(np.float64))[0].tolist(), strict=True))


def _token_chances(model: UsableModel, scores: NDArray[np.float32]) -> tuple[Chance, ...]:
    chances = softmax(scores[-1:].astype(np.float64))[0]
    likeliest = np.argsort(-chances, kind="stable")[:MOST_CHANCES]
    return tuple(
        Chance(name=model.vocabulary.show(int(token)), probability=float(chances[token])) for token in likeliest
    )


def _perplexity(scores: NDArray[np.float32], tokens: NDArray[Any] | None) -> float | None:
    """Of all tokens but the first, which nothing comes before; None of a single one."""
    if tokens is None or len(scores) < 2:
        return None
    chances = softmax(scores[:-1].astype(np.float64))
    of_next = chances[np.arange(len(chances)), tokens[-len(scores) :][1:]]
    with np.errstate(divide="ignore"):
        mean = float(-np.log(of_next).mean())
    return math.exp(mean) if mean < 700.0 else math.inf


def _value(measured: Measured, name: str, value: float) -> Value:
    error = measured.errors.get(name)
    if error is None:
        return Value(name=name, value=value)
    return Value(name=name, value=value, error=error.usual, within=error.within, error_words=error.words)


def _answer_tasks(model: UsableModel, measured: Measured, make: _Maker, scores: NDArray[np.float32]) -> ModelAnswer:
    values, chances, prediction = [], [], []
    for task in model.facts["output"]["tasks"]:
        name, own = task["name"], scores[task["first"] : task["last"]]
        if not task["classes"]:
            values.append(_value(measured, name, float(own[0])))
            continue
        how = "sigmoid" if len(task["classes"]) == 2 else "softmax"
        chances.append((name, _class_chances(how, task["classes"], own)))
        prediction.append(f"{name}: {chances[-1][1][0].name}")
    return make(values=tuple(values), chances_of=tuple(chances), prediction=tuple(prediction))


def _sort(chances: Iterable[tuple[str, float]]) -> tuple[Chance, ...]:
    """The largest first."""
    ordered = sorted(chances, key=lambda pair: -pair[1])[:MOST_CHANCES]
    return tuple(Chance(name=name, probability=probability) for name, probability in ordered)


def _show_mask(names: Sequence[str], classes: NDArray[np.int64]) -> MaskAnswer:
    height, width = classes.shape
    counts = np.bincount(classes.ravel(), minlength=len(names))
    shares = _sort((name, count / classes.size) for name, count in zip(names, counts.tolist(), strict=True) if count)
    return MaskAnswer(width=width, height=height, classes_base64=encode_bytes(classes), shares=shares)


def show_image(pixels: NDArray[Any]) -> ImagePixels:
    """What is to be seen of ``pixels`` (C, H, W), from 0 to 255: the first three channels, or the first alone."""
    shown_channels = pixels[:3] if len(pixels) >= 3 else pixels[:1]
    channels, height, width = shown_channels.shape
    shown = encode_bytes(shown_channels.transpose(1, 2, 0))
    return ImagePixels(width=width, height=height, channels=channels, pixels_base64=shown)


def encode_bytes(values: NDArray[Any]) -> str:
    """As uint8, row by row, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, np.uint8).tobytes()).decode()
