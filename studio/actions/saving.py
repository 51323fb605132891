"""A file that takes a moment to write: said while it is written, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from studio.actions.files import reveal
from studio.actions.question import Answer, ask
from studio.state.context import AppContext
from training.errors import TrainingError


class SavingNotice:
    """Says that ``path`` is being written, and what became of that; ``title`` is over what went wrong."""

    def __init__(self, context: AppContext, path: Path, title: str) -> None:
        self._notify, self._path, self._title = context.notifier.notify, path, title
        self._subject = f"saving {path}"
        self._notify(f"Saving {path.name} …", "info", subject=self._subject, lasting=True)

    def finish(self) -> None:
        """It is written."""
        self._notify(
            f"Saved as {self._path}.",
            "success",
            subject=self._subject,
            action_text="Open folder",
            action=lambda: reveal(self._path),
        )

    def fail(self, words: str) -> None:
        """It could not be."""
        self._notify(words, "danger", title=self._title, subject=self._subject)


def save_file(
    context: AppContext, save: Callable[[], object], path: Path, title: str, then: Callable[[], object] = lambda: None
) -> None:
    """Run ``save``, which writes ``path``, in the background, and say so; ``title`` is over what went wrong. ``then`` is called
    either way."""
    notice = SavingNotice(context, path, title)

    def handle_result(_: object) -> None:
        then()
        notice.finish()

    def handle_failure(error: Exception) -> None:
        then()
        words = str(error)
        if isinstance(error, OSError) and not isinstance(error, TrainingError):
            words = f"{path} cannot be written ({error.strerror or error}); choose another place."
        notice.fail(words)

    context.background.submit(save, handle_result, handle_failure)


def ask_for_place(parent: QWidget, title: str, kind: str, name: str, suffix: str) -> Path | None:
    """Let the person name a file of ``kind`` with ``suffix``; ``name`` is proposed. None where they do not."""
    chosen, _ = QFileDialog.getSaveFileName(parent, title, str(Path.home() / name), f"{kind} (*.{suffix})")
    return add_suffix(parent, chosen, (suffix,)) if chosen else None


def add_suffix(parent: QWidget, chosen: str, suffixes: Sequence[str]) -> Path | None:
    """The file that was ``chosen``, with the first of ``suffixes`` where it has none of them. The dialog asked about the name as it was
    typed: where the whole one is a file already, it is asked about here; None where it is to stay."""
    path = Path(chosen)
    if any(path.name.lower().endswith(f".{suffix}") for suffix in suffixes):
        return path
    path = path.with_name(f"{path.name}.{suffixes[0]}")
    if not path.exists():
        return path
    text = f"It is in {path.parent}. Its contents would be lost."
    return path if ask(parent, f"Replace {path.name}?", text, (Answer("replace", "Replace", "danger"),)) else None
