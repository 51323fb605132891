"""Whether a window of this workspace is open already, and handing over to it what another start was asked for. No Qt: it is asked
before anything is loaded, and costs a look at the disk where there is none."""

from __future__ import annotations

import json
import logging
import os
import stat
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from studio.identity import APP_NAME
from studio.services.app_settings import AppSettings, settings_file

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

logger = logging.getLogger(__name__)

FURNISHING, TAKEN = b"furnishing", b"taken"
"""What a window says at once that is not ready yet, and what any says that takes a request over."""
MOST_BYTES = 65536
_PATIENCE = 3.0  # seconds for a window that has much to do: one that hangs for longer is of no use to anybody who starts the program
_FURNISHING_PATIENCE = 10.0  # seconds for one that is being furnished
_LONGEST_ADDRESS = 100  # bytes: of a socket's path some systems take 103


class Request(NamedTuple):
    """What a start was asked for: a file, a folder or a preset to open ("" for the window alone), and to train it at once. ``token``
    is what the desktop gave it to bring a window to the front with."""

    opened: str = ""
    start: bool = False
    token: str = ""


def find_address(settings: AppSettings) -> str:
    """Where a window of this person's workspace listens: a socket's path, or a named pipe; "" where there is no safe place for one."""
    workspace = settings.workspace or os.environ.get("TRAINWRIGHT_WORKSPACE", "")
    # A home may be shared between computers, and a workspace between people.
    computer = "" if sys.platform == "win32" else os.uname().nodename
    words = "\0".join((computer, str(settings_file()), workspace))
    name = f"{zlib.crc32(words.encode('utf-8', 'surrogateescape')):08x}"
    if sys.platform == "win32":
        return rf"\\.\pipe\{APP_NAME}-{name}"
    folder = _find_folder()
    address = str(folder / f"{name}.socket") if folder is not None else ""
    return address if len(os.fsencode(address)) <= _LONGEST_ADDRESS else ""


def _find_folder() -> Path | None:
    """A folder that nobody else may look into; None where there is none."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base, APP_NAME) if base else Path(os.environ.get("TMPDIR", "/tmp"), f"{APP_NAME}-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        logger.info("A second start opens a second window: %s", error)
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    if not private:
        logger.info("A second start opens a second window: %s is not a private folder.", folder)
    return folder if private else None


def hand_over(address: str, request: Request) -> bool:
    """Whether a window took ``request`` over."""
    if not address or not Path(address).exists():
        return False
    from multiprocessing.connection import Client  # hardly anybody needs it

    _let_it_come_to_the_front()
    try:
        with Client(address) as connection:
            connection.send_bytes(json.dumps(request._asdict()).encode())
            answer = _hear(connection, _PATIENCE)
            return (_hear(connection, _FURNISHING_PATIENCE) if answer == FURNISHING else answer) == TAKEN
    except (OSError, EOFError) as error:  # what a window that was killed left behind, or one that is ending
        logger.info("No window answers at %s: %s", address, error)
        return False


def _hear(connection: Connection, patience: float) -> bytes:
    return connection.recv_bytes(MOST_BYTES) if connection.poll(patience) else b""


def make_request(words: str | None, start: bool) -> Request:
    """Of this process; what is named from its working directory is named for any."""
    opened = words or ""
    if opened and not opened.startswith("preset:"):
        opened = str(Path(opened).absolute())
    return Request(opened, start, os.environ.get("XDG_ACTIVATION_TOKEN", ""))


def parse_request(data: bytes) -> Request:
    """Raises ValueError."""
    said = json.loads(data)
    request = Request(**said) if isinstance(said, dict) and said.keys() <= set(Request._fields) else None
    if request is None or not isinstance(request.opened, str) or not isinstance(request.token, str):
        raise ValueError("no request")
    return request


def _let_it_come_to_the_front() -> None:
    """Windows lets the process that was clicked give that right away."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.AllowSetForegroundWindow(-1)
