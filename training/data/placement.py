"""Resident or streamed: where the samples stay while training, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from training.config.engine import Loader
from training.data.host_memory import host_memory
from training.errors import InputError, in_words

_GPU_SHARE = 0.4
_HOST_SHARE = 0.25
_MOST_SHARE = 0.9  # when resident is asked for


@dataclass(frozen=True)
class Room:
    """Bytes of samples that may stay in the computer's memory, may stay where the model is, and could at the most.

    Measured once, before anything is loaded: a decision must not change because what it decided on now takes its place.
    """

    host: int
    device: int
    most: int
    where: str


def measure_room(loader: Loader, device: torch.device) -> Room:
    """How much room there is now. What goes to a GPU passes through the computer's memory and has to fit there, too."""
    available = host_memory().available
    limit = None if loader.memory_limit_mb is None else loader.memory_limit_mb * 10**6
    host = int(_HOST_SHARE * available) if limit is None else limit
    most = int(_MOST_SHARE * available)
    if device.type != "cuda":
        return Room(host, host, most, "memory")
    free = torch.cuda.mem_get_info(device)[0]
    return Room(host, min(host, int(_GPU_SHARE * free)), min(most, int(_MOST_SHARE * free)), "GPU memory")


@dataclass(frozen=True)
class Placement:
    """``reason`` is a clause for the person, after "resident: " or "streamed: "."""

    mode: Literal["resident", "streamed"]
    reason: str


def place(size: int, what: str, loader: Loader, room: Room) -> Placement:
    """Decide for ``size`` bytes of ``what`` ("pictures"). Raises InputError when resident is asked for and impossible."""
    amount = f"{in_words(size)} of {what}"
    if loader.mode == "streamed":
        return Placement("streamed", f"{amount} are read while training, as the settings ask")
    if loader.mode == "resident":
        if size > room.most:
            raise InputError(
                f"loader.mode: {amount} cannot stay resident; there is room for {in_words(room.most)} in {room.where}.",
                "Choose auto or streamed, or a smaller image size.",
            )
        return Placement("resident", f"{amount} are kept in {room.where}, as the settings ask")
    if size <= room.device:
        return Placement("resident", f"{amount} fit in {room.where} (limit {in_words(room.device)})")
    return Placement("streamed", f"{amount} do not fit in {room.where} (limit {in_words(room.device)})")
