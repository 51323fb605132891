"""What of a run leaves it besides its points: settings, environment, digests, checkpoints, how it ended."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from training.config.diff import flatten
from training.errors import CheckpointError
from training.runs.folder import RunFolder
from training.runs.records.environment import read_environment
from training.runs.records.evaluation import PARTS, read_evaluation
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.tracking.ledger import Ledger

if TYPE_CHECKING:
    from PIL import Image

_TAGS = ("host", "platform", "processor", "trainwright", "python", "torch", "cuda", "driver", "device")
_SIDE = 480


def collect_settings(folder: RunFolder) -> dict[str, str]:
    """Every setting by its dotted name."""
    config = folder.readable_config()
    return {} if config is None else {name: _word(value) for name, value in flatten(config).items()}


def _word(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, default=str)


def collect_tags(folder: RunFolder) -> dict[str, str]:
    """On what the run was computed, from what data and code."""
    environment, status = read_environment(folder), folder.read_status()
    tags = {name: str(value) for name in _TAGS if (value := getattr(environment, name)) is not None}
    if environment.data:
        tags["data_fingerprint"] = environment.data
    tags |= {f"code.{name}": str(state) for name, state in environment.code.items()}
    if status.parent is not None:
        tags["parent"] = status.parent.run
    return {f"trainwright.{name}": value for name, value in tags.items() if value}


def collect_checkpoints(folder: RunFolder) -> list[dict[str, object]]:
    """Where the checkpoints lie, and the digests of their files."""
    found: list[dict[str, object]] = []
    for info in reversed(list_checkpoints(folder)):
        try:
            manifest = read_manifest(info.path)
        except CheckpointError:  # tidied away while we looked
            continue
        digests = {name: facts.sha256 for name, facts in manifest.files.items()}
        found.append({"step": info.step, "path": str(info.path), "labels": list(info.labels), "sha256": digests})
    return found


def collect_files(folder: RunFolder) -> dict[str, bytes]:
    """The files that are sent as they are."""
    files = {path.name: path.read_bytes() for path in (folder.config_file, folder.environment_file) if path.is_file()}
    files["checkpoints.json"] = (json.dumps(collect_checkpoints(folder), indent=1) + "\n").encode()
    return files


def draw_images(folder: RunFolder, ledger: Ledger) -> dict[str, tuple[int, bytes]]:
    """The step and the PNG of each image by its name: which class was taken for which, or else the curve of the loss."""
    found = {}
    for part in PARTS:
        evaluation = read_evaluation(folder, part)
        if evaluation is not None and evaluation.confusion:
            counts = np.array(evaluation.confusion, float)
            found[f"{part}-confusion"] = evaluation.step, _encode(_shade(counts))
    if not found and ledger.steps:
        losses = ledger.read_points(1, ledger.steps)["loss"]
        found["loss"] = ledger.steps, _encode(_draw_curve(losses))
    return found


def _shade(counts: np.ndarray) -> Image.Image:
    """A row for each true class, darker where more of it got this answer."""
    from PIL import Image

    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = Image.fromarray((255 - 230 * shares).astype(np.uint8), "L")
    return image.resize((_SIDE, _SIDE), Image.Resampling.NEAREST)


def _draw_curve(losses: np.ndarray) -> Image.Image:
    from PIL import Image, ImageDraw

    image = Image.new("L", (2 * _SIDE, _SIDE), 255)
    finite = np.flatnonzero(np.isfinite(losses))
    if len(finite) > 1:
        values = losses[finite]
        low, high = float(values.min()), float(values.max())
        xs = finite / max(len(losses) - 1, 1) * (2 * _SIDE - 1)
        ys = (_SIDE - 1) * (1 - (values - low) / (high - low or 1.0))
        ImageDraw.Draw(image).line(list(zip(xs.tolist(), ys.tolist(), strict=True)), fill=0)
    return image


def _encode(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def collect_final(folder: RunFolder) -> Mapping[str, str]:
    """How the run stands at its end."""
    record = folder.status()
    final = {"status": record.status, "step": str(record.step)}
    if record.reason:
        final["reason"] = record.reason
    if record.best:
        final |= {
            "best_metric": record.best.metric,
            "best_value": repr(record.best.value),
            "best_step": str(record.best.step),
        }
        final["best_checkpoint"] = Path(record.best.checkpoint or "").name
    return final
