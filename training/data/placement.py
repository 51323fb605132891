"""Resident or streamed: where the samples stay while training, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import psutil
import torch

from training.config.engine import Loader
from training.errors import InputError

_GPU_SHARE = 0.4
_HOST_SHARE = 0.25
_HOST_MOST = 0.9  # when resident is asked for


@dataclass(frozen=True)
class Placement:
    """``reason`` is a clause for the person, after "resident: " or "streamed: "."""

    mode: Literal["resident", "streamed"]
    reason: str


def place(size: int, what: str, loader: Loader, device: torch.device) -> Placement:
    """Decide for ``size`` bytes of ``what`` ("pictures"). Raises InputError when resident is asked for and impossible."""
    amount = f"{in_words(size)} of {what}"
    if loader.mode == "streamed":
        return Placement("streamed", f"{amount} are read while training, as the settings ask")
    free, where = _free(device)
    if loader.mode == "resident":
        if size > _HOST_MOST * free:
            raise InputError(
                f"loader.mode: {amount} cannot stay resident; {in_words(free)} of {where} are free.",
                "Choose auto or streamed, or a smaller image size.",
            )
        return Placement("resident", f"{amount} are kept in {where}, as the settings ask")
    own_memory = device.type == "cuda" and loader.memory_limit_mb is None
    limit = int(_GPU_SHARE * free) if own_memory else host_limit(loader)
    if size <= limit:
        return Placement("resident", f"{amount} fit in {where} (limit {in_words(limit)})")
    return Placement("streamed", f"{amount} do not fit in {where} (limit {in_words(limit)})")


def host_limit(loader: Loader) -> int:
    """Bytes of samples that may stay in the computer's memory."""
    if loader.memory_limit_mb is not None:
        return loader.memory_limit_mb * 10**6
    return int(_HOST_SHARE * psutil.virtual_memory().available)


def in_words(size: float) -> str:
    """``5.2 GB``"""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB" if size < 999.5 else f"{size:.0f} TB"


def _free(device: torch.device) -> tuple[int, str]:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0], "GPU memory"
    return psutil.virtual_memory().available, "memory"
