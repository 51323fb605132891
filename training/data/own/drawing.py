"""Samples of a person's own Dataset, each drawn from generators that are seeded for it: by whatever process, they are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.config.rules.signature import FUNCTION
from training.core.own.returned import describe_kind
from training.core.own.samples import (
    OddSample,
    batch_pixels_of,
    numbers_of,
    pair_of,
    pixels_of,
    target_of,
)
from training.data.batching.resident import Notice
from training.data.own.building import COLLATE, Building, at_peace
from training.errors import InputError, LabelRangeError, NonFiniteError
from training.facts import Target
from training.own_code.run_file import tell_fault
from training.system.untrusted import escape_unprintable


@dataclass(frozen=True)
class Form:
    """What every sample is like: the ``shape`` and ``dtype`` of its input, (H, W, C) of images; the shape of its target; the names of
    the classes, () where they are not known yet."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    target: Target
    target_shape: tuple[int, ...]
    classes: tuple[str, ...] = ()


_ERRORS: Mapping[str, type[InputError]] = {"": InputError, "non-finite": NonFiniteError, "label range": LabelRangeError}
"""By the cause of an odd sample."""


@dataclass(kw_only=True)
class Drawing(Building):
    """Draws samples by key. A key is a sample's number, plus as many times the number of all samples as its epoch tells: 0 for what
    does not train, whose draws are always the same, and one more than the epoch."""

    places: dict[str, Tensor] = field(default_factory=dict)
    """int64: the indices in the Dataset of each split that are samples here, one split behind the other."""
    form: Form | None = None
    probes: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Of each split the index of a sample, and its digest: a Dataset that is built again has to give it again."""

    @property
    def count(self) -> int:
        """How many samples there are."""
        return sum(len(places) for places in self.places.values())

    def take_notices(self) -> list[Notice]:
        return []

    def read(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and targets of the int64 (n,) ``keys``, of one epoch: images uint8 or float32 (n, H, W, C) up to 255, with the mask as
        one channel more if that is to be learned, other inputs float32 (n, *shape); targets as ``Source`` says. Raises InputError naming
        the file, the sample and what is odd about it."""
        assert self.form is not None, "asked for after the survey"
        epoch = int(keys[0]) // self.count
        named = [self.locate(int(key) % self.count) for key in keys]
        values = self.values(named, epoch)
        if self.collate is not None:
            inputs, targets = self._make_batch(values, named, epoch)
        else:
            pairs = [self._check(value, *place) for value, place in zip(values, named, strict=True)]
            inputs, targets = (torch.stack(each) for each in zip(*pairs, strict=True))
        if self.form.target == "mask":
            return torch.cat([inputs, targets.unsqueeze(-1).to(inputs.dtype)], dim=-1), torch.empty(len(keys), 0)
        return inputs, targets

    def digest(self, split: str, index: int) -> str:
        """Of one sample that does not train."""
        value = self.values([(split, index)], 0)
        inputs, target = self.single(value[0], split, index)
        return hashlib.sha256(inputs.numpy().tobytes() + target.numpy().tobytes()).hexdigest()

    def single(self, value: Any, split: str, index: int) -> tuple[Tensor, Tensor]:
        """A sample's input and target, checked against the form; where the file collates, as a batch of its own."""
        if self.collate is None:
            return self._check(value, split, index)
        inputs, targets = self._make_batch([value], [(split, index)], 0)
        return inputs[0], targets[0]

    def raw_single(self, value: Any, split: str, index: int) -> tuple[Tensor, Any]:
        """A sample's input, and its target as it is given."""
        if self.collate is not None:
            inputs, targets = self._call_collate([value], [(split, index)], 0)
            return inputs[0], targets[0]
        try:
            given, target = pair_of(value)
            return pixels_of(given) if self.image else numbers_of(given), target
        except OddSample as odd:
            raise self.refusal(odd, split, index) from odd

    def refusal(self, odd: OddSample, split: str, index: int) -> InputError:
        """The sentence about a sample."""
        return _ERRORS[odd.cause](f"{escape_unprintable(self.path)}: sample {index} of {split} {odd}.")

    def _check(self, value: Any, split: str, index: int) -> tuple[Tensor, Tensor]:
        form = self.form
        assert form is not None
        inputs, given = self.raw_single(value, split, index)
        try:
            if tuple(inputs.shape) != form.shape:
                raise OddSample(
                    f"has the shape {self._words(tuple(inputs.shape))}, but the first has {self._words(form.shape)}; make all alike, or write a "
                    f"{COLLATE}(samples) that joins them"
                )
            if inputs.dtype != form.dtype:
                whole, parts = "uint8", "float"
                now, first = (whole, parts) if inputs.dtype == torch.uint8 else (parts, whole)
                raise OddSample(f"is an image of {now}, but the first is one of {first}; make all alike")
            target = target_of(given, form.target, form.classes)
            if tuple(target.shape) != form.target_shape:
                now = " x ".join(map(str, target.shape)) or "one number"
                first = " x ".join(map(str, form.target_shape)) or "one number"
                raise OddSample(f"has a target of {now}, but the first has one of {first}; make all alike")
        except OddSample as odd:
            raise self.refusal(odd, split, index) from odd
        return inputs, target

    def _words(self, shape: tuple[int, ...]) -> str:
        return " x ".join(map(str, (shape[2], *shape[:2]) if self.image else shape))

    def _make_batch(self, values: list[Any], named: Sequence[tuple[str, int]], epoch: int) -> tuple[Tensor, Tensor]:
        form = self.form
        assert form is not None
        inputs, given = self._call_collate(values, named, epoch)
        try:
            targets = torch.stack([target_of(each, form.target, form.classes) for each in given])
            if inputs.dim() != len(form.shape) + 1 or inputs.shape[-1] != form.shape[-1]:
                now, first = (" x ".join(map(str, shape)) for shape in (inputs.shape[1:], form.shape))
                raise OddSample(f"makes samples of {now}, but of the first {first}; pad all to one fixed size")
            if tuple(targets.shape[1:]) != form.target_shape and form.target != "mask":
                raise OddSample("makes targets of another shape than of the first; make all alike")
        except (OddSample, RuntimeError) as odd:
            kind = _ERRORS[odd.cause] if isinstance(odd, OddSample) else InputError
            raise kind(f"{self._of_batch(named)} {odd}.") from odd
        return inputs.to(form.dtype), targets

    def _call_collate(self, values: list[Any], named: Sequence[tuple[str, int]], epoch: int) -> tuple[Tensor, Any]:
        """The inputs of the batch, images (n, H, W, C), and the targets as they are given."""
        collate = self.collate
        assert collate is not None
        with at_peace(Path(self.path)):
            self.seed_for(" ".join(f"{split} {index}" for split, index in named), -2, epoch)
            try:
                made = collate(values)
            except Exception as error:
                told = tell_fault(error, Path(self.path), f"{COLLATE} of {self._which(named)}")
                raise InputError(f"{told} Correct the file.") from error
        try:
            if not isinstance(made, tuple | list) or len(made) < 2:
                raise OddSample(f"returns {describe_kind(made)}; return (inputs, targets)")
            inputs = batch_pixels_of(made[0]) if self.image else numbers_of(made[0])
            targets = made[1]
            if inputs.dim() == 1:
                inputs = inputs.unsqueeze(1)
            for what, found in (("inputs", inputs), ("targets", targets)):
                size = len(found) if hasattr(found, "__len__") and getattr(found, "ndim", 1) != 0 else None
                if size != len(values):
                    told = "no batch of targets" if size is None else f"{size} {what}"
                    raise OddSample(f"makes {told} of {len(values)} samples; return one of each, the batch first")
        except OddSample as odd:
            raise InputError(f"{self._of_batch(named)} {odd}.") from odd
        return inputs, targets

    def _of_batch(self, named: Sequence[tuple[str, int]]) -> str:
        return f"{escape_unprintable(self.path)}: {COLLATE} of {self._which(named)}"

    @staticmethod
    def _which(named: Sequence[tuple[str, int]]) -> str:
        split, first = named[0]
        return f"sample {first} of {split}" + (f" and {len(named) - 1} more" if len(named) > 1 else "")

    def locate(self, number: int) -> tuple[str, int]:
        """The split and the index of a sample."""
        for split, places in self.places.items():
            if number < len(places):
                return split, int(places[number])
            number -= len(places)
        raise IndexError(number)

    def name(self, number: int) -> str:
        split, index = self.locate(number)
        return f"sample {index} of {split}"

    def after_building(self, split: str) -> None:
        if self.form is None or split not in self.probes:
            return
        index, digest = self.probes[split]
        if self.digest(split, index) != digest:
            raise InputError(
                f"{escape_unprintable(self.path)}: sample {index} of {split} is another one when {FUNCTION} is called again; draw random numbers with torch, "
                "random or np.random, which are seeded, not from a generator of its own."
            )
