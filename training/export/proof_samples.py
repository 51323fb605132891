"""What an export is proven on: samples of the validation part and the worst ones, and what the checkpoint answers to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.data.source import Source
from training.errors import InputError, TrainingError
from training.export.bundle import ExportBundle
from training.export.choices import Settled
from training.export.listings.prepared_tensors import open_for, read_parts
from training.export.proof_raw import gather_raw
from training.facts import IGNORED_PIXEL, place_tasks
from training.predictions import list_evaluations
from training.runs.relocation import config_here
from training.statistics.logits import find_cutoff
from training.verify.answers import Answering, Task
from training.verify.kept import INPUTS, LENGTHS, Kept

DRAWN, WORST = 256, 16
_SEARCHED = 1024
"""Samples among which the worst are looked for where the checkpoint was not evaluated."""
CALIBRATED = 128
"""Training samples by which int8 finds the ranges of what is computed."""
_TOGETHER = 64
_PIXELS, _TOKENS = 64, 8
"""Places of each sample whose scores are compared one by one."""
_MOST_BYTES = 1 << 30
"""Of samples in a proof: of larger ones there are fewer."""
_LEAST = 16
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class RealData:
    """The run's samples as they are now, the same as then."""

    source: Source
    splits: dict[str, Tensor]

    def read(self, numbers: Tensor) -> tuple[NDArray[Any], NDArray[Any]]:
        """Samples as an exported graph takes them (images with channels last), and their targets."""
        source = self.source
        found = source.batch_reader.read(source.at_epoch(numbers, None))
        samples, targets = found if isinstance(found, tuple) else (found, None)
        if source.target == "tokens":
            return samples[:, :-1].long().numpy(), samples[:, 1:].int().numpy()
        if source.target == "mask":
            samples, targets = samples[..., :-1], samples[..., -1]
        if targets is None:
            targets = source.targets[numbers]
        if source.layout == "image" and samples.dtype != torch.uint8:
            samples = samples.round().clamp(0, 255).to(torch.uint8)
        return np.ascontiguousarray(samples.numpy()), np.ascontiguousarray(targets.numpy())


def open_data(bundle: ExportBundle, report_progress: Callable[[str, float | None], None]) -> RealData | str:
    """The run's data; where it cannot be had, the reason as a clause."""
    run = bundle.run
    if not run.config_file.is_file():
        return "the checkpoint lies outside its run"
    try:
        config = config_here(run)
        opening = open_for(config, run, report_progress)
        source, splits = read_parts(config, opening, run.exclude_file)
    except (TrainingError, OSError) as error:
        return str(getattr(error, "message", error)).rstrip(".")
    if bundle.manifest.data.fingerprint != source.fingerprint:
        return "the data became another than the run was trained on"
    return RealData(source, splits)


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
    drawn, batches = _draw(bundle, answering, data, part)
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
        raw=gather_raw(bundle, None if isinstance(data, str) else data.source, whole, _pick_numbers(data, part)),
    )


def _sign(bundle: ExportBundle, targets: NDArray[Any]) -> NDArray[Any]:
    """A pixel that does not count is -1."""
    if bundle.facts.target != "mask":
        return targets
    return np.where(targets == IGNORED_PIXEL, -1, targets.astype(np.int16)).astype(np.int16)


def _pick_numbers(data: RealData | str, part: str, count: int = DRAWN) -> Tensor:
    """The numbers of ``count`` samples of a part, seeded."""
    if isinstance(data, str):
        return torch.empty(0, dtype=torch.int64)
    numbers = data.splits[part].cpu()
    return numbers[torch.randperm(len(numbers), generator=torch.Generator().manual_seed(0))[:count]]


def _draw(
    bundle: ExportBundle, answering: Answering, data: RealData | str, part: str
) -> tuple[int, Iterator[tuple[NDArray[Any], NDArray[Any] | None]]]:
    """How many are drawn, and all in batches, with their targets."""
    if isinstance(data, str):
        samples = bundle.samples()
        if bundle.facts.layout == "image":
            samples = samples.permute(0, 2, 3, 1)
        return len(samples), iter([(np.ascontiguousarray(samples.numpy()), None)])
    size = max(1, math.prod(bundle.facts.shape) * (1 if bundle.facts.layout == "image" else 4))
    most = max(_LEAST, _MOST_BYTES // size)
    drawn = _pick_numbers(data, part, min(DRAWN, most))
    known = set(drawn.tolist())
    found = find_worst(bundle, part)
    if found is None:
        found = _search_worst(bundle, answering, data, _pick_numbers(data, part, min(_SEARCHED, most)))
    worst = [number for number in found if number not in known and number < len(data.source.targets)]
    numbers = torch.cat([drawn, torch.tensor(worst, dtype=torch.int64)])
    return len(drawn), map(data.read, numbers.split(_TOGETHER))


def find_worst(bundle: ExportBundle, part: str) -> list[int] | None:
    """The numbers of the samples with the largest losses in an evaluation of the checkpoint on the part; None without one."""
    for evaluation in list_evaluations(bundle.run):
        record = evaluation.record
        if record.step == bundle.manifest.step and record.on == part:
            with suppress(InputError):
                losses = np.asarray(evaluation.column("loss"), np.float64)
                order = np.argsort(np.where(np.isnan(losses), -np.inf, losses))[::-1]
                return [int(each) for each in evaluation.column("index")[order[:WORST]]]
    return None


def _search_worst(bundle: ExportBundle, answering: Answering, data: RealData, numbers: Tensor) -> list[int]:
    """Of the samples of these numbers those with the largest losses; none of answers that have no loss of their own."""
    losses: list[NDArray[Any]] = []
    for some in numbers.split(_TOGETHER):
        samples, targets = data.read(some)
        found = answering.find_losses(bundle.logits(as_network_takes(bundle, samples)).numpy(), targets)
        if found is None:
            return []
        losses.append(found)
    order = np.argsort(-np.nan_to_num(np.concatenate(losses), nan=-np.inf), kind="stable")
    return [int(numbers[place]) for place in order[:WORST]]


def as_network_takes(bundle: ExportBundle, samples: NDArray[Any]) -> Tensor:
    """Samples with the channels of images first."""
    found = torch.from_numpy(samples)
    return found.permute(0, 3, 1, 2).contiguous() if bundle.facts.layout == "image" else found


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
    for numbers in _pick_numbers(data, "train", CALIBRATED).split(_TOGETHER // 4):
        yield as_network_takes(bundle, data.read(numbers)[0]).numpy()
