"""The proofs of a run on its page: the verdict of each, and the training losses of both arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from training.config.files import overrides_of
from training.report.chart import Curve, Drawing, line_drawing
from training.report.measured import shorten
from training.runs.folder import RunFolder
from training.runs.records.proofs import ArmResult, Proof, read_proofs

MOST_PROOFS: Final = 6


class ProofRow(NamedTuple):
    """``words`` are the verdict's, ``about`` says what was compared and from where."""

    words: str
    about: str
    drawing: Drawing


def describe_proofs(run: RunFolder) -> Iterator[ProofRow]:
    """The newest, oldest first."""
    for proof in read_proofs(run)[-MOST_PROOFS:]:
        named = f"{proof.finding}: " if proof.finding else ""
        about = f"{named}{', '.join(overrides_of(proof.fix))}. {' '.join((proof.started, *proof.notes))}"
        yield ProofRow(shorten(proof.sentence, 400), shorten(about, 900), _draw(proof))


def _draw(proof: Proof) -> Drawing:
    """Both arms' losses: faintly on each order of the data, and over them their means."""
    arms = (
        ("As the run is", [each.without for each in proof.orders]),
        ("With the change", [each.with_ for each in proof.orders]),
    )
    curves = [curve for color, (label, some) in enumerate(arms) for curve in _draw_arm(label, color, some, proof)]
    positive = all((curve.y[np.isfinite(curve.y)] > 0).all() for curve in curves)
    return line_drawing("Training loss of both arms", "Step", "Training loss", curves, log_y=positive)


def _draw_arm(label: str, color: int, arms: Sequence[ArmResult], proof: Proof) -> Iterator[Curve]:
    length = min((len(arm.losses) for arm in arms), default=0)
    if not length:
        return
    losses = np.array([arm.losses[:length] for arm in arms], np.float64)
    steps = proof.start + 1.0 + np.arange(length, dtype=np.float64)
    for each in losses if len(losses) > 1 else ():
        yield Curve(label, color, steps, each, "raw")
    yield Curve(label, color, steps, losses.mean(0))
