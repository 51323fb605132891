"""Convolutions whose gradients torch gets wrong on CPUs in bf16."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from training.errors import InputError
from training.facts import DataFacts
from training.models.meta_forward import forward_meta

_CONVOLUTIONS = frozenset((torch.conv1d, torch.conv2d, torch.conv3d))


def refuse_long_strides(model: nn.Module, facts: DataFacts) -> None:
    """Raise InputError where a filter's step is longer than what it goes over, as of step 2 over images of a single pixel.

    oneDNN leaves part of such filters' gradients in bf16 as the memory happened to be: huge numbers now and then, and
    never twice the same (torch 2.15; in fp32 they are right). To be seen with glibc's MALLOC_PERTURB_=128.
    """
    found = _LongStrides()
    with found:
        forward_meta(model, facts)
    if found.size is None:
        return
    size = " × ".join(map(str, found.size))
    larger = ", give larger images (dataset.image_size)" if facts.layout == "image" else ""
    raise InputError(
        f"precision.compute: a convolution of this network has a step longer than the {size} values it gets, and torch computes "
        f"its gradients wrongly in bf16 on a CPU; choose fp32{larger} or another network.",
        fix={"precision.compute": "fp32"},
    )


class _LongStrides(TorchFunctionMode):
    """Remembers the size of the input of the first such convolution called inside; None where there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.size: tuple[int, ...] | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _CONVOLUTIONS and self.size is None:
            inputs: Tensor = args[0] if args else kwargs["input"]
            weight: Tensor = args[1] if len(args) > 1 else kwargs["weight"]
            stride = args[3] if len(args) > 3 else kwargs.get("stride", 1)
            size, kernel = tuple(inputs.shape[2 - (inputs.ndim < weight.ndim) :]), weight.shape[2:]
            steps = (stride,) * len(size) if isinstance(stride, int) else tuple(stride)
            if any(step > side and width > 1 for step, side, width in zip(steps, size, kernel, strict=False)):
                self.size = size
        return func(*args, **kwargs)
