"""Networks by configuration, with initial weights that are a function of the seed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from training import catalog
from training.config.model import Mlp, SmallCnn, TorchvisionModel

Shape = tuple[int, ...]


def make_model(config: SmallCnn | Mlp | TorchvisionModel, shape: Shape, classes: int, seed: int) -> nn.Module:
    """The network for samples of ``shape`` (without the batch) and ``classes`` logits, on the CPU in float32.

    The initial weights depend on ``config``, ``shape``, ``classes`` and ``seed`` alone; the caller's random state is
    as before. Raises InputError when the network cannot take such samples.
    """
    make: Callable[..., nn.Module] = catalog.resolve(catalog.entry("model", config.kind))
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which would reach into every GPU's generator as well.
        torch.default_generator.manual_seed(seed)
        return make(config, shape, classes)
