"""Steps without a synchronization: the program's own loop, watched for everything that waits for the device.

    python -m tests.benchmarks.gpu.no_sync full|small DEVICE

On CUDA torch itself raises at every call that waits (``torch.cuda.set_sync_debug_mode("error")``), except in the flushes,
ten times a second. "control" reads a value in every step: were it not caught, the others' silence would mean nothing. The
first step is left out: with it an epoch's order is brought to the device. On the processor nothing waits, and the loop looks
at the norm because that is free; there the reads are counted and not judged. Prints one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.gpu.part import Order, Part
from tests.benchmarks.gpu.resnet import job
from tests.benchmarks.gpu.sizes import FULL, SMALL, Size


def jobs(size: Size, device: str) -> dict[str, dict[str, Any]]:
    """Run configurations by what is special about each."""
    shapes = {"kind": "shapes", "samples": max(6000, 64 * size.quiet_steps), "flip": True, "crop_padding": 2}
    plain: dict[str, Any] = {
        "dataset": shapes,
        "model": {"kind": "small_cnn", "dropout": 0.1},
        "loop": {"batch_size": 16, "ema_decay": 0.99},
        "schedule": {"kind": "one_cycle"},
        "precision": {"device": device},
    }
    resnet = dict(job(size, device).config)
    batch = min(size.batch, 32)  # enough steps in an epoch, without drawing a hundred thousand images
    return {
        "small CNN, fp32, AdamW, clip, EMA": plain,
        "the same, 4 batches a step": {**plain, "loop": {**plain["loop"], "batch_size": 4, "accumulation": 4}},
        "the same, fp16 with a scaler": {**plain, "precision": {"device": device, "compute": "fp16"}},
        "the same, streamed": {**plain, "loader": {"mode": "streamed"}},
        "the same, the step compiled": {**plain, "precision": {"device": device, "compile": "step"}},
        f"{size.resnet}, bf16, SGD": {
            **resnet,
            "loop": {"batch_size": batch},
            "dataset": {**resnet["dataset"], "samples": max(size.samples, 2 * batch * size.quiet_steps)},
        },
    }


def measure(order: Order) -> Part:
    """One process for all of it."""
    size = "small" if order.size.side < 224 else "full"
    command = [sys.executable, "-m", "tests.benchmarks.gpu.no_sync", size, order.device]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    control = found.pop("control")
    on_gpu = order.device != "cpu"
    rows = [
        (
            name,
            str(each["steps"]),
            str(each["flushes"]),
            (each["waited"] or "nothing") if on_gpu else f"{each['reads'] / each['steps']:.1f} values read a step",
        )
        for name, each in {**found, "control: a value read in each step": control}.items()
    ]
    quiet = all(not each["waited"] and each["steps"] == order.size.quiet_steps for each in found.values())
    verdicts = [("No step of ours waits for the device.", quiet), ("The control is caught.", bool(control["waited"]))]
    return Part(
        "Steps without a synchronization",
        ("", "steps", "flushes meanwhile", "what waited"),
        rows,
        verdicts if on_gpu else [("On the processor nothing waits, so nothing is judged.", None)],
        {"jobs": found, "control": control},
    )


def main() -> None:
    # Here, because the process that measures the others stays free of torch.
    from tests.benchmarks.gpu.watched import watch

    size, device = FULL if sys.argv[1] == "full" else SMALL, sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        found = {name: watch(config, size.quiet_steps, Path(folder)) for name, config in jobs(size, device).items()}
        first = next(iter(jobs(size, device).values()))
        found["control"] = watch(first, size.quiet_steps, Path(folder), careless=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
