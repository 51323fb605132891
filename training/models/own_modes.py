"""torch's modes while code of a person's own runs, which may change any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from training.errors import InputError
from training.reading import visible

_SWITCHES = (
    "backends.fp32_precision",
    *(f"backends.cudnn.{name}" for name in ("enabled", "benchmark", "benchmark_limit", "deterministic")),
    *(f"backends.{place}.fp32_precision" for place in ("cudnn", "cudnn.conv", "cudnn.rnn")),
    *(f"backends.{place}.fp32_precision" for place in ("mkldnn", "mkldnn.conv", "mkldnn.rnn")),
    *(f"backends.mkldnn.{name}" for name in ("enabled", "deterministic")),
    *(f"backends.opt_einsum.{name}" for name in ("enabled", "strategy")),
    "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
    "backends.cuda.matmul.allow_fp16_accumulation",
    "utils.deterministic.fill_uninitialized_memory",
)
"""Attributes of torch that decide how it computes; not every version has all."""

_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (lambda: torch.backends.cudnn.allow_tf32, lambda value: setattr(torch.backends.cudnn, "allow_tf32", value)),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    (lambda: torch.is_autocast_enabled("cpu"), lambda value: torch.set_autocast_enabled("cpu", value)),
    (lambda: torch.is_autocast_enabled("cuda"), lambda value: torch.set_autocast_enabled("cuda", value)),
    (lambda: _autocast_depth(), lambda depth: _leave_autocast(depth)),
    (torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    (torch.backends.cuda.mem_efficient_sdp_enabled, torch.backends.cuda.enable_mem_efficient_sdp),
    (torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp),
    (torch.backends.cuda.cudnn_sdp_enabled, torch.backends.cuda.enable_cudnn_sdp),
    (lambda: _flushes_denormals(), torch.set_flush_denormal),
)
"""How the others are asked and set."""


@contextmanager
def own_modes(path: Path) -> Iterator[None]:
    """Inside, the code of the file ``path`` may set what it likes; afterwards torch computes as before: gradients on or off,
    number formats, threads, determinism. Without that the run, and the next one in this process, would be another. Raises
    InputError for what cannot be put back."""
    device = torch.get_default_device()
    switches = [(place, name, getattr(place, name)) for place, name in _switches()]
    settings = [(put, ask()) for ask, put in _SETTINGS]
    try:
        with torch.inference_mode(False):  # which puts back all of autograd's own modes when it is left
            yield
    finally:
        for place, name, value in switches:
            setattr(place, name, value)
        for put, value in settings:  # after those: these write some of them, too
            put(value)
        with suppress(AssertionError):  # torch's, about a device that was entered besides
            torch.set_default_device(None)  # the program itself never sets one
    if torch.get_default_device() != device:
        raise InputError(
            f"{visible(str(path))}: enters a torch.device(...) that it does not leave, and everything after would be made there; "
            "use it in a with statement."
        )


def _switches() -> Iterator[tuple[Any, str]]:
    for path in _SWITCHES:
        *places, name = path.split(".")
        place: Any = torch
        for each in places:
            place = getattr(place, each, None)
        if hasattr(place, name):
            yield place, name


def _flushes_denormals() -> bool:
    """There is no asking for it, but the smallest number tells."""
    return float(torch.tensor(5e-324, dtype=torch.float64, device="cpu") * 1.0) == 0.0


def _autocast_depth() -> int:
    """How many autocasts are entered. While there is one, torch keeps the weights it has cast, whoever changes them."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _leave_autocast(depth: int) -> None:
    """Leave those entered beyond ``depth``, and let go of the weights they cast."""
    while _autocast_depth() > depth:
        torch.autocast_decrement_nesting()
    torch.clear_autocast_cache()
