"""``[loader]``: how batches are prepared."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import model_validator

from training.config.fields import Section, setting

_speed = partial(setting, affects_result=False)


class Loader(Section):
    """How batches are prepared. But for ``sampling`` and ``drop_last`` none of this changes a run's result."""

    sampling: Literal["shuffle", "balanced"] = setting(
        "shuffle",
        "Sampling",
        "Shuffle: every training sample once an epoch, in a random order. Class-balanced: as many draws, every class equally "
        "often (WeightedRandomSampler), so that samples of rare classes come several times and some of common ones wait for a "
        "later epoch.",
        also="class-balanced sampler oversampling imbalance",
        labels={"balanced": "Class-balanced"},
    )
    drop_last: bool = setting(
        False,
        "Drop last batch",
        "Leave out the last batch of an epoch where it is short (DataLoader: drop_last), so that all batches have the same size; "
        "which samples wait differs from epoch to epoch. Off: it is trained on, and a single sample joins the batch before.",
        also="drop_last incomplete short batch",
        advanced=True,
    )

    mode: Literal["auto", "resident", "streamed"] = _speed(
        "auto",
        "Loading mode",
        "In-memory keeps the whole dataset in memory, Streaming reads it while training; Auto decides by size.",
        also="data loading batches resident streamed",
        labels={"resident": "In-memory", "streamed": "Streaming"},
    )
    workers: int | None = _speed(
        None,
        "Data-loader workers",
        "Processes that read and decode files (DataLoader: num_workers). More helps only when decoding is the bottleneck.",
        placeholder="automatic",
        ge=0,
        le=256,
    )
    prefetch_factor: int = _speed(
        3,
        "Prefetch factor",
        "Batches that each worker reads ahead of their use (DataLoader: prefetch_factor), or the reading thread where there are "
        "no workers. More evens out a disk that is slow now and then, and takes memory for as many batches more; it cannot make "
        "reading itself faster. Data in memory is not read ahead.",
        also="read ahead",
        unit="batches",
        advanced=True,
        ge=1,
        le=1000,
    )
    memory_limit_mb: int | None = _speed(
        None,
        "In-memory limit",
        "Largest dataset kept in memory.",
        unit="MB",
        placeholder="a quarter of free memory",
        advanced=True,
        ge=1,
    )
    cache: Literal["auto", "off", "on"] = _speed(
        "auto",
        "Image cache",
        "Keep decoded images on the disk, so that the next run need not decode them again. Auto does so when decoding takes "
        "more than a moment.",
        also="picture cache",
        advanced=True,
    )
    cache_folder: str | None = _speed(
        None,
        "Image cache folder",
        "Where decoded images are kept; a fast disk of this computer is best.",
        placeholder="the user's cache folder",
        path="folder",
        advanced=True,
    )
    cache_limit_gb: float = _speed(
        50.0,
        "Image cache limit",
        "Most that all cached images may take on the disk; those that were not used for the longest time go first.",
        unit="GB",
        advanced=True,
        gt=0.0,
        le=10.0**6,
    )

    @model_validator(mode="before")
    @classmethod
    def _without_decoder(cls, data: Any) -> Any:
        """Earlier versions could let a GPU decode JPEGs; their files name the setting."""
        return {key: data[key] for key in data if key != "decoder"} if isinstance(data, dict) else data
