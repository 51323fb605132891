"""Resident or streamed: where the samples stay while training, and why; and made data that would not fit."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from training.config import RunConfig
from training.config.sections.data.toys import ToySection
from training.config.sections.loader import Loader
from training.data_report import Placement
from training.errors import InputError, format_bytes
from training.system.host_memory import host_memory

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


def place(size: int, what: str, loader: Loader, room: Room) -> Placement:
    """Decide for ``size`` bytes of ``what`` ("images"). Raises InputError when resident is asked for and impossible."""
    amount = f"{format_bytes(size)} of {what}"
    if loader.mode == "streamed":
        return Placement(mode="streamed", bytes=size, reason=f"{amount} are read while training, as the settings ask")
    if loader.mode == "resident":
        if size > room.most:
            raise InputError(
                f"loader.mode: {amount} cannot be kept in memory; there is room for {format_bytes(room.most)} in {room.where}.",
                "Choose auto or streamed, or a smaller image size.",
            )
        return Placement(mode="resident", bytes=size, reason=f"{amount} are kept in {room.where}, as the settings ask")
    limit = f"in {room.where} (limit {format_bytes(room.device)})"
    if size <= room.device:
        return Placement(mode="resident", bytes=size, reason=f"{amount} fit {limit}")
    return Placement(mode="streamed", bytes=size, reason=f"{amount} do not fit {limit}")


MADE_AT_ONCE = 1 << 14
_WHILE_MADE = 6 * 8  # bytes: what a number takes while it is drawn, from its place to float64
_KEPT = 4
_TARGET = 3 * 4  # of a number to predict: all of them, and those of the parts
_EACH = 112  # of a sample: its number, its class, its place in the parts and in the order
_COMFORTABLE = 0.2  # of the memory that is free


def refuse_too_much_made(config: RunConfig) -> None:
    """Raise InputError where made data needs more memory than there is: it is drawn sample by sample, and would take hours
    before anybody said so. Who would rather wait in each epoch says so: streamed data is not kept."""
    dataset = config.dataset
    if not isinstance(dataset, ToySection):
        return
    size = dataset.samples * dataset.numbers * _KEPT
    streamed = min(dataset.samples, MADE_AT_ONCE) * dataset.numbers * _WHILE_MADE
    streamed += dataset.samples * (_EACH + dataset.target_numbers * _TARGET)
    free, need = host_memory().available, streamed + (size if config.loader.mode != "streamed" else 0)
    if need <= free:
        return
    fewer = int(_COMFORTABLE * free / (dataset.numbers * (_KEPT + _WHILE_MADE)))
    way = ", or set loader.mode to streamed to make them again in each epoch" if streamed <= free else ""
    raise InputError(
        f"dataset.samples: {dataset.samples:,} samples of {dataset.numbers:,} numbers take {format_bytes(need)}, but only "
        f"{format_bytes(free)} of memory are free; take fewer samples or smaller ones{way}.",
        fix={"dataset.samples": fewer} if fewer >= 30 else {},
    )
