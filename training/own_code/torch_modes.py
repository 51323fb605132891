"""torch's modes while code of a person's own runs, which may change any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.backends import cuda

from training.errors import InputError
from training.system.untrusted import escape_unprintable

_ATTRIBUTES = (
    "backends.fp32_precision",
    *(f"backends.cudnn.{name}" for name in ("enabled", "benchmark", "benchmark_limit", "deterministic")),
    *(f"backends.{place}.fp32_precision" for place in ("cudnn", "cudnn.conv", "cudnn.rnn")),
    *(f"backends.{place}.fp32_precision" for place in ("mkldnn", "mkldnn.conv", "mkldnn.rnn")),
    *(f"backends.mkldnn.{name}" for name in ("enabled", "deterministic")),
    *(f"backends.opt_einsum.{name}" for name in ("enabled", "strategy")),
    *(f"backends.cuda.matmul.allow_{name}_reduced_precision_reduction" for name in ("fp16", "bf16")),
    "backends.cuda.matmul.allow_fp16_accumulation",
    "utils.deterministic.fill_uninitialized_memory",
    "backends.cudnn.allow_tf32",
)
"""Of torch: what decides how it computes; not every version has all."""


def _attributes() -> Iterator[tuple[str, Callable[[], Any], Callable[[Any], object]]]:
    for path in _ATTRIBUTES:
        *places, name = path.split(".")
        place: Any = torch
        for each in places:
            place = getattr(place, each, None)
        if hasattr(place, name):
            yield path, partial(getattr, place, name), partial(setattr, place, name)


def _flushes_denormals() -> bool:
    """There is no asking for it, but the smallest number tells."""
    return float(torch.tensor(5e-324, dtype=torch.float64, device="cpu") * 1.0) == 0.0


def _autocast_depth() -> int:
    """How many autocasts are entered. While there is one, torch keeps the weights it has cast, though they change."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _leave_autocast(depth: int) -> None:
    """Leave those entered beyond ``depth``, and let go of the weights they cast."""
    while _autocast_depth() > depth:
        torch.autocast_decrement_nesting()
    torch.clear_autocast_cache()


_MODES: tuple[tuple[str, Callable[[], Any], Callable[[Any], object]], ...] = (
    *_attributes(),  # before the others, some of which write these, too
    ("set_default_dtype", torch.get_default_dtype, torch.set_default_dtype),
    ("set_num_threads", torch.get_num_threads, torch.set_num_threads),
    ("use_deterministic_algorithms", torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    ("set_float32_matmul_precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    ("autograd.set_detect_anomaly", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    ("set_autocast_cache_enabled", torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    ("autocast", partial(torch.is_autocast_enabled, "cpu"), partial(torch.set_autocast_enabled, "cpu")),
    ("autocast", partial(torch.is_autocast_enabled, "cuda"), partial(torch.set_autocast_enabled, "cuda")),
    ("set_autocast_dtype", partial(torch.get_autocast_dtype, "cpu"), partial(torch.set_autocast_dtype, "cpu")),
    ("set_autocast_dtype", partial(torch.get_autocast_dtype, "cuda"), partial(torch.set_autocast_dtype, "cuda")),
    ("autocast", _autocast_depth, _leave_autocast),
    *(
        (f"backends.cuda.enable_{name}_sdp", getattr(cuda, f"{name}_sdp_enabled"), getattr(cuda, f"enable_{name}_sdp"))
        for name in ("flash", "mem_efficient", "math", "cudnn")
    ),
    ("set_flush_denormal", _flushes_denormals, torch.set_flush_denormal),
)
"""What sets each mode in torch, how it is asked for and how it is set."""


@contextmanager
def preserve_modes(path: Path) -> Iterator[None]:
    """Inside, the code of the file ``path`` may set what it likes; afterwards torch computes as before: gradients on or off,
    number formats, threads, determinism. Without that the run, and the next one in this process, would be another. Raises
    InputError for what cannot be put back."""
    device = torch.get_default_device()
    before = [(put, ask()) for _, ask, put in _MODES]
    try:
        with torch.inference_mode(False):  # which puts back all of autograd's own modes when it is left
            yield
    finally:
        for put, value in before:
            put(value)
        with suppress(AssertionError):  # torch's, about a device that was entered besides
            torch.set_default_device(None)  # the program itself never sets one
    if torch.get_default_device() != device:
        raise InputError(
            f"{escape_unprintable(str(path))}: enters a torch.device(...) that it does not leave, and everything after would be made there; "
            "use it in a with statement."
        )


def call_and_compare_modes(model: nn.Module, inputs: Tensor) -> tuple[Any, set[str]]:
    """What ``model`` answers, and which modes are not what they were any more: a step calls it with gradients on, and goes on to the
    backward pass and the next step in the modes it left. A validation has none anyway, and puts back that it had none."""
    before = [ask() for _, ask, _ in _MODES]
    torch.set_grad_enabled(model.training)
    answer = model(inputs)
    changed = {name for (name, ask, _), value in zip(_MODES, before, strict=True) if ask() != value}
    if model.training and torch.is_inference_mode_enabled():
        changed.add("inference_mode")
    elif model.training and not torch.is_grad_enabled():
        changed.add("set_grad_enabled")
    return answer, changed
