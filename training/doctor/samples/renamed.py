"""Classes that have each other's names from some sample on, as where another person went on or a list of names was sorted again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from training.doctor.samples.looked import Looked
from training.events import Finding
from training.findings.labels import LEAST_LABELS, LEAST_RENAMED, MOST_RENAMED, RENAMED, STILL_NAMED
from training.system.untrusted import escape_unprintable

_SHOWN = 3


def renamed_findings(looked: Looked) -> Iterator[Finding]:
    """By what is learned of the first third, in the order of the data, and asked about the last."""
    model = looked.model
    if model is None or len(looked.labels) < LEAST_LABELS:
        return
    order = np.argsort(looked.trained.numpy(), kind="stable")
    first, last = order[: len(order) // 3], order[-(len(order) // 3) :]
    learned = replace(model, inputs=model.inputs[first], targets=model.targets[first])
    mine, theirs = looked.labels[first], looked.labels[last]
    held, answers = learned.held_out.argmax(1), learned.answer(model.inputs).argmax(1)
    names: dict[int, int] = {}
    for label in np.unique(theirs).tolist():
        counts = np.bincount(answers[last][theirs == label], minlength=model.targets.shape[1])
        other = int(counts.argmax())
        if counts.sum() < LEAST_RENAMED or counts[other] < MOST_RENAMED * counts.sum():
            continue
        if other != label and (mine == label).sum() >= LEAST_RENAMED and _is_known(held, mine, label):
            names[label] = other
    if not names or set(names) != set(names.values()):
        return  # one class that is taken for another may have become like it
    row = int(looked.trained[order[_find_change(answers[order], looked.labels[order], names)]])
    facts = looked.data.facts
    shown = "; ".join(
        f"'{escape_unprintable(facts.names[label], 60)}' is what was '{escape_unprintable(facts.names[other], 60)}'"
        for label, other in list(names.items())[:_SHOWN]
    )
    yield RENAMED.find(
        "warning",
        f"From about {looked.data.source.name(row)} on classes have other names: {shown}, as a simple model tells that learned of the samples before.",
        "Name them alike in all samples: look who or what wrote the labels from there on.",
        evidence={"from": row, "classes": len(names), "looked_at": len(looked.labels)},
    )


def _is_known(held: NDArray[np.int64], labels: NDArray[np.int64], label: int) -> bool:
    """Whether what is learned of some of the first samples finds those of ``label`` among the others of them."""
    return float((held[labels == label] == label).mean()) >= STILL_NAMED


def _find_change(answers: NDArray[np.int64], labels: NDArray[np.int64], names: Mapping[int, int]) -> int:
    """The place from which on the later ``names`` are in use: as many samples with the first ones before it, and with the later behind, as there can be."""
    touched, later = np.isin(labels, list(names)), np.array([names.get(label, -1) for label in labels.tolist()])
    agrees = touched * ((answers == labels).astype(np.int64) - (answers == later))
    place = int(np.concatenate([[0], np.cumsum(agrees)]).argmax())
    return min(place, len(labels) - 1)
