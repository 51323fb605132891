"""Which commit a file or a folder is of, and whether it was changed since, without trusting the repository.

``git status`` runs programs that a repository's own configuration names (filters, file system monitors). Only objects
are asked for here, and the files' digests are taken by ourselves.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from training.environment import SourceState

SECONDS = 10.0
_MOST_BYTES = 2**26


def source_state(path: Path, suffix: str = "") -> SourceState:
    """That of the file or folder ``path``.

    ``dirty`` is true when its content is not the commit's. ``suffix`` limits a folder to files whose names end so.
    """
    try:
        path = path.resolve()
        folder = path if path.is_dir() else path.parent
        commit = _git(folder, "rev-parse", "--verify", "HEAD").decode().strip()
        top = Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").rstrip(b"\r\n")))
        listed = _git(top, "ls-tree", "-r", "-z", "--full-tree", commit, "--", path.relative_to(top).as_posix())
        committed = dict(_entries(listed, top, suffix))
        present = {file: _git_blob_ids(file, len(commit)) for file in _files(path, suffix)}
    except (OSError, ValueError, subprocess.SubprocessError):
        return SourceState()
    changed = set(committed) != set(present) or any(committed[file] not in present[file] for file in present)
    return SourceState(commit=commit, dirty=changed)


def _git(folder: Path, *arguments: str) -> bytes:
    program = shutil.which("git")
    if program is None:
        raise OSError("git is not installed")
    # A repository with missing objects must not fetch them: its configuration says by which program.
    quiet = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = [program, "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    return subprocess.run(
        command,
        env={**os.environ, **quiet},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=True,
    ).stdout


def _entries(listing: bytes, top: Path, suffix: str) -> Iterator[tuple[Path, str]]:
    for entry in listing.split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        if name and os.fsdecode(name).endswith(suffix):
            yield top / os.fsdecode(name), facts.split()[2].decode()


def _files(path: Path, suffix: str) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from (file for file in path.rglob(f"*{suffix}") if file.is_file() and "__pycache__" not in file.parts)


def _git_blob_ids(file: Path, digits: int) -> set[str]:
    """The content's hash as git's blob, as it is and with the line ends that git writes on Windows taken back."""
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{file} is too large to be source")
    content = file.read_bytes()
    make = hashlib.sha256 if digits == 64 else hashlib.sha1
    return {
        make(b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest()
        for text in (content, content.replace(b"\r\n", b"\n"))
    }
