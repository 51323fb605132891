"""How long the laboratory will take: said before its first step, by warm steps of each kind, and with what makes it slow."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil
import torch

from training.config import RunConfig
from training.doctor.run_time import WARM, measure_run_time
from training.engine.assemble import assemble
from training.errors import ConfigError, InputError, format_duration
from training.protocol.answers import RunTime

NAMED_SHARE = 0.1
"""Of MNIST: the seven steps stay under ``LIMIT`` on two cores (6 min 59 s on two that others kept busy, load 9 to 12)."""
LIMIT = 600.0
"""Seconds, which the references give the laboratory."""
_SLOWER = 1.2  # a step in 16 bits that takes so many times as long is told of
_LONGEST_START = 30.0


@dataclass(frozen=True)
class Timed:
    """A step that is to be trained, and how long its parts take."""

    config: RunConfig
    run_time: RunTime

    @property
    def seconds(self) -> float:
        """Of all steps and validations."""
        return self.run_time.seconds


def describe_expected_time(configs: Sequence[RunConfig], share: float) -> str:
    """Sentences on how long the runs of ``configs`` will take on this machine as it is now; "" where there are none. Alike
    steps are timed once; where one cannot be assembled, that is said instead. ``share`` is that of the data of which a
    smaller one may be advised, 0 for none."""
    start = min(time.time() - psutil.Process().create_time(), _LONGEST_START)  # what each process needs to begin, too
    if not configs:
        return ""
    try:
        timed = _time_all(configs)
    except (ConfigError, InputError) as error:
        return f"How long this takes is not known: {error}"
    starts = len(timed) + 1  # the last is killed and started again
    training = sum(each.seconds for each in timed)
    whole = training + start * starts
    words = (
        f"This takes about {format_duration(whole)}, by {WARM} warm steps of each kind and {format_duration(start)} for the "
        f"start of each of {starts} processes."
    )
    words += _describe_slow_halves(timed)
    if whole > LIMIT:
        fitting = int(100 * share * (0.9 * LIMIT - start * starts) / training) / 100
        if 0 < fitting < share:
            words += f" --share {fitting:g} stays under {LIMIT / 60:.0f} minutes here, as busy as the machine is now."
    return words


def _time_all(configs: Sequence[RunConfig]) -> list[Timed]:
    known: dict[tuple[object, ...], RunTime] = {}
    timed = []
    for config in configs:
        kind = (config.loop.batch_size, config.loop.accumulation, config.precision.compute)
        if kind not in known:
            session = assemble(config, lambda *_: None)
            try:
                measured = measure_run_time(session)
            finally:
                session.data.close()
            assert measured is not None  # patience has no end
            known[kind] = measured
        timed.append(Timed(config, known[kind]))
    return timed


def _describe_slow_halves(timed: Sequence[Timed]) -> str:
    """Where 16 bits are slower than 32 in the same batches, or " "."""
    for half in timed:
        compute, loop = half.config.precision.compute, half.config.loop
        if compute not in ("bf16", "fp16"):
            continue
        single = [each for each in timed if each.config.precision.compute == "fp32" and each.config.loop == loop]
        if single and (ratio := half.run_time.step / single[0].run_time.step) > _SLOWER:
            return (
                f" A step in {compute.upper()} takes {ratio:.1f} times as long as in FP32. {describe_instructions(compute)} "
                "--set precision.compute=fp32 does without it."
            )
    return ""


def describe_instructions(compute: str) -> str:
    """Whether this processor itself computes in ``compute`` ("bf16" or "fp16"), or imitates it."""
    if has_instructions(compute):
        return f"This processor has instructions for {compute.upper()}."
    return f"This processor has no instructions for {compute.upper()} and imitates it."


def has_instructions(compute: str) -> bool:
    """Whether oneDNN, which computes torch's layers on processors, finds instructions for 16 bits of this kind."""
    if not torch.backends.mkldnn.is_available():
        return False
    if compute == "fp16":
        return bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())
    if platform.machine().lower() in ("x86_64", "amd64"):  # there torch's own question is answered yes by any AVX512
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
