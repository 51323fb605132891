"""Configurations and datasets that come in from the disk, and go out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from studio.pages.setup.drops import dataset_at
from studio.state.context import AppContext
from training.errors import InputError, TrainingError

_FILTER = "Run configuration (*.toml)"


def ask_and_open(context: AppContext, parent: QWidget) -> None:
    """Let the person pick a TOML file and open it."""
    chosen, _ = QFileDialog.getOpenFileName(parent, "Open a configuration", str(Path.home()), _FILTER)
    if chosen:
        open_file(context, Path(chosen))


def ask_and_save(context: AppContext, parent: QWidget) -> None:
    """Let the person name a TOML file and write the draft to it."""
    name = str(context.draft.value("name")).strip() or "run"
    safe = "".join(letter if letter.isalnum() or letter in " -_." else "_" for letter in name)
    chosen, _ = QFileDialog.getSaveFileName(
        parent, "Save the configuration", str(Path.home() / f"{safe}.toml"), _FILTER
    )
    if not chosen:
        return
    path = Path(chosen) if chosen.lower().endswith(".toml") else Path(f"{chosen}.toml")
    try:
        context.draft.save_file(path)
    except TrainingError as error:
        context.notifier.notify(str(error), "danger", title="The configuration was not saved")
        return
    context.notifier.notify(f"Saved as {path.name}.", "success")


def open_file(context: AppContext, path: Path) -> None:
    """Put a TOML file into the forms, with whatever is wrong in it; says what no form can show."""
    try:
        left_out = context.draft.load_file(path)
    except TrainingError as error:
        context.notifier.notify(str(error), "danger", title="The configuration cannot be used")
        return
    context.cancel_branch()
    if left_out:
        names = ", ".join(left_out)
        context.notifier.notify(
            f"{path.name} has settings this program does not know; they were left out: {names}.", "warning"
        )


def open_dropped(context: AppContext, path: Path, take: Callable[[str, Path], object]) -> None:
    """A TOML file becomes the draft; of a folder or file of data ``take`` is told the kind and the place. Says so when it is
    neither."""
    if path.suffix.lower() == ".toml" and path.is_file():
        open_file(context, path)
        return

    def done(found: tuple[str, Path] | None) -> None:
        if found is not None:
            take(*found)
            return
        refusal = InputError(
            f"{path.name} holds no dataset this program knows.",
            "Drop a folder with one subfolder of images for each class, one with images and masks, a folder of MNIST files, "
            "a table (CSV or Parquet), a text, or a TOML file.",
        )
        context.notifier.notify(str(refusal), "warning")

    def failed(error: Exception) -> None:
        why = error.strerror if isinstance(error, OSError) else error
        context.notifier.notify(f"{path} cannot be read ({why}).", "danger")

    # Not here: a folder on a slow drive would hold the window still.
    context.background.submit(lambda: dataset_at(path), done, failed)
