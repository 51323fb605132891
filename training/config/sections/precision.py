"""``[precision]``: number formats and the device."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from training.config.fields import Section, advanced, setting


class Precision(Section):
    """Number formats and the device."""

    compute: Literal["fp32", "tf32", "bf16", "fp16"] = setting(
        "fp32",
        "Precision",
        "FP32 is safe everywhere. TF32 is faster on recent NVIDIA GPUs, BF16 (autocast) faster still; FP16 (autocast with a "
        "GradScaler) is for older GPUs.",
        also="compute in mixed precision dtype autocast",
    )
    device: str = setting(
        "auto",
        "Device",
        "auto takes the first GPU, else the CPU (torch.device).",
        also="processor",
        suggestions=("auto", "cpu", "cuda", "cuda:1", "mps"),
        pattern=r"^(auto|cpu|mps|cuda(:[0-9]{1,3})?)$",
    )
    channels_last: Literal["auto", "on", "off"] = advanced(
        "auto",
        "Channels last",
        "Memory format that makes most convolutions faster, on CPUs too (torch.channels_last); results agree up to rounding. Auto "
        "leaves it out on CPUs where it is slower: wide layers on small images.",
        also="memory_format NHWC",
    )
    threads: int | None = advanced(
        None,
        "CPU threads",
        "Threads for the arithmetic (torch.set_num_threads). Empty: one where a step is little work, else all physical cores.",
        also="processor threads",
        placeholder="automatic",
        ge=1,
        le=1024,
    )
    compile: Literal["off", "model", "step"] = advanced(
        "off",
        "torch.compile",
        "Compile before the first step, which takes from seconds to minutes; the next start is quicker. Full step: the whole step "
        "as one piece, several times faster for tiny models. Model: only the network, for large ones. Results agree up to "
        "rounding, in BF16 and FP16 too. Needs a C++ compiler on CPUs and Triton on GPUs. torch's reduce-overhead is Full step "
        "with CUDA graphs on; its max-autotune would not resume exactly.",
        also="compile machine code inductor",
        labels={"step": "Full step"},
    )
    activation_checkpointing: bool = advanced(
        False,
        "Activation (gradient) checkpointing",
        "Blocks keep only their input and are computed again in the backward pass (torch.utils.checkpoint): far less memory for "
        "deep networks and large batches, at about a third more time. Results are the same to the bit on the CPU.",
        also="recompute activations",
        affects_result=False,
    )
    cuda_graphs: Literal["auto", "off", "on"] = advanced(
        "off",
        "CUDA graphs",
        "NVIDIA only: records a step once and replays it (torch.cuda.CUDAGraph), which pays where the CPU cannot launch the GPU's "
        "work fast enough. Auto: for small networks, unless only the network is compiled. Results agree up to rounding.",
    )

    @field_validator("channels_last", mode="before")
    @classmethod
    def _as_it_was(cls, value: Any) -> Any:
        """Earlier versions knew true and false, which stand in the files of their runs."""
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value
