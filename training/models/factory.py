"""Networks by configuration, with initial weights that are a function of the seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import torch
from torch import Tensor, nn

from training import catalog
from training.config.sections.model import Model, WhitenedCnn
from training.config.sections.pretrained import StartingWeights
from training.config.sections.user_file import UserFile
from training.errors import InputError, format_bytes
from training.facts import DataFacts
from training.models.networks.whitening import WHITENED_IMAGES, whiten
from training.own_code.user_rng import seed_user_rng


def make_model(
    config: Model,
    facts: DataFacts,
    outputs: int,
    seed: int,
    code: Path | None = None,
    begins: bool = False,
    refuse: Callable[[nn.Module], object] = lambda model: None,
) -> nn.Module:
    """The network for such samples that answers ``outputs`` numbers (logits, values) for each of them, or for each of its
    pixels, tokens or items; on the CPU in float32. ``code`` is a run's copy of the file in which a person wrote it; ``begins`` says
    that such a network is to be trained from here on, and may not leave torch in other modes. ``refuse`` may raise for the network without
    its weights (on torch's meta device): to draw those of one that is too large takes minutes.

    The initial weights depend on ``config``, ``facts``, ``outputs`` and ``seed`` alone; the caller's random state is
    as before. Raises InputError when the network cannot take such samples.
    """
    make: Callable[..., nn.Module] = catalog.resolve(catalog.entry("model", config.kind))
    if isinstance(config, UserFile):
        make = partial(make, seed=partial(_seed_all, seed), code=code, begins=begins)
    if not isinstance(config, StartingWeights):  # those have a known size
        with torch.device("meta"):
            unmade = make(config, facts, outputs)
        _refuse_more_than_memory(unmade)
        refuse(unmade)
    with _seed_torch(seed):
        return make(config, facts, outputs)


@contextmanager
def _seed_torch(seed: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which would reach into every GPU's generator as well.
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def _seed_all(seed: int) -> Iterator[None]:
    with _seed_torch(seed), seed_user_rng(seed, "build", 0):
        yield


def fit_to_samples(model: nn.Module, config: Model, samples: Callable[[int], Iterable[Tensor]]) -> None:
    """Fill in what follows from the training samples instead of the seed: the weights of a layer that whitens.

    ``samples(n)`` gives up to n of them, some at a time, float32 on the CPU, normalized but not augmented. A checkpoint
    holds the outcome like any weight, so whoever loads one has no need of this.
    """
    if isinstance(config, WhitenedCnn):
        layer = next(model.children())
        assert isinstance(layer, nn.Conv2d), "made so"
        whiten(layer, samples(WHITENED_IMAGES))


def _refuse_more_than_memory(model: nn.Module) -> None:
    """Raise InputError for a network whose weights alone exceed this machine's memory: the system would not refuse it but
    end the process in the middle of drawing them."""
    size = sum(parameter.nbytes for parameter in model.parameters())
    if size > psutil.virtual_memory().total:
        raise InputError(
            f"model: its weights alone need {format_bytes(size)} of memory, more than this machine has; make it smaller."
        )
