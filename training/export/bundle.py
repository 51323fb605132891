"""What every export starts from: a verified checkpoint as a model in evaluation mode, with the facts around it."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from training.checkpoints.trained import Trained, load_trained
from training.config.sections.objective import Distillation
from training.data.texts.vocabulary import Vocabulary, vocabulary_of
from training.engine.teacher import Teacher, make_teacher
from training.errors import CheckpointError, InputError
from training.export.listings.prepared_tensors import PreparedTensors, prepare_data
from training.runs.folder import RunFolder
from training.runs.records.teachers import became_of

SAMPLES = 16
"""Inputs that every proof compares on."""


class ExportBundle(Trained):
    """A checkpoint ready for export."""

    @property
    def run(self) -> RunFolder:
        """The run the checkpoint was made by; its folder may be gone when the checkpoint was copied elsewhere."""
        return RunFolder(self.checkpoint.parent.parent)

    @property
    def code_file(self) -> Path | None:
        """Where the run keeps its copy of a network that is a person's file."""
        return self.run.code_file

    @cached_property
    def teacher(self) -> Teacher | None:
        """The network that the run learns from, where it distills. Raises InputError when it is gone or became another."""
        objective, known = self.config.objective, self.manifest.teacher
        if not isinstance(objective, Distillation):
            return None
        if known is not None and known.code is None:  # a run that teaches may have a better checkpoint by now
            objective = objective.model_copy(update={"teacher": known.source})
        config = self.config.model_copy(update={"objective": objective})
        teacher = make_teacher(config, self.facts, self.normalization, torch.device("cpu"))
        became = became_of(known, None if teacher is None else teacher.record())
        if became:
            raise InputError(
                f"{next(iter(became))}: {' and '.join(became.values())}, so it is another teacher than the run learned from; put the "
                "old one back."
            )
        return teacher

    @cached_property
    def prepared(self) -> PreparedTensors | None:
        """The samples that go beside a script; None for a kind of data that it reads by itself. Raises InputError when the
        dataset is gone or became another."""
        return prepare_data(self)

    @property
    def vocabulary(self) -> Vocabulary:
        """What the tokens of a language model mean. Raises CheckpointError for what no training wrote."""
        try:
            return vocabulary_of(self.facts)
        except ValueError as error:
            raise CheckpointError(
                f"{self.checkpoint}: its vocabulary is damaged ({error}); choose another checkpoint."
            ) from error

    def samples(self) -> Tensor:
        """(SAMPLES, *shape) seeded inputs as the data holds them: uint8 pixels, or float32 values as spread as the
        training data's."""
        generator = torch.Generator().manual_seed(0)
        facts, size = self.facts, (SAMPLES, *self.facts.shape)
        if facts.layout == "image":
            return torch.randint(0, 256, size, dtype=torch.uint8, generator=generator)
        if facts.layout == "tokens":
            return torch.randint(0, len(facts.names), size, generator=generator)
        mean, std = torch.tensor(self.normalization.mean), torch.tensor(self.normalization.std)
        samples = torch.randn(size, generator=generator) * std + mean
        for column, codes in enumerate(facts.categories):
            if codes:
                samples[..., column] = torch.randint(0, codes, size[:-1], generator=generator).float()
        if self.normalization.missing:
            numbers = [place for place in range(size[-1]) if not (facts.categories and facts.categories[place])]
            samples[::3, ..., numbers[::2]] = math.nan  # gaps, so that they are proven, too
        return samples

    @torch.inference_mode()
    def outputs(self, samples: Tensor) -> Tensor:
        """What the checkpoint's own model answers to ``samples``, as its loss takes it."""
        outputs: Tensor = self.model(self.normalization.apply(samples))
        return outputs

    @torch.inference_mode()
    def logits(self, samples: Tensor) -> Tensor:
        """The same as whoever uses the model wants it, values in their own units: float32."""
        outputs = self.outputs(samples)
        if self.objective.unit_length:
            return torch.nn.functional.normalize(outputs, dim=1)
        spread = self.objective.spread
        return outputs if spread is None else outputs * torch.tensor(spread[1]) + torch.tensor(spread[0])


def load_bundle(checkpoint: Path) -> ExportBundle:
    """Verify ``checkpoint`` and load it. Raises CheckpointError, having loaded nothing, when it is not whole."""
    return ExportBundle(**vars(load_trained(checkpoint)))
