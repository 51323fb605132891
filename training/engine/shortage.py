"""How it is with the memory when it runs out, in words."""

from __future__ import annotations

import re

import psutil
import torch

from training.engine.device import describe_device, ran_out_of_memory
from training.engine.ranks.group import OutOfMemoryElsewhere, Ranks
from training.errors import format_bytes
from training.system.host_memory import host_memory

_ASKED = re.compile(r"tried to allocate ([\d.]+) (bytes|KiB|MiB|GiB)", re.IGNORECASE)
_UNITS = {"bytes": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def describe_memory(error: BaseException, device: torch.device) -> str:
    """How much memory there is, is in use and was asked for, as a clause; "" where ``error`` is not of memory."""
    if not ran_out_of_memory(error):
        return ""
    if isinstance(error, OutOfMemoryElsewhere):
        return error.shortage
    asked = _parse_request(error)
    more = f", and {format_bytes(asked)} more were asked for" if asked else ""
    if _on_device(error, device):
        free, total = torch.cuda.mem_get_info(device)
        own = format_bytes(torch.cuda.memory_allocated(device))
        return f"{format_bytes(total - free)} of the {format_bytes(total)} of {describe_device(device)} were in use, {own} of them by its process{more}"
    host = host_memory()
    own = format_bytes(psutil.Process().memory_info().rss)
    used = format_bytes(host.total - host.available)
    return f"{used} of the {format_bytes(host.total)} {host.bound} were in use, {own} of them by its process{more}"


def name_rank(error: BaseException, ranks: Ranks) -> str:
    """Which of ``ranks`` is out of memory by ``error``, "rank 1 of 2"; "" where there is but one."""
    return error.who if isinstance(error, OutOfMemoryElsewhere) else ranks.name(ranks.rank)


def _parse_request(error: BaseException) -> float:
    found = _ASKED.search(str(error))
    return float(found[1]) * _UNITS[found[2].lower()] if found else 0.0


def _on_device(error: BaseException, device: torch.device) -> bool:
    """Whether the GPU's memory is meant and not the computer's, which a run on a GPU can use up, too."""
    return device.type == "cuda" and not isinstance(error, MemoryError) and "CPUAllocator" not in str(error)
