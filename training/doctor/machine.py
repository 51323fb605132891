"""What a machine has to train on, tried and not only asked: torch, its devices, their driver, shared memory."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch

from training.engine.gpu_search import describe_absence, find_obstacle
from training.engine.machine import SHM, find_small_shared_memory, gpu_build, shared_memory
from training.engine.runs.environment import describe_machine
from training.environment import Environment
from training.errors import describe_error, format_bytes, pluralize
from training.events import Finding
from training.findings.machine import GPU, SHARED_MEMORY, TORCH
from training.system.gpus import look_for_nvidia

_SIZE = 64  # of the square matrices that are multiplied
_TOLERANCE = 1e-3  # of float32 sums over 64 products, in another order or in TensorFloat-32


def look_at_machine() -> tuple[Environment, list[Finding]]:
    """What runs are computed on here, and what there is to say of it. An "error" means that they cannot work."""
    machine = describe_machine()
    found = [_torch(machine), *_devices(machine), *_driver(machine)]
    size, small = shared_memory(), find_small_shared_memory()
    if small is not None:
        found.append(small)
    elif size is not None:
        found.append(SHARED_MEMORY.ok(f"{SHM} has {format_bytes(size)}."))
    return machine, found


def _torch(machine: Environment) -> Finding:
    build = gpu_build() or "for the CPU alone"
    processor = f"{machine.processor} ({pluralize(machine.cores or 1, 'core')}, {machine.instructions})"
    memory = format_bytes((machine.memory_mb or 0) * 2**20)
    return TORCH.ok(f"PyTorch {machine.torch} ({build}) on Python {machine.python}, {processor}, {memory} of memory.")


def _devices(machine: Environment) -> Iterator[Finding]:
    kind = "cuda" if torch.cuda.is_available() else "mps"
    for index, name in enumerate(machine.device_names):
        device = torch.device(kind, index)
        fault = _try_product(device)
        if fault:
            title = f"{name} ({device}) cannot be computed on: {fault}"
            yield GPU.find(
                "error", title, "Use another device, or a torch that is built for this one.", place=str(device)
            )
        else:
            yield GPU.ok(f"{name} ({device}) computes what the CPU does.")
    if len(machine.device_names) > 1:
        title = (
            "A run uses one GPU: cuda:0, or the one that precision.device names. The others are free for other runs."
        )
        yield GPU.find("info", title)
    if not machine.device_names:
        yield _explain_none()


def _explain_none() -> Finding:
    """Runs compute on the CPU: as meant, or for want of a GPU."""
    traces = look_for_nvidia()
    obstacle = find_obstacle(traces)
    if obstacle is not None:
        title = f"There is an NVIDIA GPU in this machine, but torch cannot use it: {obstacle.reason}"
        return GPU.find("warning", title, f"{obstacle.remedy} Until then runs compute on the CPU.")
    asked = os.environ.get("CUDA_VISIBLE_DEVICES", "").strip()
    if asked not in ("", "-1"):
        title = f"A GPU is asked for (CUDA_VISIBLE_DEVICES={asked}), and there is none here: runs compute on the CPU."
        return GPU.find(
            "warning",
            title,
            "Check the driver and, in a container, its access to the GPU (--gpus all), or unset the variable.",
        )
    absence = describe_absence(traces)
    return GPU.ok(f"Runs compute on the CPU{f': {absence}' if absence else ''}.")


def _driver(machine: Environment) -> list[Finding]:
    return [GPU.ok(f"The NVIDIA driver is {machine.driver}.")] if machine.driver else []


def _try_product(device: torch.device) -> str:
    """What fails when the device multiplies two matrices; empty for nothing."""
    left = torch.linspace(-1, 1, _SIZE * _SIZE).reshape(_SIZE, _SIZE)
    try:
        there = (left.to(device) @ left.T.to(device)).cpu()
    except RuntimeError as error:
        return describe_error(error)
    wrong = (there - left @ left.T).abs().max().item()
    return "" if wrong < _TOLERANCE else f"a product of matrices is wrong by {wrong:.2g}"
