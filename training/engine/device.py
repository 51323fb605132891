"""The device, number formats and repeatability of a run."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import psutil
import torch
from torch import nn
from torch.amp.grad_scaler import GradScaler

from training.config.sections.precision import Precision
from training.engine.gpu_search import explain_missing
from training.errors import ConfigError, Problem
from training.facts import DataFacts
from training.models.flops import filter_use, step_flops
from training.system.gpus import look_for_nvidia
from training.system.host_memory import host_memory

OUT_OF_MEMORY = (
    "out of memory",  # CUDA outside the allocator, MPS
    "not enough memory",  # torch's allocator on Windows
    "allocate memory",  # and elsewhere: "can't", "Cannot"
    "bad_alloc",  # C++
    "alloc_failed",  # cuBLAS, cuDNN
    "bad allocation",
)
"""What libraries say, in lower case, when they are refused memory."""

TINY_MODEL = 100_000
"""Parameters below which a network is so small that each launch counts."""

WORTH_THREADS = 50e6
"""Floating-point operations of a step from which on more than one thread pays.

``python -m tests.benchmarks.threads`` on two cores, the time of a step with two threads over that with one. MLPs: 1.27 at
1.7 million, 1.00 at 6.5, 0.83 at 26, 0.76 at 51, 0.65 at 102, 0.58 at 203. Small CNNs: 1.32 at 14, 1.01 at 56, 0.90 at
100, 0.59 at 222. Where other programs want the cores too, a second thread loses several times what it gains here, so
the border is where the gain begins to be worth that.
"""

WORTH_CHANNELS_LAST = 400.0
"""Uses of a filter's weight in a step (``wants_channels_last``) from which on the order pays on a CPU."""


@dataclass(frozen=True)
class AutoSettings:
    """What the settings leave to the program, as it was chosen before; None is to be chosen now."""

    threads: int | None = None
    channels_last: bool | None = None
    normalization: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Mean and spread that the weights which will be loaded were trained with."""


ALL_AUTO = AutoSettings()


def choose_device(name: str) -> torch.device:
    """The torch device meant by ``precision.device``; raises ConfigError when this machine has no such device."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", 0)
        return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")
    if name == "mps" and not torch.backends.mps.is_available():
        raise ConfigError([Problem("precision.device", "this machine has no Apple GPU; use auto or cpu.")])
    if name.startswith("cuda"):
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        index = int(name.partition(":")[2] or 0)
        if count == 0:
            raise ConfigError([Problem("precision.device", explain_missing(look_for_nvidia()))])
        if index >= count:
            raise ConfigError([Problem("precision.device", f"there is no GPU {index}; this machine has {count}.")])
        return torch.device("cuda", index)
    return torch.device(name)


def replace_missing_device(name: str) -> tuple[str, str]:
    """``name`` where this machine has that device; else the device that takes its place, and a sentence that says so.

    For runs that began elsewhere: one that is resumed goes on with what there is.
    """
    try:
        choose_device(name)
    except ConfigError as error:
        same_kind = name.startswith("cuda") and torch.cuda.is_available()
        other = choose_device("cuda" if same_kind else "auto")
        missing = error.problems[0].message.rstrip(".")
        return str(other), f"The run asks for {name}, but {missing}. It goes on on {describe_device(other)}."
    return name, ""


def describe_device(device: torch.device) -> str:
    """A name a person recognizes, such as "NVIDIA H100 (cuda:0)"."""
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)} ({device})"
    return {"cpu": "CPU", "mps": "Apple GPU"}.get(device.type, str(device))


def total_memory(device: torch.device) -> tuple[int, str]:
    """The bytes of memory that ``device`` has in all, in use or not, and how a sentence calls them: "of NVIDIA H100 (cuda:0)"."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1], f"of {describe_device(device)}"
    host = host_memory()  # which Apple's GPUs share
    return host.total, host.bound


def list_devices() -> list[str]:
    """Names that ``precision.device`` accepts on this machine."""
    found = ["cpu"]
    if torch.cuda.is_available():
        found += [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append("mps")
    return found


def choose_threads(
    requested: int | None, model: nn.Module, facts: DataFacts, batch_size: int, processes: int = 1
) -> int:
    """Threads for arithmetic: as asked; else one where a step over ``batch_size`` samples is little work,
    else all physical cores this process may use, shared with the other ``processes`` of the run on this machine.

    A function of the configuration and the machine only, because another number of threads sums in another order.
    """
    if requested is not None:
        return requested
    if step_flops(model, facts, batch_size, enough=WORTH_THREADS) < WORTH_THREADS:
        return 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, min(usable, psutil.cpu_count(logical=False) or usable) // processes)


def wants_channels_last(asked: str, model: nn.Module, facts: DataFacts, batch_size: int, device: str) -> bool:
    """Whether images and filters lie in memory channels last: as asked; by "auto" always, but for a CPU whose
    steps over ``batch_size`` images use each filter's weights rarely: turning filters over costs so much a
    step, however little is computed with them.

    A function of configuration and device only, because another order sums in another order. Measured on two cores, the
    time of a step channels last over that of channels first, by uses of a weight: ResNet-18 at 32x32 and 64x64 54: 1.27,
    108: 1.17, 213: 1.09, 425: 1.01; ResNet-50 at 32x32 114: 1.06; VGG-11 530: 0.98, 2,100: 0.96; small CNNs, with thousands
    of uses, 0.59 to 0.75. Grouped convolutions gain whatever there is: MobileNetV2 45: 0.50, 179: 0.38; EfficientNet 65: 0.74.
    """
    if asked != "auto" or device != "cpu":
        return asked != "off"
    if any(layer.groups > 1 for layer in model.modules() if isinstance(layer, nn.Conv2d)):
        return True
    return filter_use(model, facts) * batch_size >= WORTH_CHANNELS_LAST


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` is torch's or Python's way of saying so; on CPUs and in libraries there are only words."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError | OSError) and any(words in text for words in OUT_OF_MEMORY)


def apply_backends(precision: Precision, deterministic: bool) -> None:
    """Set torch's process-wide switches; kernels are never picked by timing, which would differ between runs."""
    torch.set_float32_matmul_precision("high" if precision.compute == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision.compute == "tf32"
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = deterministic
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if deterministic or "torch._inductor" in sys.modules:
        torch.use_deterministic_algorithms(deterministic)
    else:  # the same without importing the compiler, which it tells, too: a second's work
        torch.set_deterministic_debug_mode("default")


class Numerics:
    """How forward and backward compute: autocast and, for fp16, the gradient scaler."""

    def __init__(self, precision: Precision, device: torch.device) -> None:
        self.device = device
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision.compute)
        if dtype is torch.bfloat16 and device.type == "cuda" and not torch.cuda.is_bf16_supported():
            raise ConfigError([Problem("precision.compute", "this GPU has no bf16; use fp16 or fp32.")])
        self.scaler = GradScaler(device.type, enabled=dtype is torch.float16)
        self.autocast: Callable[[], AbstractContextManager[object]] = (
            contextlib.nullcontext if dtype is None else lambda: torch.autocast(device.type, dtype=dtype)
        )
