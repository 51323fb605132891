"""Every task in every format: what its proof finds, as a table. ``python -m tests.benchmarks.exports [TASK ...] [--data FOLDER]``

A cell is filled by ``proof.json``, or refused by the sentence that a person would read. Data is made on the spot; FOLDER may hold ``mnist``,
``cifar`` (image folders), ``tables``, ``camvid-small`` and ``text``, of which more rows are made.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from tests.training.catalog.task_samples import masks, small, table
from tests.training.data.text_sample import write_text
from training.engine.runs.run import start_run
from training.errors import TrainingError
from training.export import Choices, export_checkpoint
from training.metric_names import show_change
from training.verify.check import show_agreement

COUNT = 1400
"""Samples of data that is made: a fifth of them, 280, are held out."""
MADE = (f"dataset.samples={COUNT}",)
TASKS: dict[str, tuple[str, ...]] = {
    "classification": MADE,
    "classification of images": (
        *("dataset.samples=8000", "dataset.kind=shapes", "dataset.image_size=24", "model.kind=small_cnn"),
        *("model.channels=[16, 32]", "optimizer.lr=0.002", "loop.batch_size=64", "loop.max_steps=1200"),
    ),
    "binary": MADE,
    "multi_label": (),
    "regression": (),
    "multi_task": (),
    "ranking": MADE,
    "distillation": MADE,
    "embedding": MADE,
    "segmentation": (),
    "language_model": (),
}
WRITE: dict[str, Callable[[Path], object]] = {
    **dict.fromkeys(("multi_label", "regression", "multi_task"), lambda folder: table(folder, COUNT)),
    "segmentation": lambda folder: masks(folder, COUNT),
    "language_model": lambda folder: write_text(folder, COUNT),
}
"""Files with as many samples."""
REAL: dict[str, tuple[str, tuple[str, ...]]] = {
    "classification of digits": (
        "mnist",
        ("dataset.kind=idx", "model.kind=small_cnn", "loop.max_steps=400", "optimizer.lr=0.002", "loop.batch_size=64"),
    ),
    "classification of photos": (
        "cifar/train",
        (
            *("dataset.kind=image_folder", "dataset.image_size=32", "model.kind=small_cnn", "loop.max_steps=800"),
            *("optimizer.lr=0.002", "loop.batch_size=64"),
        ),
    ),
    "regression of prices": (
        "tables/diamonds.csv",
        (
            "dataset.targets=price",
            "dataset.ignored=[]",
            "model.kind=tabular",
            "loop.max_steps=400",
            "loop.batch_size=256",
        ),
    ),
    "segmentation of streets": (
        "camvid-small",
        (
            *("dataset.ignore_index=11", "dataset.image_size=[60, 80]", "model.depth=3", "model.width=16"),
            *("loop.max_steps=250", "loop.batch_size=8", "optimizer.lr=0.002"),
        ),
    ),
    "language_model of plays": (
        "text/tinyshakespeare.txt",
        ("dataset.context=64", "model.layers=2", "model.width=64", "loop.max_steps=400", "optimizer.lr=0.002"),
    ),
}
"""What of a folder of real data, and how it is learned."""
STEPS = ("loop.max_steps=150", "schedule.kind=constant", "optimizer.lr=0.005")
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
    "99th percentile",
    "agreement",
    "metric before → after (95% of the difference)",
    "size",
    "ms alone",
    "ms together",
)


def main() -> None:
    """Print the table of the tasks that are wanted, all where none is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.exports")
    parser.add_argument("task", nargs="*", choices=[[], *TASKS, *REAL])
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    real = [task for task, (path, _) in REAL.items() if given.data and (given.data / path).exists()]
    torch.set_num_threads(1)
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for task in given.task or [*TASKS, *real]:
            checkpoint = train(task, Path(folder) / task.replace(" ", "-"), given.data)
            for row in fill_rows(task, checkpoint):
                print(f"| {' | '.join(row)} |", flush=True)


def train(task: str, folder: Path, data: Path | None = None) -> Path:
    """A checkpoint of the task."""
    kind, choices = task.partition(" ")[0], TASKS.get(task, ())
    teacher = train("classification", folder / "teacher") if kind == "distillation" else None
    if task in REAL and data is not None:
        path, choices = REAL[task]
        choices = (f"dataset.path={(data / path).resolve()}", *choices)
    config = small(kind, folder / "data", *STEPS, *choices, teacher=teacher)
    if task in WRITE:
        WRITE[task](folder / "data")
    record = start_run(config, folder)
    if record.status != "completed":
        raise SystemExit(f"{task}: {record.reason}")
    torch.set_num_threads(1)  # a run takes as many as its work wants
    return Path(str(record.last_checkpoint))


def fill_rows(task: str, checkpoint: Path) -> Iterator[tuple[str, ...]]:
    """A row for each format."""
    for to, quantize in FORMATS:
        out = checkpoint.parents[1] / "table" / f"{to}{quantize}"
        name = f"{to} {quantize}".strip()
        try:
            result = export_checkpoint(checkpoint, to, out, choices=Choices(quantize=quantize))
        except TrainingError as error:
            yield task, name, error.message, *([""] * (len(HEAD) - 3))
            continue
        yield task, name, *describe(Path(result.path))


def describe(file: Path) -> Iterator[str]:
    """What ``proof.json`` beside the file says."""
    proof: dict[str, Any] = json.loads((file.parent / "proof.json").read_text(encoding="utf-8"))
    trained = f", {proof['trained']} of training" if proof["trained"] else ""
    yield f"{proof['drawn']}{trained}" + (
        f" and the {proof['worst']} worst {proof['chosen']}" if proof["worst"] else ""
    )
    yield f"{proof['difference']['largest']:.2g} of {proof['difference']['scale']:.3g}"
    yield f"{proof['difference']['p99']:.2g}"
    yield (
        f"{show_agreement(proof['agreement'])} ({proof['differing']:,} of {proof['answers']:,} differ)"
        if "agreement" in proof
        else "-"
    )
    changes = proof.get("metrics", {}).items()
    yield ", ".join(
        show_change(name, *(each[key] for key in ("before", "after", "low", "high"))) for name, each in changes
    )
    weights = (file, file.with_suffix(".bin"))
    yield f"{sum(each.stat().st_size for each in weights if each.is_file()) / 1000:.1f} kB"
    yield f"{proof['latency_ms']['alone']:.3f}"
    yield f"{proof['latency_ms']['together']:.4f}"


if __name__ == "__main__":
    main()
