"""Shares of dead and of saturated units of each layer, at every n-th step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from training.config.sections.loop import Loop
from training.engine.watches.activations import Activation, find_activations
from training.engine.watches.interval import choose_interval
from training.engine.watches.layer_norms import group_layers
from training.engine.watches.watch import Given
from training.facts import DataFacts
from training.runs.records.columns import Columns
from training.runs.records.units import ACTIVE, SLOPE, unit_columns

ENOUGH = 128
"""Samples, or places of some, from which on it is a matter of the unit, and not of the samples, that it never acts."""
MOST_STEPS = 8
"""That are looked at together where one has fewer samples."""

_PLACES = 1024
"""Of a unit that suffice: of large images, as many samples as have those, and this many at the least:"""
_LEAST_SAMPLES = 16


def make_units(model: nn.Module, facts: DataFacts, loop: Loop, total_steps: int) -> Units | None:
    """What looks at the activations of ``model``, at the steps that the settings ask for; None where it has none."""
    activations = find_activations(model, facts)
    if not activations:
        return None
    samples, every = loop.batch_size * loop.accumulation, loop.layer_norms_every_steps
    if every is None:
        numbers = sum(each.units * each.places * _count_samples(loop.batch_size, each.places) for each in activations)
        look = loop.accumulation * (2e-5 + 2.5e-5 * len(activations) + 0.4e-9 * numbers)
        record = 2e-5 * len(activations) + look * _count_steps(activations, samples)
        every = choose_interval(model, facts, samples, total_steps, record)
    return Units(activations, samples, every)


class Units:
    """Of each layer the shares of its units that pass hardly a gradient on. A unit is a number of a linear layer, or a channel. It is
    judged by all samples of some steps in a row, the last of which is each n-th, or else the first ones of the run; where a run was
    resumed among them, their row is missing.

    Looked at are the inputs of ``activations``, by hooks that are there in the forward passes of those steps alone; not of modules in
    evaluation mode, which torch computes otherwise where there are hooks."""

    file = "units.bin"

    def __init__(self, activations: Sequence[Activation], samples: int, every: int) -> None:
        """``samples``: of a step. ``every``: steps between two rows."""
        layers = group_layers([f"{each.layer}.units" for each in activations])
        self.columns: Columns = unit_columns(tuple(layers))
        self._activations = activations
        self._of_column: dict[int, tuple[list[int], int]] = {}  # which activations, and how many units they have
        for layer, members in enumerate(layers.values()):
            for kind, rectifies in enumerate((True, False)):
                some = [place for place in members if (activations[place].kind.least is not None) is rectifies]
                if some:
                    self._of_column[kind * len(layers) + layer] = some, sum(activations[each].units for each in some)
        self.every = every
        self.steps = max(1, min(_count_steps(activations, samples), every // 2))  # to a row
        self._step: int | None = None  # looked at, and not yet counted
        self._sums: list[_Sum] = []  # of each activation, in that step
        self._kept: list[list[_Sum]] = []  # of the steps before it that go into the same row
        self._last = 0

    def find_next(self, step: int) -> int:
        """As ``Watch`` says."""
        return step if step <= self.steps else step + max(-step % self.every - self.steps + 1, 0)

    def wrap(self, step: int, given: Given) -> Given:
        """As ``Watch`` says."""
        due = self.find_next(step) == step
        self._step = step if due else None
        if not due:
            return given
        self._sums = [_Sum(each) for each in self._activations]
        return given._replace(model=partial(self._forward, given.model))

    def take(self) -> Tensor | None:
        """As ``Watch`` says: of each activation how many units are dead, or saturated; NaN where it was not seen."""
        step, self._step = self._step, None
        if step is None:
            return None
        self._kept = [*(self._kept if self._last == step - 1 else ()), self._sums][-self.steps :]
        self._sums, self._last = [], step
        if len(self._kept) < self.steps or (step != self.steps and step % self.every):
            return None
        kept, self._kept = self._kept, []
        with torch.no_grad():
            return torch.stack([_count_idle(sums) for sums in zip(*kept, strict=True)])

    def fold(self, values: NDArray[np.float32]) -> NDArray[Any]:
        """As ``Watch`` says: shares of a layer's units."""
        folded = np.full((len(values), len(self.columns.names)), np.nan)
        for column, (some, units) in self._of_column.items():
            folded[:, column] = values[:, some].sum(1, dtype=np.float64) / units
        return folded

    def _forward(self, model: Callable[[Tensor], Any], inputs: Tensor) -> Any:
        """``model(inputs)``. The hooks are gone before activation checkpointing computes parts of it again."""
        hooks = []
        by_place: dict[tuple[int, bool], dict[int, _Sum]] = {}
        for each in self._sums:
            activation = each.activation
            if not activation.module.training:
                continue
            calls = by_place.setdefault((id(activation.module), activation.gives), {})
            calls[activation.call] = each
            if len(calls) > 1:
                continue
            counter = _CallCounter(calls)
            if activation.gives:
                hooks.append(activation.module.register_forward_hook(counter.note_output))
            else:
                hooks.append(activation.module.register_forward_pre_hook(counter.note_input))
        try:
            return model(inputs)
        finally:
            for hook in hooks:
                hook.remove()


class _Sum:
    """What the units of ``activation`` did in the forward passes of a step."""

    def __init__(self, activation: Activation) -> None:
        self.activation = activation
        self.places = 0
        self.total: Tensor | None = None  # of each unit: how often it passed nothing on, or its slopes

    @torch.no_grad()
    def add(self, inputs: Tensor) -> None:
        """Look at what goes into the activation, (B, ...)."""
        activation = self.activation
        if inputs.ndim < 2 or inputs.shape[activation.dim] != activation.units:
            return
        some = inputs.detach()[: _count_samples(len(inputs), activation.places)]
        kind = activation.kind
        if kind.least is not None:
            # 1 and 0 in float32: booleans take five times as long to be summed. 0 of NaN.
            each = torch.le(some, kind.least, out=torch.empty(some.shape, dtype=torch.float32, device=some.device))
        else:
            each = 1 - torch.tanh(some.float() * kind.scale).square()
        others = [dim for dim in range(some.ndim) if dim != activation.dim % some.ndim]
        total = each.sum(others)
        self.total = total if self.total is None else self.total + total
        self.places += some.numel() // activation.units


class _CallCounter:
    """A hook that hands on the calls of a module which are to be looked at."""

    def __init__(self, sums: dict[int, _Sum]) -> None:
        self._sums, self._call = sums, 0

    def note_input(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self._note(args[0] if args else None)

    def note_output(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        self._note(output)

    def _note(self, tensor: Any) -> None:
        each = self._sums.get(self._call)
        self._call += 1
        if each is not None and isinstance(tensor, Tensor):
            each.add(tensor)


def _count_samples(samples: int, places: int) -> int:
    """Of a batch of ``samples`` that are looked at, where a unit has ``places`` in each."""
    return min(samples, max(_LEAST_SAMPLES, math.ceil(_PLACES / places)))


def _count_steps(activations: Sequence[Activation], samples: int) -> int:
    """To be looked at together."""
    places = samples * min(each.places for each in activations)
    return min(MOST_STEPS, math.ceil(ENOUGH / places))


def _count_idle(sums: Sequence[_Sum]) -> Tensor:
    """How many units were dead, or saturated, in the steps of ``sums``, those of one activation."""
    totals, places = [each.total for each in sums if each.total is not None], sum(each.places for each in sums)
    if not totals:
        return torch.tensor(math.nan)
    total = totals[0] if len(totals) == 1 else torch.stack(totals).sum(0)
    idle = total < SLOPE * places if sums[0].activation.kind.least is None else total > (1 - ACTIVE) * places
    return idle.sum(dtype=torch.float32)
