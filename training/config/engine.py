"""``[precision] [loop] [loader] [checkpoints]``: how the work is done."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from training.config.fields import Section, setting
from training.config.metrics import METRICS


class Precision(Section):
    """Number formats and the device."""

    compute: Literal["fp32", "tf32", "bf16", "fp16"] = setting(
        "fp32",
        title="Compute in",
        help="fp32 is safe everywhere. tf32 is faster on recent NVIDIA cards, bf16 faster still; fp16 (with a gradient "
        "scaler) is for older cards.",
    )
    device: str = setting(
        "auto",
        title="Device",
        help="auto takes the first GPU, else the processor.",
        suggestions=("auto", "cpu", "cuda", "cuda:1", "mps"),
        pattern=r"^(auto|cpu|mps|cuda(:[0-9]{1,3})?)$",
    )
    channels_last: Literal["auto", "on", "off"] = setting(
        "auto",
        title="Channels last",
        help="Memory order that makes most convolutions faster, on processors too; results agree up to rounding. auto "
        "leaves it out on processors where it is slower: wide layers on small pictures.",
        advanced=True,
    )
    threads: int | None = setting(
        None,
        title="Processor threads",
        help="Threads for the arithmetic. Empty: one where a step is little work, else all physical cores.",
        placeholder="automatic",
        advanced=True,
        ge=1,
        le=1024,
    )
    compile: Literal["off", "model", "step"] = setting(
        "off",
        title="Compile",
        help="Turns the work of a step into machine code before the first one, which takes from seconds to minutes; the next "
        "start is quicker. step: the whole step as one piece, several times faster for tiny models. model: only the "
        "network, for large ones. Results agree up to rounding, in bf16 and fp16 too. Needs a C++ compiler on processors "
        "and Triton on GPUs. torch's reduce-overhead is step with CUDA graphs on; its max-autotune would not resume exactly.",
        advanced=True,
    )
    activation_checkpointing: bool = setting(
        False,
        title="Recompute activations",
        help="Blocks keep only their input and are computed again in the backward pass: far less memory for deep networks and "
        "large batches, at about a third more time. Results are the same to the bit on the CPU.",
        advanced=True,
        affects_result=False,
    )
    cuda_graphs: Literal["auto", "off", "on"] = setting(
        "off",
        title="CUDA graphs",
        help="NVIDIA only: records a step once and replays it, which pays where the processor cannot start the GPU's work "
        "fast enough. auto: for small networks, unless only the network is compiled. Results agree up to rounding.",
        advanced=True,
    )

    @field_validator("channels_last", mode="before")
    @classmethod
    def _as_it_was(cls, value: Any) -> Any:
        """Earlier versions knew true and false, which stand in the files of their runs."""
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


class Loop(Section):
    """How long, how large, and the safety net."""

    epochs: int = setting(5, title="Epochs", help="How often the whole training set is seen.", ge=1, le=10**6)
    max_steps: int | None = setting(
        None,
        title="Step limit",
        help="End after this many steps even if epochs remain; the schedule is laid out over it.",
        unit="steps",
        placeholder="none",
        advanced=True,
        ge=1,
    )
    batch_size: int = setting(
        64,
        title="Batch size",
        help="Samples per forward and backward pass.",
        unit="samples",
        ge=1,
        le=10**6,
        log_scale=True,
    )
    accumulation: int = setting(
        1,
        title="Accumulation",
        help="Batches whose gradients are added up before a step: a larger batch in the same memory.",
        unit="batches",
        ge=1,
        le=10**5,
    )
    clip_norm: float | None = setting(
        1.0,
        title="Clip norm",
        help="Scale the gradient down when its norm exceeds this. 0 or empty: never.",
        placeholder="never",
        ge=0.0,
        log_scale=True,
    )
    clip_value: float | None = setting(
        None,
        title="Clip value",
        help="Limit each gradient element to this size; coarser than clipping the norm.",
        placeholder="never",
        advanced=True,
        gt=0.0,
        log_scale=True,
    )
    validate_every_steps: int | None = setting(
        None,
        title="Validate every",
        help="Validate after this many steps too, besides the end of each epoch.",
        unit="steps",
        placeholder="each epoch",
        advanced=True,
        ge=1,
    )
    validation_batch_size: int | None = setting(
        None,
        title="Validation batch",
        help="Samples per validation batch. Empty: twice the batch size, or more where that is little work.",
        unit="samples",
        placeholder="automatic",
        advanced=True,
        ge=1,
        le=10**6,
    )
    ema_decay: float | None = setting(
        None,
        title="EMA decay",
        help="Keep a moving average of the weights, validate and export that; 0.999 is usual. Empty: off.",
        placeholder="off",
        advanced=True,
        ge=0.0,
        lt=1.0,
    )
    swa_start: float | None = setting(
        None,
        title="SWA from",
        help="Stochastic weight averaging: from this share of the run on, take the equal average of the weights, validate and "
        "export that; 0.75 is usual. Empty: off.",
        placeholder="off",
        advanced=True,
        ge=0.0,
        lt=1.0,
    )
    swa_every_steps: int | None = setting(
        None,
        title="SWA every",
        help="Steps between two of the weights that are averaged.",
        unit="steps",
        placeholder="each epoch",
        advanced=True,
        ge=1,
    )
    swa_lr: float | None = setting(
        None,
        title="SWA rate",
        help="The learning rate while weights are averaged, the same throughout; half of the highest is a good start. Empty: "
        "what the schedule says.",
        placeholder="the schedule's",
        advanced=True,
        gt=0.0,
        le=100.0,
        log_scale=True,
    )
    early_stopping_patience: int | None = setting(
        None,
        title="Early stopping",
        help="End when the monitored metric has not improved for this many validations.",
        unit="validations",
        placeholder="off",
        ge=1,
    )
    early_stopping_min_delta: float = setting(
        0.0,
        title="Smallest gain",
        help="Smaller changes do not count as improvement.",
        advanced=True,
        ge=0.0,
        log_scale=True,
    )
    max_skipped_steps: int = setting(
        20,
        title="Skips in a row",
        help="After this many steps in a row whose gradient was not finite, the run stops or goes back, as the next "
        "setting says.",
        unit="steps",
        advanced=True,
        affects_result=False,
        ge=1,
    )
    after_skips: Literal["stop", "roll_back"] = setting(
        "stop",
        title="After too many skips",
        help="stop ends the run with an explanation. roll_back goes back to the newest checkpoint before the skips and on "
        "with a lower learning rate; the fourth time it ends the run.",
        advanced=True,
    )
    roll_back_factor: float = setting(
        0.5,
        title="Rate after a roll back",
        help="The whole schedule is multiplied by this at each roll back.",
        advanced=True,
        gt=0.0,
        lt=1.0,
    )
    on_out_of_memory: Literal["stop", "smaller_batches"] = setting(
        "stop",
        title="Out of memory",
        help="stop ends the run and proposes what fits. smaller_batches goes on by itself, with the same samples in each "
        "step; batch normalisation and dropout then see smaller batches.",
        advanced=True,
        affects_result=False,
    )


class Loader(Section):
    """How batches are prepared. But for ``sampling`` and ``decoder`` none of this changes a run's result."""

    sampling: Literal["shuffle", "balanced"] = setting(
        "shuffle",
        title="Sampling",
        help="shuffle: every training sample once an epoch, in a random order. balanced: as many draws, every class equally "
        "often, so that samples of rare classes come several times and some of common ones wait for a later epoch.",
    )

    mode: Literal["auto", "resident", "streamed"] = setting(
        "auto",
        title="Batches",
        help="resident keeps the whole dataset in memory, streamed reads it while training; auto decides by size.",
        affects_result=False,
    )
    workers: int | None = setting(
        None,
        title="Workers",
        help="Processes that read and decode files. More helps only when decoding is the bottleneck.",
        placeholder="automatic",
        affects_result=False,
        ge=0,
        le=256,
    )
    decoder: Literal["cpu", "gpu"] = setting(
        "cpu",
        title="Decode JPEGs on",
        help="gpu decodes the JPEGs of a folder on an NVIDIA card, many at a time; all other pictures stay with the "
        "processor. Some pixels differ a little from the processor's, so it is never chosen by itself.",
        advanced=True,
    )
    memory_limit_mb: int | None = setting(
        None,
        title="Memory limit",
        help="Largest dataset kept resident.",
        unit="MB",
        placeholder="a quarter of free memory",
        advanced=True,
        affects_result=False,
        ge=1,
    )
    cache: Literal["auto", "off", "on"] = setting(
        "auto",
        title="Picture cache",
        help="Keep decoded pictures on the disk, so that the next run need not decode them again. auto does so when "
        "decoding takes more than a moment.",
        advanced=True,
        affects_result=False,
    )
    cache_folder: str | None = setting(
        None,
        title="Cache folder",
        help="Where decoded pictures are kept; a fast disk of this computer is best.",
        placeholder="the user's cache folder",
        path="folder",
        advanced=True,
        affects_result=False,
    )
    cache_limit_gb: float = setting(
        50.0,
        title="Cache limit",
        help="Most that all kept pictures may take on the disk; those that were not used for the longest time go first.",
        unit="GB",
        advanced=True,
        affects_result=False,
        gt=0.0,
        le=10.0**6,
    )


class Checkpoints(Section):
    """When to save, and which checkpoint counts as best."""

    every_steps: int | None = setting(
        500,
        title="Save every",
        help="Steps between two saves. Empty: only at the end of each epoch. Where the disk is slower, "
        "training waits for it.",
        unit="steps",
        placeholder="each epoch",
        affects_result=False,
        ge=1,
    )
    keep_last: int = setting(
        3,
        title="Keep",
        help="How many of the newest checkpoints stay on disk; the best one always stays.",
        affects_result=False,
        ge=1,
        le=10**4,
    )
    monitor: str = setting(
        "auto",
        title="Best by",
        help="The metric that decides which checkpoint is best, early stopping and plateaus. auto takes the one that is usual "
        "for the objective.",
        suggestions=("auto", *(f"val/{metric.name}" for metric in METRICS)),
        min_length=1,
    )
