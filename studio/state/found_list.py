"""What lies in a folder of the workspace, studies or sweeps, read in the background."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from studio.services.background import Background, Refresher

State = Literal["planned", "working", "stopped", "failed", "done", "damaged"]
"""How one stands."""


class Found(Protocol):
    """One of them."""

    @property
    def id(self) -> str:
        """Its name in the workspace."""
        ...


FoundT = TypeVar("FoundT", bound=Found)
FolderT = TypeVar("FolderT")


class FoundList(QObject, Generic[FoundT, FolderT]):
    """``items``, the newest first; ``loaded`` once they were read.

    Signals:
        changed(): others were read, or they could not be: ``problem`` says why.
    """

    changed = Signal()

    def __init__(self, workspace: Path, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.items: tuple[FoundT, ...] = ()
        self.loaded = False
        self.problem = ""
        self._workspace = workspace
        self._background = background
        self._refresher = Refresher(background, self._prepare, self._on_read, self._on_failed)

    @Slot()
    def refresh(self) -> None:
        """Look again; many calls at once become one more look."""
        self._refresher.ask()

    def find(self, wanted: str) -> FoundT | None:
        """The one of that id."""
        return next((each for each in self.items if each.id == wanted), None)

    def remove(
        self,
        folder: FolderT,
        handle_failure: Callable[[Exception], object],
        handle_success: Callable[[], object] = lambda: None,
    ) -> None:
        """Delete it for good, in the background, and look again; its runs stay."""

        def settle(_done: object) -> None:
            self.refresh()
            handle_success()

        def fail(error: Exception) -> None:
            self.refresh()
            handle_failure(error)

        self._background.submit(lambda: self._delete(folder), settle, fail)

    def _delete(self, folder: FolderT) -> None:
        """In the background."""
        raise NotImplementedError

    def _prepare(self) -> Callable[[], tuple[FoundT, ...]]:
        """What reads them in the background."""
        raise NotImplementedError

    def _on_read(self, found: tuple[FoundT, ...]) -> None:
        changed = (found, "", True) != (self.items, self.problem, self.loaded)
        self.items, self.problem, self.loaded = found, "", True
        if changed:
            self.changed.emit()

    def _on_failed(self, error: Exception) -> None:
        self.problem = str(error)
        self.changed.emit()
