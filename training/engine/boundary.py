"""The decision boundary of a network over data in the plane, looked at after validations."""

from __future__ import annotations

import math
import time

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.core.splits import pick_evenly
from training.engine.evaluate import measure_quietly
from training.engine.recovery.memory import OutOfMemory
from training.engine.session import Session
from training.runs.boundary.frames import GRID, MOST_CLASSES, BoundaryFile, Plane, Points
from training.runs.folder import RunFolder
from training.runs.storage import explain_disk_errors

FREE_SECONDS = 1.0
SHARE = 0.02
"""A boundary is left out where all of them would have taken more than so many seconds and that share of the attempt's time: a
short run is shown validation by validation, and a long one loses a fiftieth."""

_MOST_POINTS = {"train": 1000, "validation": 250}
_LOOKED_AT = 20_000
_MARGIN = 0.08  # of what the samples span, on each side


class DecisionBoundary:
    """Adds a frame to the run's file after a validation. What it computes changes nothing of the run, to the bit."""

    def __init__(self, session: Session, folder: RunFolder, out_of_memory: OutOfMemory) -> None:
        self._session = session
        self._path = folder.boundary_file
        self._out_of_memory = out_of_memory
        self._plane = find_plane(session)
        self._began = time.perf_counter()
        self._spent = self._last = 0.0
        if self._plane is not None:
            with explain_disk_errors(self._path):
                self._file = BoundaryFile(self._path, self._plane, session.progress.step)

    def look(self) -> None:
        """Add what the network of now answers, unless that would take too much of the run's time."""
        if self._plane is None or not self._is_due():
            return
        start = time.perf_counter()
        answers = self._out_of_memory.evaluate(self._measure)
        progress = self._session.progress
        with explain_disk_errors(self._path):
            self._file.add(progress.step, progress.epoch, *answers)
        self._last = time.perf_counter() - start
        self._spent += self._last

    def forget_later(self) -> None:
        """The run went back: what was seen after the step it stands at is void."""
        if self._plane is not None:
            with explain_disk_errors(self._path):
                self._file.cut(self._session.progress.step)

    def _is_due(self) -> bool:
        session = self._session
        if session.config.loop.decision_boundary == "every_validation":
            return True
        ends = session.progress.step >= session.total_steps
        allowed = FREE_SECONDS + SHARE * (time.perf_counter() - self._began)
        return ends or self._spent + self._last <= allowed

    def _measure(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Class and certainty (GRID, GRID) of each place, by the weights that are validated."""
        session = self._session
        assert self._plane is not None
        x, y = map(torch.from_numpy, self._plane.centers())
        places = torch.cartesian_prod(y, x).flip(1).float().to(session.device)
        inputs = session.data.normalization.apply(places)
        with measure_quietly(session, "boundary"):
            session.answer.eval()
            parts = []
            for some in inputs.split(session.data.evaluation_size):
                with session.numerics.autocast():
                    outputs = session.answer(some)
                parts.append(self._decide(outputs.float()))
        classes, certainty = (torch.cat(part).reshape(GRID, GRID).cpu() for part in zip(*parts, strict=True))
        shown = certainty.nan_to_num(0.0).mul(255).round().to(torch.uint8)
        return classes.to(torch.uint8).numpy(), shown.numpy()

    def _decide(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """The class (n,) and its probability for logits (n, classes), or (n, 1) of a binary task."""
        objective = self._session.objective
        if objective.probabilities == "softmax":
            certainty, classes = outputs.softmax(1).max(1)
            return classes, certainty
        second = outputs[:, 0].sigmoid()
        classes = second > getattr(self._session.config.objective, "threshold", 0.5)
        return classes, torch.where(classes, second, 1 - second)


def find_plane(session: Session) -> Plane | None:
    """What is to be looked at; None where the inputs are not two numbers, no class is told, or nobody wants it."""
    facts, objective = session.data.facts, session.objective
    wanted = session.config.loop.decision_boundary != "off"
    classes = objective.outputs if objective.probabilities == "softmax" else 2
    plane = facts.layout == "vector" and facts.shape == (2,) and not any(facts.categories)
    told = facts.target == "class" and objective.probabilities != "none" and classes == len(facts.names)
    if not (wanted and plane and told and len(facts.names) <= MOST_CLASSES):
        return None
    ranges = _find_ranges(session, same_scale=not any(facts.columns))
    if ranges is None:
        return None
    return Plane(
        x=ranges[0],
        y=ranges[1],
        columns=(facts.columns[0], facts.columns[1]) if facts.columns else ("", ""),
        names=facts.names,
        train=_read_points(session, "train"),
        validation=_read_points(session, "validation"),
    )


def _read_points(session: Session, part: str) -> Points:
    numbers, places = _read(session, part, _MOST_POINTS[part])
    classes = session.data.source.targets[numbers]
    (x, y), drawn = places.double().T.tolist(), tuple(int(number) for number in classes.tolist())
    return Points(x=tuple(x), y=tuple(y), classes=drawn)


def _read(session: Session, part: str, most: int) -> tuple[Tensor, Tensor]:
    """Samples of ``part`` whose place is known: their numbers (n,), their places (n, 2)."""
    numbers = pick_evenly(session.data.splits[part], most)
    places = session.data.raw(numbers)
    known = places.isfinite().all(1)
    return numbers[known], places[known]


def _find_ranges(session: Session, same_scale: bool) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """From where to where samples lie along x and y, with a margin; of equal length where both axes are of one scale."""
    places = torch.cat([_read(session, part, _LOOKED_AT)[1] for part in ("train", "validation")]).double()
    if not len(places):
        return None
    low, high = places.amin(0), places.amax(0)
    spans = (high - low).tolist()
    spans = [max(spans)] * 2 if same_scale else spans
    ranges = []
    for middle, span in zip(((low + high) / 2).tolist(), spans, strict=True):
        half = (0.5 + _MARGIN) * span if span > 0 else max(1.0, abs(middle) * 1e-3)
        ranges.append((middle - half, middle + half))
    return (ranges[0], ranges[1]) if all(map(math.isfinite, (*ranges[0], *ranges[1]))) else None
