"""A copy of a network to be asked things, and the real samples that it is asked about."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn

from training.config.sections.objective import OwnLoss
from training.config.sections.user_file import UserFile
from training.data.batching.batches import Batch
from training.engine.recovery.replay import preserve_state
from training.engine.session import Session
from training.engine.watches.interval import SECONDS_PER_FLOP
from training.models.flops import step_flops
from training.objectives import Objective
from training.system.untrusted import escape_unprintable

Layer = nn.Linear | nn.modules.conv._ConvNd
"""What has a matrix or filters of weights."""
BATCHES, LEAST_SAMPLES, MOST_SAMPLES = 4, 8, 128
"""How many of the run's first batches are taken, and of each how many samples."""


@dataclass(frozen=True)
class Look:
    """``model`` is a copy, weights, buffers and a person's own attributes, to do with as one likes: the run's own is never called. So is
    the loss of ``objective``, where a person wrote it."""

    session: Session
    model: nn.Module
    objective: Objective
    batches: tuple[Batch, ...]

    @property
    def is_own(self) -> bool:
        """Whether a person wrote the network."""
        return isinstance(self.session.config.model, UserFile)

    @property
    def has_own_loss(self) -> bool:
        return isinstance(self.session.config.objective, OwnLoss)

    @cached_property
    def initial(self) -> dict[str, Tensor]:
        """Weights and buffers as they were."""
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def restore(self) -> None:
        """Put weights and buffers back, forget gradients."""
        with torch.no_grad():
            for name, value in self.model.state_dict().items():
                value.copy_(self.initial[name])
        for parameter in self.model.parameters():
            parameter.grad = None

    def inputs(self, most: int) -> Tensor:
        """Of the first batch at most so many; each batch of real samples has at least one."""
        return self.batches[0].inputs[:most]

    @torch.no_grad()
    def answer(self, inputs: Tensor, training: bool = False) -> Tensor:
        """float32, in the mode asked for."""
        self.model.train() if training else self.model.eval()
        found: Tensor = self.model(inputs)
        return found.float()

    def noise(self, like: Tensor, size: float = 1.0) -> Tensor:
        """Normal noise of the shape of ``like``; of tokens, tokens drawn at random. Numbers that may be looked up in a table stay such
        as there are: a GPU that is asked for a row that no table has is lost to the whole process."""
        generator = torch.Generator().manual_seed(7)
        facts = self.session.data.facts
        if not like.is_floating_point():
            return torch.randint(0, len(facts.names), like.shape, generator=generator).to(like.device)
        drawn = torch.randn(like.shape, generator=generator).to(like) * size
        if self.may_look_up(like):
            return like.roll(1, 0)
        if any(facts.categories):
            coded = torch.tensor([codes > 0 for codes in facts.categories], device=like.device)
            return torch.where(coded, like.roll(1, 0), drawn)
        return drawn

    def may_look_up(self, inputs: Tensor) -> bool:
        """Whether a person's own network, on a GPU, may take whole numbers among the ``inputs`` for places in a table."""
        return self.is_own and inputs.device.type == "cuda" and bool((inputs == inputs.round()).flatten(1).all(0).any())


@contextmanager
def look_at(session: Session, seconds: float, must: bool) -> Iterator[Look]:
    """Inside, the copy may be run and changed; afterwards the run is what it was to the bit: its weights, buffers, gradients, modes and
    random numbers. A person's own code draws numbers of its own meanwhile. The batches are the first of the run, not varied, of
    so many samples as go through the network and back in ``seconds``, and none where that is next to none, unless it ``must`` be looked."""
    data = session.data
    with preserve_state(session), session.seed_user_code("probe"):
        torch.manual_seed(0)
        model, objective = copy.deepcopy(session.model), session.objective
        if isinstance(session.config.objective, OwnLoss):
            objective = replace(objective, loss=copy.deepcopy(objective.loss))
        steps = range(min(BATCHES, data.steps_per_epoch))
        enough = seconds / SECONDS_PER_FLOP
        size = int(enough / max(1.0, step_flops(model, data.facts, BATCHES, enough)))
        size = LEAST_SAMPLES if must and size < LEAST_SAMPLES else min(size, MOST_SAMPLES)
        numbers = [data.window_samples(0, step)[:size] for step in steps] if size >= LEAST_SAMPLES else []
        batches = tuple(map(data.take, numbers))
        look = Look(session, model, objective, batches)
        assert look.initial is not None  # taken before anything changes
        yield look


Call = tuple[str, nn.Module, tuple[Tensor, ...], tuple[Tensor, ...]]
"""A module that ended: its name, itself, the tensors that went in and those that came out."""


@contextmanager
def record_calls(model: nn.Module, tensors: bool = True) -> Iterator[list[Call]]:
    """What each module was given and made of it (without ``tensors`` only that it was called), in the order in which they end: parts
    before what they are parts of."""
    calls: list[Call] = []

    def leave(name: str, module: nn.Module, inputs: Any, outputs: Any) -> None:
        calls.append((name, module, _tensors(inputs), _tensors(outputs)) if tensors else (name, module, (), ()))

    handles = [
        module.register_forward_hook(partial(leave, name))
        for name, module in model.named_modules()
        if not isinstance(module, torch.jit.ScriptModule)
    ]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _tensors(value: Any) -> tuple[Tensor, ...]:
    """Copies, as a later module may work in place."""
    if isinstance(value, Tensor):
        return (value.detach().clone(),)
    if isinstance(value, tuple | list):
        return tuple(each for part in value for each in _tensors(part))
    return tuple(each for part in value.values() for each in _tensors(part)) if isinstance(value, dict) else ()


def describe_module(name: str, module: nn.Module) -> str:
    """What a sentence calls it: "layers.2 (Softmax)", "the network (Net)" for the whole."""
    kind = type(module).__name__
    return escape_unprintable(f"{name} ({kind})" if name else f"the forward of {kind}", 120)


def measure_gain(layer: Layer) -> float:
    """The root mean square of a layer's weights times the root of their inputs: 0.58 as torch draws them, 1.41 as He does."""
    weight: Tensor = layer.weight.detach().float()
    return float(weight.square().mean().sqrt()) * math.sqrt(weight[0].numel())


def find_producer(
    one: list[Call], other: list[Call], is_same: Callable[[Tensor, Tensor], bool]
) -> tuple[str, nn.Module] | None:
    """The first module to end whose inputs are the same in two passes, and whose outputs are not: the innermost that makes the
    difference. None where the passes do not go through the same modules."""
    for (name, module, given, made), (again, _, given_again, made_again) in zip(one, other, strict=False):
        if name != again or len(given) != len(given_again) or len(made) != len(made_again):
            return None
        if not all(map(is_same, made, made_again)) and all(map(is_same, given, given_again)):
            return name, module
    return None
