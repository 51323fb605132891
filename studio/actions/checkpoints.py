"""What can be done with a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QDialog, QWidget

from studio.actions.export_choices import Answers
from studio.actions.export_dialog import SHORT, ExportDialog
from studio.actions.files import reveal
from studio.actions.runs import tell_of_trash
from studio.state.context import AppContext
from studio.state.runs.checkpoint_list import CheckpointList
from training.catalog.script_data import bytes_beside
from training.errors import TrainingError
from training.predictions.probabilities import has_threshold
from training.protocol.answers import ExportResult
from training.runs.checkpoint_trash import throw_away_checkpoint
from training.runs.folder import RunFolder, read_json
from training.runs.records.about import name_of, read_about
from training.runs.records.manifest import BEST, CheckpointInfo, list_checkpoints

_SCRIPT_CHECKED = "Compared with the run: same initial weights, sample order, learning rates and weight decay."
_SHORT_SCRIPT = "It trains the same way, with other random numbers."


def evaluate_checkpoint(context: AppContext, folder: RunFolder, checkpoint: CheckpointInfo) -> None:
    """Show what the model of ``checkpoint`` answers to each sample of the validation part."""
    context.evaluation.want(folder, checkpoint.step)
    context.open_run(folder.path, "evaluate")


def delete_checkpoint(
    context: AppContext, folder: RunFolder, checkpoint: CheckpointInfo, done: Callable[[], object]
) -> None:
    """Move a checkpoint into the trash, with a notice that brings it back; ``done`` is called when it is there. The newest one that is
    whole stays, and a notice says so."""

    def tell(trashed: RunFolder) -> None:
        tell_of_trash(context, f"The checkpoint of step {checkpoint.step:,} is", [trashed])
        context.library.refresh()
        done()

    def refuse(error: Exception) -> None:
        context.notifier.notify(str(error), "warning", title="The checkpoint was not deleted")
        done()

    context.background.submit(lambda: throw_away_checkpoint(folder, checkpoint.path), tell, refuse)


def export_checkpoint(
    context: AppContext,
    parent: QWidget,
    folder: RunFolder,
    checkpoint: CheckpointInfo,
    follow: CheckpointList | None = None,
) -> None:
    """Ask how and where, write the model there, and say how it compares with the model after reloading it. ``follow``: what is
    wanted is the best checkpoint of this list, and a run that trains may find another one while the dialog is open, which names it
    then."""
    kept = context.settings.get().export_folder
    place = Path(kept) if kept and Path(kept).is_dir() else folder.exports
    name, engine = name_of(folder.status(), read_about(folder)), context.engine.info
    facts = read_json(folder.data_file)
    data_bytes, answers = bytes_beside(facts), _find_answers(context, folder)
    unwritable = engine.unwritable if engine else {}
    dialog = ExportDialog(name, checkpoint.step, place, unwritable, data_bytes, answers, parent)

    def follow_best() -> None:
        best = next((info for info in follow.checkpoints if BEST in info.labels), None) if follow else None
        if best is not None:
            dialog.show_step(best.step)

    if follow is not None:
        follow.refreshed.connect(follow_best)
    accepted = dialog.exec() == QDialog.DialogCode.Accepted
    if follow is not None:
        follow.refreshed.disconnect(follow_best)
    step, place, wanted = dialog.step, dialog.folder, dialog.request(checkpoint.path)
    key, out = wanted.to, wanted.out
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
            wanted.model_copy(update={"checkpoint": found.path}),
            ExportResult,
            lambda result: _tell_exported(context, key, step, out, result),
            lambda refusal: _tell_refusal(context, str(refusal), out),
            _Progress(context, step, out).show,
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
        f"Step {step:,}: {path}\n{_SHORT_SCRIPT if is_short else _SCRIPT_CHECKED if is_script else result.proof}",
        "warning" if result.warns else "success",
        title="Script written" if is_script else "Model exported",
        details="\n".join(result.files) if len(result.files) > 1 else "",
        action_text="Show in folder",
        action=lambda: reveal(path),
        subject=_subject(out),
    )


def _find_answers(context: AppContext, folder: RunFolder) -> Answers:
    """What the model answers with, and the thresholds that were dragged on the tab Evaluate while it showed this run."""
    try:
        objective = folder.config().objective
    except TrainingError:  # its configuration is damaged; the engine says so
        return Answers()
    kind = read_json(folder.data_file).get("target")
    has_probabilities = kind in ("class", "labels") and objective.kind != "embedding"
    choice = context.evaluation
    return Answers(
        has_probabilities,
        getattr(objective, "threshold", None) if has_threshold(objective.kind) else None,
        choice.thresholds if choice.folder == folder and has_threshold(objective.kind) else (),
    )


class _Progress:
    """Says what the export is at: evaluating takes its time where a number is to be fitted."""

    def __init__(self, context: AppContext, step: int, out: Path) -> None:
        self._context, self._step, self._out = context, step, out
        self._said = ""

    def show(self, text: str, fraction: float | None) -> None:
        """In steps of a tenth, so that the toast stands still."""
        words = text.partition(",")[0] + ("" if fraction is None else f", {int(fraction * 10) * 10} %")
        if words != self._said:
            self._said = words
            told = f"Exporting step {self._step:,} to {self._out.name}: {words} …"
            self._context.notifier.notify(told, "info", subject=_subject(self._out), lasting=True)


def _subject(out: Path) -> str:
    return f"export to {out}"


def _tell_refusal(context: AppContext, words: str, out: Path | None = None) -> None:
    subject = _subject(out) if out else ""
    context.notifier.notify(words, "danger", title="The model was not exported", subject=subject)
