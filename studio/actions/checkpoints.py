"""What can be done with a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QFileDialog, QWidget

from studio.actions.files import reveal
from studio.engine.messages import Refusal
from studio.state.context import AppContext
from training.runs.folder import RunFolder
from training.runs.manifest import CheckpointInfo

_FILTER = "SafeTensors weights (*.safetensors)"


def export_checkpoint(context: AppContext, parent: QWidget, folder: RunFolder, checkpoint: CheckpointInfo) -> None:
    """Ask where, write the model there, and say how the file compares with the model after reloading it."""
    name = str(folder.status().get("name") or folder.id)
    suggested = folder.exports / f"{_file_name(name)}-step-{checkpoint.step}.safetensors"
    chosen, _filter = QFileDialog.getSaveFileName(parent, "Export the model", str(suggested), _FILTER)
    if not chosen:
        return
    out = Path(chosen)
    if not out.suffix:
        out = out.with_suffix(".safetensors")
    context.notifier.notify(f"Exporting step {checkpoint.step:,} to {out.name} …", "info")
    context.engine.export(
        checkpoint.path,
        "safetensors",
        out,
        done=lambda result: _exported(context, out, result),
        failed=lambda refusal: _refused(context, refusal),
    )


def _exported(context: AppContext, out: Path, result: dict[str, Any]) -> None:
    path = Path(str(result.get("path") or out))
    difference = float(result.get("max_difference", 0.0))
    context.notifier.notify(
        f"{path}\nCompared after reloading: max difference {difference:g}.",
        "success",
        title="Model exported",
        details="\n".join(str(item) for item in result.get("files", ())),
        action_text="Show in folder",
        action=lambda: reveal(path),
    )


def _refused(context: AppContext, refusal: Refusal) -> None:
    context.notifier.notify(str(refusal), "danger", title="The model was not exported")


def _file_name(text: str) -> str:
    return (
        "".join(character if character.isalnum() or character in "-_ ." else "-" for character in text).strip()
        or "model"
    )
