"""What an export is proven on: samples of the validation part and the worst ones, and what the checkpoint answers to them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.errors import InputError, TrainingError
from training.export.bundle import ExportBundle
from training.export.choices import Settled
from training.export.proof.data import TOGETHER, RealData, as_network_takes, pick_numbers
from training.export.proof.raw import gather_raw
from training.export.proof.worst import NO_WORST, Worst, find_worst
from training.facts import IGNORED_PIXEL, place_tasks
from training.statistics.logits import find_cutoff
from training.verify.answers import Answering, Task
from training.verify.kept import INPUTS, LENGTHS, Kept

DRAWN, WORST = 256, 16
CALIBRATED = 128
"""Training samples by which int8 finds the ranges of what is computed."""
_PIXELS, _TOKENS = 64, 8
"""Places of each sample whose scores are compared one by one."""
_MOST_BYTES = 1 << 30
"""Of samples in a proof: of larger ones there are fewer."""
_LEAST = 16
Arrays = dict[str, NDArray[Any]]


def describe_answers(bundle: ExportBundle, settled: Settled) -> Answering:
    """How the exported file's scores become answers."""
    facts, objective = bundle.facts, bundle.objective
    kind = "embedding" if objective.is_embedding else facts.target
    thresholds: tuple[float, ...] = ()
    if (kind == "class" and objective.outputs == 1) or kind == "labels":
        count = objective.outputs
        own = float(getattr(bundle.config.objective, "threshold", 0.5))
        thresholds = settled.thresholds or (own,)
        thresholds = thresholds * count if len(thresholds) == 1 else thresholds
    mean, std = objective.spread or ((), ())
    size, rng = math.prod(facts.shape[1:]) if kind == "mask" else facts.shape[0], np.random.default_rng(0)
    places = {"mask": _PIXELS, "tokens": _TOKENS}.get(kind, 0)
    chosen = rng.choice(size, min(size, places), replace=False) if places else np.empty(0)
    return Answering(
        kind=kind,
        names=facts.names,
        probabilities=objective.probabilities,
        temperature=1.0 if settled.temperature is None else settled.temperature,
        cutoffs=tuple(map(find_cutoff, thresholds)),
        tasks=tuple(Task(*vars(place).values()) for place in place_tasks(facts)) if kind == "tasks" else (),
        mean=mean,
        std=std,
        places=tuple(sorted(chosen.astype(int).tolist())),
        top=int(getattr(bundle.config.objective, "top", 10)),
    )


def gather_kept(bundle: ExportBundle, answering: Answering, data: RealData | str, dtype: str, relative: float) -> Kept:
    """The samples and the checkpoint's answers to them; made-up samples where there are no real ones. Raises TrainingError for a model
    that does not answer with finite numbers."""
    part = "" if isinstance(data, str) else "validation" if len(data.splits.get("validation", ())) else "train"
    drawn, trained, worst, batches = _draw(bundle, data, part)
    columns: dict[str, list[NDArray[Any]]] = {}
    inputs: dict[str, list[NDArray[Any]]] = {}
    for samples, targets in batches:
        scores = bundle.logits(as_network_takes(bundle, samples)).numpy()
        if not np.isfinite(scores).all():
            raise TrainingError(
                "The model does not answer with finite numbers, so the export cannot be compared; nothing was exported.",
                "Choose an earlier checkpoint.",
            )
        found = {
            "scores": answering.pick(scores),
            "decisions": answering.decide(scores),
            "margins": answering.find_margins(scores),
            "chances": answering.find_chances(scores),
            "targets": None if targets is None else _sign(bundle, targets),
        }
        if targets is not None:
            found["terms"] = answering.take_terms(scores, _sign(bundle, targets))
        for name, array in found.items():
            if array is not None:
                columns.setdefault(name, []).append(array)
        for name, array in name_inputs(bundle, samples).items():
            inputs.setdefault(name, []).append(array)
    joined: dict[str, Any] = {name: np.concatenate(parts) for name, parts in columns.items()}
    whole = {name: np.concatenate(parts) for name, parts in inputs.items()}
    names = ("decisions", "margins", "chances", "targets", "terms")
    return Kept(
        answering=answering,
        inputs=whole,
        scores=joined["scores"],
        **{name: joined.get(name) for name in names},
        drawn=drawn,
        part=part,
        dtype=dtype,
        relative=relative,
        trained=trained,
        worst=len(worst.numbers),
        chosen=worst.chosen,
        raw=gather_raw(bundle, None if isinstance(data, str) else data.source, whole, pick_numbers(data, part, DRAWN)),
    )


def _sign(bundle: ExportBundle, targets: NDArray[Any]) -> NDArray[Any]:
    """A pixel that does not count is -1."""
    if bundle.facts.target != "mask":
        return targets
    return np.where(targets == IGNORED_PIXEL, -1, targets.astype(np.int16)).astype(np.int16)


def _draw(
    bundle: ExportBundle, data: RealData | str, part: str
) -> tuple[int, int, Worst, Iterator[tuple[NDArray[Any], NDArray[Any] | None]]]:
    """How many are drawn, how many of the training part come beside a small part, which are the worst, and all in batches, with
    their targets."""
    if isinstance(data, str):
        samples = bundle.samples()
        if bundle.facts.layout == "image":
            samples = samples.permute(0, 2, 3, 1)
        return len(samples), 0, NO_WORST, iter([(np.ascontiguousarray(samples.numpy()), None)])
    size = max(1, math.prod(bundle.facts.shape) * (1 if bundle.facts.layout == "image" else 4))
    wanted = min(DRAWN, max(_LEAST, _MOST_BYTES // size))
    drawn = pick_numbers(data, part, wanted)
    trained = pick_numbers(data, "train", wanted - len(drawn)) if part != "train" else drawn[:0]
    worst = find_worst(bundle, data, part, WORST) if len(drawn) < len(data.splits[part]) else NO_WORST
    more = sorted(set(worst.numbers) - set(drawn.tolist()))
    numbers = torch.cat([drawn, trained, torch.tensor(more, dtype=torch.int64)])
    return len(drawn), len(trained), worst, map(data.read, numbers.split(TOGETHER))


def name_inputs(bundle: ExportBundle, samples: NDArray[Any]) -> Arrays:
    """The inputs of an exported graph by their names."""
    layout = bundle.facts.layout
    found: Arrays = {INPUTS[layout]: samples}
    if layout == "tokens":
        found[LENGTHS] = np.full(len(samples), samples.shape[1], np.int64)
    return found


def calibration_batches(bundle: ExportBundle, data: RealData | str) -> Iterator[NDArray[Any]]:
    """Training samples as the plain network takes them, a few at a time, seeded."""
    if isinstance(data, str):
        raise InputError(f"--quantize int8: is calibrated on training samples, and there are none: {data}.")
    for numbers in pick_numbers(data, "train", CALIBRATED).split(TOGETHER // 4):
        yield as_network_takes(bundle, data.read(numbers)[0]).numpy()
