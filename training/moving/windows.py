"""Which windows have a workspace open: each keeps a record beside the engines, where every process of this person finds it."""

from __future__ import annotations

from pathlib import Path

from training.errors import InputError
from training.runs.owner import Owner, this_process
from training.system.atomic import write_text
from training.system.places import data_folder
from training.system.process import birth
from training.system.untrusted import MEGABYTE, parse_json, read_bytes


class OpenWindow(Owner):
    """The process of a window, and the ``workspace`` that it shows."""

    workspace: str

    @property
    def lives(self) -> bool:
        """Whether that process is there; of one on another computer that shares this home nothing is known."""
        return not self.is_elsewhere and birth(self.pid) == self.born


def record_window(workspace: Path) -> None:
    """This process shows ``workspace`` from now on; takes away what windows that were killed have left. Raises OSError."""
    me = OpenWindow(**this_process().model_dump(), workspace=str(workspace.resolve()))
    for path in _folder().glob("*.json"):
        window = _read(path)
        if window is None or (window.host == me.host and not window.lives):
            path.unlink(missing_ok=True)
    _folder().mkdir(parents=True, exist_ok=True)
    write_text(_place(me), me.model_dump_json(), durable=False)


def forget_window() -> None:
    """This process shows no workspace any more. Raises OSError."""
    _place(this_process()).unlink(missing_ok=True)


def refuse_windows(workspace: Path) -> None:
    """Raise InputError, naming it, while a window of another process has ``workspace`` open: what it shows, and what it trains
    next, would stay in the old place."""
    here = workspace.resolve()
    for path in sorted(_folder().glob("*.json")):
        window = _read(path)
        if window is not None and window.lives and not window.is_mine and Path(window.workspace) == here:
            raise InputError(
                f"The workspace cannot be moved now: a window has it open ({window}); close that window, or move the workspace there, in "
                "Preferences, Storage."
            )


def _folder() -> Path:
    return data_folder() / "windows"


def _place(owner: Owner) -> Path:
    return _folder() / f"{owner.host}-{owner.pid}.json"


def _read(path: Path) -> OpenWindow | None:
    try:
        return OpenWindow.model_validate(parse_json(read_bytes(path, MEGABYTE)))
    except (OSError, ValueError):
        return None
