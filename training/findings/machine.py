"""Of the machine: devices, memory, disk."""

from __future__ import annotations

from training.findings.rule import Rule

TORCH = Rule("machine.torch", "PyTorch", "Which PyTorch, Python, CPU and memory there is.", "Asked")
GPU = Rule(
    "machine.gpu",
    "What computes",
    "Each GPU multiplies two matrices as the CPU does; an NVIDIA GPU or one asked for that torch cannot use is a warning.",
    "Tried",
)
DEVICE = Rule("machine.device", "The run's device", "The device and the number format of the run.", "Asked")
SLOW_FORMAT = Rule(
    "machine.slow_format",
    "FP16 or BF16 on the CPU",
    "precision.compute is fp16 or bf16 on a CPU.",
    "Usually slower than FP32 there",
)
SHARED_MEMORY = Rule(
    "machine.shared_memory",
    "/dev/shm is small",
    "/dev/shm has less than 256 MiB, or the batches that workers read ahead take more than half of it.",
    "Docker gives 64 MB by itself",
)
TIGHT_SHARE = 0.9
"""Of a GPU; what the driver and other programs need on top is not ours to know."""
MEMORY = Rule(
    "memory.tight",
    "Memory will hardly do",
    f"One real step, measured: what is still to come is more than is free, or on a GPU more than {TIGHT_SHARE:.0%} of all.",
    "PyTorch profiler (90 %)",
    fix="loop.batch_size and loop.accumulation: the same samples in each step.",
)
DISK_SPARE = 1.2
DISK = Rule(
    "disk.room",
    "The checkpoints do not fit on the disk",
    f"The checkpoints that lie there at once need more than what is free, times {DISK_SPARE:g}.",
    "Measured",
)
COMPILE = Rule(
    "compile.works", "The step can be compiled", "precision.compile, tried.", "Tried", fix="precision.compile = off"
)
RULES = (TORCH, GPU, DEVICE, SLOW_FORMAT, SHARED_MEMORY, MEMORY, DISK, COMPILE)
