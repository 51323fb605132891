"""What can be done with a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from PySide6.QtWidgets import QDialog, QWidget

from studio.actions.export_dialog import SHORT, ExportDialog
from studio.actions.files import reveal
from studio.state.context import AppContext
from studio.state.runs.checkpoint_list import CheckpointListModel
from training.catalog.script_data import bytes_beside
from training.protocol.answers import ExportResult
from training.protocol.messages import ExportRequest
from training.runs.folder import RunFolder, read_json
from training.runs.records.about import name_of, read_about
from training.runs.records.manifest import BEST, CheckpointInfo, list_checkpoints

_SCRIPT_CHECKED = "Compared with the run: same initial weights, sample order, learning rates and weight decay."
_SHORT_SCRIPT = "It trains the same way, with other random numbers."


def evaluate_checkpoint(context: AppContext, folder: RunFolder, checkpoint: CheckpointInfo) -> None:
    """Show what the model of ``checkpoint`` answers to each sample of the validation part."""
    context.evaluation.want(folder, checkpoint.step)
    context.open_run(folder.path, "evaluate")


def export_checkpoint(
    context: AppContext,
    parent: QWidget,
    folder: RunFolder,
    checkpoint: CheckpointInfo,
    follow: CheckpointListModel | None = None,
) -> None:
    """Ask how and where, write the model there, and say how it compares with the model after reloading it. ``follow``: what is
    wanted is the best checkpoint of this list, and a run that trains may find another one while the dialog is open, which names it
    then."""
    kept = context.settings.get().export_folder
    place = Path(kept) if kept and Path(kept).is_dir() else folder.exports
    name, engine = name_of(folder.status(), read_about(folder)), context.engine.info
    facts = read_json(folder.data_file)
    data_bytes, has_probabilities = bytes_beside(facts), facts.get("target") in ("class", "labels")
    unwritable = engine.unwritable if engine else {}
    dialog = ExportDialog(name, checkpoint.step, place, unwritable, data_bytes, has_probabilities, parent)

    def follow_best() -> None:
        best = next((info for info in follow.checkpoints if BEST in info.labels), None) if follow else None
        if best is not None:
            dialog.show_step(best.step)

    if follow is not None:
        follow.refreshed.connect(follow_best)
    accepted = dialog.exec() == QDialog.DialogCode.Accepted
    if follow is not None:
        follow.refreshed.disconnect(follow_best)
    step, key, out, large_data = dialog.step, dialog.format.key, dialog.out(), dialog.large_data.isChecked()
    place = dialog.folder
    temperature: Literal["auto"] | None = (
        None if dialog.calibrate.isHidden() or not dialog.calibrate.isChecked() else "auto"
    )
    dialog.deleteLater()
    if not accepted:
        return
    context.settings.update(export_folder="" if place == folder.exports else str(place))

    def export(found: CheckpointInfo | None) -> None:
        if found is None:
            words = f"The checkpoint of step {step:,} was deleted meanwhile; choose another one."
            context.notifier.notify(words, "danger", title="The model was not exported")
            return
        context.notifier.notify(f"Exporting step {step:,} to {out.name} …", "info", subject=_subject(out), lasting=True)
        context.engine.ask(
            ExportRequest(checkpoint=found.path, to=key, out=out, large_data=large_data, temperature=temperature),
            ExportResult,
            lambda result: _tell_exported(context, key, step, out, result),
            lambda refusal: _tell_refusal(context, str(refusal), out),
        )

    context.background.submit(
        lambda: next((info for info in list_checkpoints(folder) if info.step == step), None),
        export,
        lambda error: _tell_refusal(context, str(error)),
    )


def _tell_exported(context: AppContext, key: str, step: int, out: Path, result: ExportResult) -> None:
    path = Path(result.path or out)
    is_script, is_short = key in ("script", *SHORT), key in SHORT
    context.notifier.notify(
        f"Step {step:,}: {path}\n{_SHORT_SCRIPT if is_short else _SCRIPT_CHECKED if is_script else _describe_difference(result.max_difference)}",
        "success",
        title="Script written" if is_script else "Model exported",
        details="\n".join(result.files) if len(result.files) > 1 else "",
        action_text="Show in folder",
        action=lambda: reveal(path),
        subject=_subject(out),
    )


def _describe_difference(difference: float) -> str:
    if not difference:
        return "Loaded again, it answers as the model does."
    return f"Loaded again, its answers differ from the model's by {difference:.2g} at most."


def _subject(out: Path) -> str:
    return f"export to {out}"


def _tell_refusal(context: AppContext, words: str, out: Path | None = None) -> None:
    subject = _subject(out) if out else ""
    context.notifier.notify(words, "danger", title="The model was not exported", subject=subject)
