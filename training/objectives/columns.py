"""What is kept of each sample that a network answers to: what was true, what it answered and what that cost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from training.config.sections.objective import Objective as ObjectiveConfig
from training.config.sections.objective import OwnLoss
from training.core.kept_scores import keep_embeddings
from training.core.losses import Loss, pixel_cross_entropy, softmax_probabilities, split_answers, weighted_cross_entropy
from training.core.scores import exceed
from training.facts import IGNORED, IGNORED_PIXEL, DataFacts, place_tasks
from training.objectives.objective import Objective
from training.own_code.user_rng import preserve_rng
from training.predictions.record import MOST_SCORES, ColumnForm

Take = Callable[[Tensor, Tensor], dict[str, Tensor]]
"""Columns of a batch, on its device, of the network's outputs and the targets."""


class Columns:
    """The columns of an objective, as ``training.predictions`` describes them, but for those of the samples themselves."""

    def __init__(self, config: ObjectiveConfig, objective: Objective, facts: DataFacts) -> None:
        self.threshold = float(getattr(getattr(config, "measured", config), "threshold", 0.5))
        """The probability from which on a label, or the second of two classes, is taken as told."""
        self.forms: Mapping[str, ColumnForm]
        self._take: Take
        self._loss = objective.loss
        self._image_loss = objective.loss._replace(function=_take_images(objective.loss.function))
        self._averages = facts.dense or bool(objective.parts)
        self._one_by_one = False
        self._own = isinstance(config, OwnLoss)
        self._alone = not objective.compares_samples
        self._dense = facts.dense
        ignored = getattr(config, "ignore_index", IGNORED)
        self._forms, self._take = _choose(objective, facts, self.threshold, ignored)
        self.forms = {"index": ColumnForm(dtype="int64"), "loss": ColumnForm(dtype="float32"), **self._forms}

    def take(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """All but "index" for a batch; to be called in inference mode."""
        answers = outputs[: len(targets)]  # behind them the samples' other views
        found = self._take(answers.to(torch.promote_types(answers.dtype, torch.float32)), targets)
        return {"loss": self.find_losses(answers, targets), **found}

    def find_losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(n,): the objective's loss of each sample alone; of pixels and tokens their mean. NaN for one that does not count, and
        where samples are compared with each other: none has a loss of its own."""
        if self._alone and not self._own:
            return self._find_each(outputs, targets)
        if self._alone:
            with preserve_rng([outputs.device] if outputs.device.type == "cuda" else []):
                try:  # what a person's own loss draws here is not missed by the run
                    return self._find_each(outputs, targets)
                except torch.OutOfMemoryError:
                    raise
                except Exception:  # noqa: BLE001 - a person's code raises anything; some cannot take a single sample
                    self._alone = False
        return outputs.new_full((len(targets),), torch.nan, dtype=torch.float32)

    def _find_each(self, outputs: Tensor, targets: Tensor) -> Tensor:
        if not self._one_by_one and not (
            self._dense and outputs.device.type == "cpu"
        ):  # where the others' kernels are slow
            try:
                with warnings.catch_warnings():
                    warnings.filterwarnings(
                        "ignore", "There is a performance drop"
                    )  # of kl_div, which it computes one by one
                    losses: Tensor = torch.vmap(partial(self._measure_one, loss=self._loss))(outputs, targets)
                return losses
            except Exception:  # noqa: BLE001 - a person's own loss may do what torch.vmap cannot
                self._one_by_one = True
        loss = self._loss
        if outputs.device.type == "cpu":  # where channels first take a tenth of the time that a softmax takes else
            loss, outputs = self._image_loss, outputs.contiguous()
        return torch.stack([self._measure_one(*one, loss) for one in zip(outputs, targets, strict=True)])

    def _measure_one(self, output: Tensor, target: Tensor, loss: Loss) -> Tensor:
        target = target[None]
        total, weight = loss.sum(output[None], target), loss.weigh(target)
        if self._averages:
            return loss.mean(total, weight)
        return total if isinstance(weight, int) else torch.where(weight == 0, torch.nan, total)


def _take_images(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same loss with torch's cross-entropy of images in place of that of a list of their pixels: what is told of one image need
    not have the bits of what the run adds up, and takes a quarter of the time."""
    if not isinstance(function, partial):
        return function
    parts = function.keywords.get("functions")
    if parts is not None:
        return partial(function.func, *function.args, **function.keywords | {"functions": [*map(_take_images, parts)]})
    if function.func is pixel_cross_entropy:
        return partial(weighted_cross_entropy, *function.args, **function.keywords)
    return function


def _choose(
    objective: Objective, facts: DataFacts, threshold: float, ignored: int
) -> tuple[dict[str, ColumnForm], Take]:
    """What is kept for such targets, and what takes it."""
    if objective.is_embedding:
        forms = {"embedding": _form("float32", objective.outputs), "target": _form("int32")}
        return forms, partial(_take_embedding, unit=objective.unit_length)
    count = len(facts.names)
    if facts.target == "class":
        if objective.outputs == 1:
            return _class_forms(2), partial(_take_binary, threshold=threshold)
        return _class_forms(count), partial(_take_classes, classes=count, ignored=ignored)
    if facts.target == "labels":
        return {"target": _form("uint8", count), "scores": _form("float32", count)}, _take_labels
    if facts.target == "values":
        mean, std = objective.spread or ((0.0,) * count, (1.0,) * count)
        forms = {"target": _form("float32", count), "prediction": _form("float32", count)}
        return forms, partial(_take_values, mean=mean, std=std)
    if facts.target == "tasks":
        forms = {name: _form("float32", count) for name in ("target", "prediction", "probability")}
        return forms, partial(_take_tasks, facts=facts, spread=objective.spread)
    if facts.target == "mask":
        shape = facts.shape[1:]
        forms = {name: _form("uint8", *shape) for name in ("target", "prediction")}
        forms |= {name: _form("int32", count) for name in ("support", "predicted", "correct")}
        return forms, partial(_take_masks, classes=count, single=objective.outputs == 1)
    if facts.target == "tokens":
        length = facts.shape[0]
        forms = {name: _form("int32", length) for name in ("target", "prediction")}
        return forms | {"token_loss": _form("float16", length)}, _take_tokens
    items = facts.shape[0]
    return {"target": _form("float32", items), "scores": _form("float32", items)}, _take_ranks


def _form(dtype: str, *shape: int) -> ColumnForm:
    return ColumnForm.model_validate({"dtype": dtype, "shape": shape})


def _class_forms(classes: int) -> dict[str, ColumnForm]:
    kept = min(classes, MOST_SCORES)
    forms = {
        "target": _form("int32"),
        "prediction": _form("int32"),
        "scores": _form("float32", kept),
        "target_score": _form("float32"),
        "log_sum": _form("float32"),
    }
    return forms if kept == classes else forms | {"classes": _form("int32", kept)}


def _take_classes(outputs: Tensor, targets: Tensor, classes: int, ignored: int) -> dict[str, Tensor]:
    """A target of -1 is one that is not counted (``objective.ignore_index``)."""
    truth = split_answers(targets, classes)[0] if targets.is_floating_point() else targets
    truth = torch.where(truth == ignored, -1, truth)
    found = {
        "target": truth.int(),
        "prediction": outputs.argmax(1).int(),
        "scores": outputs,
        "target_score": outputs.gather(1, truth.clamp(min=0)[:, None])[:, 0],
        "log_sum": outputs.logsumexp(1),
    }
    if classes > MOST_SCORES:
        scores, numbers = outputs.topk(MOST_SCORES)
        found |= {"scores": scores, "classes": numbers.int()}
    return found


def _take_binary(outputs: Tensor, targets: Tensor, threshold: float) -> dict[str, Tensor]:
    scores = torch.cat([torch.zeros_like(outputs), outputs], dim=1)
    return {
        "target": targets.int(),
        "prediction": exceed(outputs[:, 0], threshold).int(),
        "scores": scores,
        "target_score": scores.gather(1, targets[:, None])[:, 0],
        "log_sum": scores.logsumexp(1),
    }


def _take_labels(outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
    return {"target": (targets > 0.5).to(torch.uint8), "scores": outputs}


def _take_values(
    outputs: Tensor, targets: Tensor, mean: tuple[float, ...], std: tuple[float, ...]
) -> dict[str, Tensor]:
    return {"target": targets, "prediction": _to_units(outputs, mean, std)}


def _to_units(outputs: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """In float64 where there is such a thing: numbers far from 0 would lose their digits."""
    wide = torch.float32 if outputs.device.type == "mps" else torch.float64
    center, spread = torch.tensor([mean, std], dtype=wide, device=outputs.device)
    return (outputs.to(wide) * spread + center).float()


def _take_tasks(
    outputs: Tensor, targets: Tensor, facts: DataFacts, spread: tuple[tuple[float, ...], tuple[float, ...]] | None
) -> dict[str, Tensor]:
    """The probability of a value is NaN."""
    values = outputs if spread is None else _to_units(outputs, *spread)
    predictions, probabilities = [], []
    for place in place_tasks(facts):
        if not place.classes:
            predictions.append(values[:, place.first])
            probabilities.append(torch.full_like(outputs[:, 0], torch.nan))
            continue
        chances = outputs[:, place.first : place.last]
        chances = softmax_probabilities(functional.pad(chances, (1, 0)) if len(place.classes) == 2 else chances)
        likely, number = chances.max(1)
        predictions.append(number.float())
        probabilities.append(likely)
    return {
        "target": targets.float(),
        "prediction": torch.stack(predictions, 1),
        "probability": torch.stack(probabilities, 1),
    }


def _take_masks(outputs: Tensor, targets: Tensor, classes: int, single: bool) -> dict[str, Tensor]:
    predicted = (outputs[:, 0] >= 0).long() if single else outputs.argmax(1)
    counted = targets >= 0
    truth, guesses = targets.clamp(min=0).flatten(1), predicted.flatten(1)
    ones = counted.flatten(1).int()
    counts = torch.zeros((3, len(targets), classes), dtype=torch.int32, device=targets.device)
    counts[0].scatter_add_(1, truth, ones)
    counts[1].scatter_add_(1, guesses, ones)
    counts[2].scatter_add_(1, truth, ones * (truth == guesses))
    return {
        "target": targets.masked_fill(~counted, IGNORED_PIXEL).to(torch.uint8),
        "prediction": predicted.to(torch.uint8),
        "support": counts[0],
        "predicted": counts[1],
        "correct": counts[2],
    }


def _take_tokens(outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
    losses = functional.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="none", ignore_index=IGNORED)
    losses = losses.clamp(max=torch.finfo(torch.float16).max).view(targets.shape)
    return {"target": targets.int(), "prediction": outputs.argmax(-1).int(), "token_loss": losses.half()}


def _take_ranks(outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
    scores = outputs.reshape(targets.shape)
    return {"target": targets, "scores": scores.masked_fill(targets.isnan(), torch.nan)}


def _take_embedding(outputs: Tensor, targets: Tensor, unit: bool) -> dict[str, Tensor]:
    return {"embedding": keep_embeddings(outputs, targets, unit=unit)[0], "target": targets.int()}
