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
    "precision.compute is fp16 or bf16 on a CPU. A note.",
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
    f"One real step, measured: what is still to come is more than is free, or on a GPU more than {TIGHT_SHARE:.0%} of all. Reckoned: weights, "
    "gradients and the optimizer's numbers alone are more than all of it (an error, with which no run begins).",
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
WAITS_NOTE, WAITS_WARNING, WAITED_SECONDS = 0.2, 0.3, 10.0
SLOW_LOADER = Rule(
    "loader.slow",
    "Steps wait for their samples",
    f"Of some warm steps more than {WAITS_NOTE:.0%} of the time goes by until the samples are there (a note), more than {WAITS_WARNING:.0%} (a warning).",
    "runmedic 0.1 (20 % and 30 %), PyTorch profiler (5 %)",
    unless=f"The samples are in memory; or the whole run would wait for less than {WAITED_SECONDS:g} seconds.",
    fix="loader.mode, loader.workers or loader.cache as the program chooses them.",
)
RULES = (TORCH, GPU, DEVICE, SLOW_FORMAT, SHARED_MEMORY, MEMORY, DISK, COMPILE, SLOW_LOADER)

WAITS = Rule(
    "machine.waits",
    "Steps wait for their data",
    f"Of the time of the last half hour more than {WAITS_NOTE:.0%} went by waiting for the next batch (note), more than {WAITS_WARNING:.0%} "
    f"(warning), {WAITED_SECONDS:g} seconds at the least, in each half of it.",
    "runmedic 0.1.1 (20 %, 30 %); PyTorch profiler (5 %)",
    unless="It waited less: a busy moment of the machine slows no run down.",
    fix="loader.cache, loader.mode or loader.workers, whichever holds it up by request.",
)
SLOWED, FALLS_ON, LEAST_SECONDS, FALLS = 0.7, 0.95, 120.0, -0.8
SLOWS = Rule(
    "machine.slows",
    "The run became slower",
    f"Twenty stretches of the run: samples per second fall (Spearman below {FALLS:g}), and those of the last quarter are less than "
    f"{SLOWED:.0%} of the first's, and of each quarter less than {FALLS_ON:.0%} of the one before, medians all; at least {LEAST_SECONDS:g} seconds of "
    "training. A note: other programs may be to blame.",
    "runmedic 0.1.1 (80 %, -0.6); that it goes on falling is ours",
    unless="It falls at once, as another program makes it, or comes back.",
)
THROTTLED_NOTE, THROTTLED_WARNING, THROTTLED_SECONDS = 0.2, 0.5, 60.0
THROTTLED = Rule(
    "machine.throttled",
    "The GPU holds its clock down",
    f"In more than {THROTTLED_NOTE:.0%} of the time of the last half hour (note), {THROTTLED_WARNING:.0%} (warning), and {THROTTLED_SECONDS:g} seconds at the least, in each half "
    "of it, an NVIDIA GPU ran slower than it could, for heat or for its power supply.",
    "NVML's clock event reasons: hardware slowdown, software and hardware thermal slowdown, power brake",
    unless="It keeps to a limit of power that is set, which is usual under load; pynvml is not installed.",
)
GREW, GREW_MB, GREW_LATELY, RISES = 1.2, 200.0, 1.05, 0.8
GROWS = Rule(
    "machine.memory_grows",
    "The run takes more and more memory",
    f"Twenty stretches of the run: its memory rises (Spearman {RISES:g} or more), the last quarter holds {GREW:g} times the first and "
    f"{GREW_MB:g} MB more, and {GREW_LATELY:g} times the third; at least {LEAST_SECONDS:g} seconds of training. A note: memory.low warns where it runs out.",
    "runmedic 0.1.1 (1.2 times, 0.8); that it goes on is ours",
    unless="It settles: caches fill at the beginning.",
)
SCALE_STEPS, SCALE_SKIPS, FIRST_SCALE, SCALE_GROWTH = 2000, 0.01, 65536.0, 2000
FP16_SCALE = Rule(
    "machine.fp16_scale",
    "fp16 does not hold the gradients",
    f"With precision.compute = fp16: more than {SCALE_SKIPS:.0%} of the last {SCALE_STEPS:,} steps were skipped, 3 at the least, behind the run's first 100; or "
    "the scale of the loss, as the skipped steps make it, fell below 1.",
    f"torch.amp.GradScaler: begins at {FIRST_SCALE:,.0f}, halves at each skip, doubles after {SCALE_GROWTH:,} steps without",
    fix="precision.compute = bf16",
)
LOW = Rule(
    "memory.low",
    "Memory runs out",
    "Less than 5 % of the computer's memory (at most 2 GB) is free; or it shrinks so that it is gone in a minute; or the first checkpoint needs "
    "more than is free; or the process of the attempt before vanished with memory nearly full.",
    "Measured while the run works",
    fix="loader.mode, loader.workers, or loop.batch_size and loop.accumulation.",
)
SHORT = Rule(
    "memory.short",
    "Batches were made smaller",
    "Memory ran out in a step or a validation, and loop.on_out_of_memory is smaller_batches.",
    "Tried",
    fix="loop.batch_size and loop.accumulation: the same samples in each step.",
)
DISK_WAITS = Rule(
    "disk.waits",
    "Training waits for checkpoints to be written",
    "More than 5 % of the time, and a second at least, went by waiting for the disk.",
    "Measured while the run works",
    fix="checkpoints.every_steps or loop.validate_every_steps.",
)
ENOUGH_GAIN = 0.7
SCALING = Rule(
    "machine.scaling",
    "What several processes gain",
    "Before a long run of several processes (--ranks), some seconds of its steps in one of them and in all: less than "
    f"{ENOUGH_GAIN:.0%} of what as many GPUs could do, or, where they share a CPU, of one process that has it for itself. Else a note.",
    "Measured",
    unless="The measurement would take more than 2 % of the run, or --no-probe is given.",
)
JUDGED = (WAITS, THROTTLED, SLOWS, GROWS, FP16_SCALE)
"""While a run trains, by what it records."""
TOLD = (LOW, SHORT, DISK_WAITS, SCALING)
"""While a run trains, by the engine itself."""
