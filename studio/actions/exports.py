"""What can be done with an exported file: taken off the list, deleted, each with its Undo."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QFile, QStandardPaths

from studio.state.context import AppContext
from studio.state.exports import Exported
from training.errors import TrainingError
from training.runs.export_consent import FACTS
from training.runs.folder import read_json
from training.runs.records.exports import note_export
from training.system.untrusted import MEGABYTE
from training.verify.kept import CARD, PROOF


def unlist_export(context: AppContext, each: Exported, done: Callable[[], object]) -> None:
    """Take it off the list; its file stays."""

    def hide(hidden: bool) -> bool:
        problem = note_export(each.folder, each.note.model_copy(update={"hidden": hidden}))
        if problem:
            context.notifier.notify(problem.strip(), "danger", title="The list was not changed")
        done()
        return not problem

    if hide(True):
        words = f"{each.path.name} is off the list; the file stays."
        context.notifier.notify(words, action_text="Undo", action=lambda: hide(False))


def delete_export(context: AppContext, each: Exported, done: Callable[[], object]) -> None:
    """Move its files into the system's trash, with a notice that brings them back."""
    moved: list[tuple[Path, Path]] = []

    def undo() -> None:
        try:
            for place, trashed in moved:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(trashed, place)
        except OSError as error:
            context.notifier.notify(str(error), "danger", title="Not brought back")
        done()

    _make_data_folder()
    for file in list_files(each.path):
        trash = QFile(str(file))
        if not trash.moveToTrash():
            context.notifier.notify(f"{file}: {trash.errorString()}", "danger", title="Not deleted")
            undo()
            return
        moved.append((file, Path(trash.fileName())))
    words = f"{each.path.name} and what belongs to it are in the system's trash."
    context.notifier.notify(words, action_text="Undo", action=undo)
    done()


def _make_data_folder() -> None:
    """On Linux the trash lies in the person's data folder. Qt makes the trash, but not that folder, which a new account lacks."""
    with suppress(OSError):  # moveToTrash tells that it cannot
        Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericDataLocation)).mkdir(
            parents=True, exist_ok=True
        )


def list_files(path: Path) -> list[Path]:
    """The main file, and what the export wrote beside it."""
    names = {path.name}
    try:
        record = read_json(path.parent / FACTS, 64 * MEGABYTE)
    except (TrainingError, OSError):
        record = {}
    file, files = record.get("file"), record.get("files")
    if isinstance(file, dict) and file.get("name") == path.name:
        named = files if isinstance(files, list) else []
        names |= {FACTS, PROOF, CARD, *(name for name in named if isinstance(name, str) and name == Path(name).name)}
    return [place for name in sorted(names) if (place := path.parent / name).is_file()]
