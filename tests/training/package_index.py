"""Wheels made by hand, and an index of them on the loopback or in a folder."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


def make_wheel(folder: Path, name: str, version: str, tag: str = "py3-none-any", content: str = "") -> str:
    """A wheel of one module; returns its SHA-256."""
    folder.mkdir(parents=True, exist_ok=True)
    module, record = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    wheel = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{module}.py", content or f"VERSION = {version!r}\n")
        archive.writestr(f"{record}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{record}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(
            f"{record}/RECORD", f"{module}.py,,\n{record}/METADATA,,\n{record}/WHEEL,,\n{record}/RECORD,,\n"
        )
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def write_pages(root: Path, yanked: str = "", metadata: bool = False) -> None:
    """A page for each folder of wheels in ``root``, as https://packaging.python.org/en/latest/specifications/simple-repository-api
    has it. ``metadata``: that of each wheel lies beside it, so that nobody has to fetch the wheel for it."""
    for folder in root.iterdir():
        links = []
        for wheel in sorted(folder.glob("*.whl")):
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            mark = f' data-yanked="{yanked}"' if yanked else ""
            if metadata:
                _write_metadata(wheel)
                mark += ' data-core-metadata="true" data-dist-info-metadata="true"'
            links.append(f'<a href="{wheel.name}#sha256={digest}"{mark}>{wheel.name}</a>')
        (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")


def _write_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        wheel.with_name(f"{wheel.name}.metadata").write_bytes(archive.read(name))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


class _Closed(_Quiet):
    def do_GET(self) -> None:
        self.send_error(403)


@contextmanager
def serve(root: Path, closed: bool = False) -> Iterator[str]:
    """The address of an index of the folders in ``root``; ``closed`` to everybody."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Closed if closed else _Quiet, directory=str(root)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
