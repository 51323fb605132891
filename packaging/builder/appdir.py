"""The window as a folder that runs from anywhere: AppRun, the frozen program, and what a desktop wants to find."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard

from builder.checkout import BUILD, source_date, version
from builder.frozen import COPIED, make_window
from builder.linux_files import LIBRARY, lay_out


def make_appdir(tree: Path, out: Path) -> list[Path]:
    """``Trainwright-VERSION-linux-x86_64.tar.zst``."""
    (window,) = make_window(tree, BUILD / "frozen")
    with TemporaryDirectory(prefix="trainwright-appdir-") as folder:
        root = Path(folder) / f"Trainwright-{version()}"
        root.mkdir()
        lay_out(tree, window, root)
        (root / LIBRARY / COPIED).unlink()
        (desktop,) = (root / "usr/share/applications").glob("*.desktop")
        shutil.copyfile(desktop, root / desktop.name)
        shutil.copyfile(tree / "resources/icons/app-256.png", root / f"{desktop.stem}.png")
        shutil.copyfile(tree / "LICENSE", root / "LICENSE")
        shutil.copy(tree / "packaging/linux/AppRun", root / "AppRun")
        out.mkdir(parents=True, exist_ok=True)
        packed = out / f"{root.name}-linux-x86_64.tar.zst"
        with (
            packed.open("wb") as file,
            zstandard.ZstdCompressor(level=19, threads=-1).stream_writer(file) as stream,
            tarfile.open(fileobj=stream, mode="w|") as archive,
        ):
            for path in [root, *sorted(root.rglob("*"))]:
                archive.add(path, str(path.relative_to(folder)), recursive=False, filter=_plain)
    return [packed]


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = source_date()
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
