"""Every task in every format: what its proof finds, as a table. ``python -m tests.benchmarks.exports [TASK ...]``

A cell is filled by ``proof.json``, or refused by the sentence that a person would read.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from tests.training.catalog.task_samples import small
from training.engine.runs.run import start_run
from training.errors import TrainingError
from training.evaluation import evaluate_checkpoint
from training.export import Choices, export_checkpoint

STEPS = ("loop.max_steps=150", "schedule.kind=constant", "optimizer.lr=0.005", "checkpoints.every_steps=150")
MADE = ("dataset.samples=1400",)
TASKS: dict[str, tuple[str, ...]] = {
    "classification": MADE,
    "classification of images": (
        *("dataset.kind=shapes", "dataset.samples=1400", "dataset.image_size=24"),
        *("model.kind=small_cnn", "model.channels=[16, 32]"),
    ),
    "binary": MADE,
    "multi_label": (),
    "regression": (),
    "multi_task": (),
    "ranking": (),
    "distillation": MADE,
    "embedding": MADE,
    "segmentation": (),
    "language_model": (),
}
FORMATS = (
    ("safetensors", ""),
    ("torch-export", ""),
    ("onnx", ""),
    ("onnx", "int8"),
    ("openvino", ""),
    ("openvino", "int8"),
)
HEAD = (
    "task",
    "format",
    "samples",
    "largest difference",
    "agreement",
    "metric before -> after (95 % of the difference)",
    "size",
    "ms alone",
    "ms together",
)


def main(wanted: list[str]) -> None:
    """Print the table of the tasks that are wanted, all where none is named."""
    torch.set_num_threads(1)
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for task in wanted or TASKS:
            checkpoint = train(task, Path(folder) / task.replace(" ", "-"))
            for row in fill_rows(task, checkpoint):
                print(f"| {' | '.join(row)} |", flush=True)


def train(task: str, folder: Path) -> Path:
    """A checkpoint of the task, evaluated, so that its worst samples are known."""
    kind = task.partition(" ")[0]
    teacher = train("classification", folder / "teacher") if kind == "distillation" else None
    record = start_run(small(kind, folder / "data", *TASKS[task], *STEPS, teacher=teacher), folder)
    if record.status != "completed":
        raise SystemExit(f"{task}: {record.reason}")
    checkpoint = Path(str(record.last_checkpoint))
    evaluate_checkpoint(checkpoint)
    return checkpoint


def fill_rows(task: str, checkpoint: Path) -> Iterator[tuple[str, ...]]:
    """A row for each format."""
    for to, quantize in FORMATS:
        out = checkpoint.parents[1] / "table" / f"{to}{quantize}"
        name = f"{to} {quantize}".strip()
        try:
            result = export_checkpoint(checkpoint, to, out, choices=Choices(quantize=quantize))
        except TrainingError as error:
            yield task, name, error.message, "", "", "", "", "", ""
            continue
        yield task, name, *describe(Path(result.path))


def describe(file: Path) -> Iterator[str]:
    """What ``proof.json`` beside the file says."""
    proof: dict[str, Any] = json.loads((file.parent / "proof.json").read_text(encoding="utf-8"))
    yield f"{proof['drawn']} + {proof['worst']}"
    yield f"{proof['difference']['largest']:.2g} of {proof['difference']['scale']:.3g}"
    yield f"{proof['agreement']:.2%}" if "agreement" in proof else "-"
    metrics = proof.get("metrics", {}).items()
    yield ", ".join(
        f"{name} {each['before']:.4g} -> {each['after']:.4g} ({each['low']:+.2g} to {each['high']:+.2g})"
        for name, each in metrics
    )
    weights = (file, file.with_suffix(".bin"))
    yield f"{sum(each.stat().st_size for each in weights if each.is_file()) / 1000:.1f} kB"
    yield f"{proof['latency_ms']['alone']:.3f}"
    yield f"{proof['latency_ms']['together']:.4f}"


if __name__ == "__main__":
    main(sys.argv[1:])
