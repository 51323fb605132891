"""The whole way of a choice: train, save, resume, export, through the engine's own doors."""

from __future__ import annotations

from pathlib import Path

from training.config import RunConfig
from training.engine.runs.run import resume_run, start_run
from training.export import export_checkpoint
from training.runs.folder import RunFolder

FILES = ("model.safetensors", "ema.safetensors", "state.pt")


def content(checkpoint: Path) -> dict[str, bytes]:
    """A checkpoint's files: weights, averaged weights, and everything else that the run goes on with."""
    return {name: (checkpoint / name).read_bytes() for name in FILES if (checkpoint / name).exists()}


def train_and_resume(config: RunConfig, workspace: Path, step: int) -> Path:
    """Train ``config``, go back to its checkpoint of ``step`` and on from there; the last checkpoint, the same to the bit."""
    record = start_run(config, workspace)
    assert record.status == "completed", record.reason
    last = Path(str(record.last_checkpoint))
    folder = RunFolder(Path(record.folder))
    once, rows = content(last), folder.series_file.read_bytes()
    resumed = resume_run(str(folder.checkpoints / f"step-{step:08}"), workspace)
    assert resumed.status == "completed", resumed.reason
    assert Path(str(resumed.last_checkpoint)) == last
    assert content(last) == once
    assert folder.series_file.read_bytes() == rows
    return last


def export(checkpoint: Path, out: Path) -> None:
    """As weights: what they answer is proved by the export itself."""
    assert export_checkpoint(checkpoint, "safetensors", out).max_difference < 1e-4
