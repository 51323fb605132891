"""``user_dataset`` and ``user_images``: a torch ``Dataset`` that the person wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from training.config.sections.data.own_data import OwnDataSection
from training.data.batching.workers import Reader
from training.data.own.drawing import Drawing
from training.data.own.survey import survey
from training.data.source import Batch, Opening, Reading, Source, number_parts
from training.data.tables.targets import require_trained_classes
from training.own_code.run_file import chosen_arguments, read_agreed


@dataclass(kw_only=True, eq=False)
class OwnSource(Source):
    """Samples of ``drawing``, asked for by number or, where they differ from epoch to epoch, by key."""

    drawing: Drawing

    @property
    def reading(self) -> Reading:
        return "files"

    @property
    def batch_reader(self) -> Reader[Batch]:
        return self.drawing

    def read(self, indices: Tensor) -> Tensor:
        return self.drawing.read(indices)[0]

    def at_epoch(self, indices: Tensor, epoch: int | None) -> Tensor:
        return indices if epoch is None or not self.varies else indices + (epoch + 1) * len(self.targets)

    def name(self, index: int) -> str:
        return self.drawing.name(index)

    def fit(self, train: Tensor) -> Self:
        if self.target == "class":
            require_trained_classes(self.classes, self.targets, train)
        return self


def open_own(dataset: OwnDataSection, opening: Opening) -> OwnSource:
    """Run the file and look at what it gives. Raises InputError, also for a file that nobody agreed to run."""
    signature = read_agreed(dataset, "dataset", opening.code)
    drawing = Drawing(
        path=str(Path(dataset.path)),
        signature=signature,
        arguments=chosen_arguments(dataset, signature),
        image=dataset.layout == "image",
        seed=opening.seed,
        fixed_seed=dataset.split_seed,
    )
    found = survey(drawing, dataset, opening)
    form = drawing.form
    assert form is not None, "the survey tells"
    shape = (form.shape[2], *form.shape[:2]) if drawing.image else form.shape
    collates = drawing.collate is not None
    return OwnSource(
        layout=dataset.layout,
        target=form.target,
        classes=found.classes,
        shape=shape,
        targets=found.targets,
        parts=number_parts({split: len(places) for split, places in drawing.places.items()}),
        notes=found.notes,
        fingerprint=found.fingerprint if opening.check else "",
        varies=dataset.random_samples or collates,
        runs_own_code=True,
        as_given=collates or not dataset.normalize,
        float_pixels=drawing.image and form.dtype == torch.float32,
        drawing=drawing,
    )
