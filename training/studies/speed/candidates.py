"""What may make the steps of a configuration faster on a device: settings to try, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import psutil
from pydantic import JsonValue

from training.config import RunConfig
from training.config.diff import Change
from training.config.files import overrides_of
from training.config.sections.data.image_section import ImageSection

FUSED: Final = "fused"
"""What ``only`` calls the form of the optimizer, which is no setting: it is fused wherever PyTorch has that."""


class Candidate(NamedTuple):
    """A setting to try."""

    path: str
    value: JsonValue

    @property
    def override(self) -> str:
        """As ``--set`` takes it."""
        return overrides_of({self.path: self.value})[0]

    @property
    def affects_result(self) -> bool:
        """Whether it is declared to change weights or metrics, if only by rounding."""
        return Change(self.path, None, self.value).affects_result

    def is_set(self, config: RunConfig) -> bool:
        """Whether ``config`` says so already."""
        section, _, name = self.path.partition(".")
        return bool(getattr(getattr(config, section), name) == self.value)


def list_candidates(config: RunConfig, device: str, cores: int | None = None) -> Iterator[Candidate]:
    """All that suit the data and the kind of ``device``, in the order in which they are tried. ``cores`` are the physical ones."""
    cores = cores or psutil.cpu_count(logical=False) or 1
    yield Candidate("loader.mode", "resident")
    yield Candidate("loader.mode", "streamed")
    for workers in dict.fromkeys((0, 1, 2, cores)):
        yield Candidate("loader.workers", workers)
    if isinstance(config.dataset, ImageSection):
        yield Candidate("loader.cache", "on")
        yield Candidate("loader.cache", "off")
    if device == "cpu":
        for threads in dict.fromkeys((1, max(cores // 2, 1), cores)):
            yield Candidate("precision.threads", threads)
    if isinstance(config.dataset, ImageSection):
        yield Candidate("precision.channels_last", "on")
        yield Candidate("precision.channels_last", "off")
    if device == "cpu":
        yield Candidate("precision.compute", "bf16")
    if device == "cuda":
        for compute in ("tf32", "bf16", "fp16"):
            yield Candidate("precision.compute", compute)
        yield Candidate("precision.cuda_graphs", "on")
    yield Candidate("precision.compile", "model")
    yield Candidate("precision.compile", "step")


def list_never_run(config: RunConfig, device: str) -> list[str]:
    """What is tried on NVIDIA GPUs alone, on another kind of ``device``."""
    here = list(list_candidates(config, device))
    there = list_candidates(config, "cuda") if device != "cuda" else ()
    paths = {each.path for each in here} - {"precision.compute"}  # of which one device has more values than another
    missing = (each.override for each in there if each.path not in paths and each not in here)
    return list(dict.fromkeys(missing))


def suits_mode(candidate: Candidate, mode: str) -> bool:
    """Whether it does anything where batches come by ``mode``, "resident" or "streamed"."""
    if candidate.path == "loader.mode":
        return candidate.value != mode
    return mode == "streamed" or candidate.path not in ("loader.workers", "loader.cache")
