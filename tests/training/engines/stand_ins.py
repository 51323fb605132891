"""An index of stand-in wheels on the loopback, named as what an engine needs, that can be slow, break off, or be away."""

from __future__ import annotations

import base64
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.training.package_index import make_wheel, write_pages
from training.engines.requirements import list_requirements

BEHIND_PROXY = "http://packages.invalid"
"""An index of a name that nobody but the stand-in for a proxy knows."""
PADDING = 400_000
"""Bytes that a stand-in for torch has beside its code: enough to break off in the middle of it."""


def torch_source(version: str, cuda: str | None = None, hip: str | None = None, body: str = "") -> str:
    """A torch that can multiply matrices, on a CPU of one number a matrix; ``body`` comes first."""
    return f"""
{body}
__version__ = {version!r}


class version:
    cuda, hip = {cuda!r}, {hip!r}


class Tensor:
    def __init__(self, value): self.value = value
    def _self(self, *_): return self
    to = cpu = double = abs = max = _self
    def __sub__(self, other): return Tensor(self.value - other.value)
    def __truediv__(self, other): return Tensor(self.value / other.value)
    def __float__(self): return float(self.value)


def manual_seed(seed): pass
def rand(*shape): return Tensor(0.5)
def mm(left, right): return Tensor(left.value * right.value)


class cuda:
    @staticmethod
    def is_available(): return False


class backends:
    mps = None
"""


@dataclass
class Server:
    """``address`` of the index. ``gate``: while it is clear, every wheel of torch stops in its middle. ``broken``: how often a wheel of torch
    still breaks off there. ``asked`` are the paths and ranges that were asked for."""

    address: str = ""
    gate: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    broken: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    def list_ranges(self) -> list[str]:
        """Of torch's wheel."""
        return [ranges for path, ranges in self.asked if "/torch-" in path and path.endswith(".whl")]


def write_index(root: Path, torch: str = "2.13.0+cpu", vision: bool = True, **source: str | None) -> Path:
    """Wheels of all that an engine needs, below ``root``."""
    for each in list_requirements():
        if each.name not in ("torch", "torchvision"):
            make_wheel(root / each.name, each.name, "9999.0")
    make_wheel(root / "torch", "torch", torch, content=torch_source(torch, **source) + "#" * PADDING)  # type: ignore[arg-type]
    if vision:
        make_wheel(root / "torchvision", "torchvision", "0.28.0", content="__version__ = '0.28.0'\n")
    write_pages(root, metadata=True)
    return root


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: object, server_state: Server, **rest: object) -> None:
        self._state = server_state
        super().__init__(*arguments, **rest)  # type: ignore[arg-type]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if "pip/" not in self.headers.get("User-Agent", ""):  # which resolves
            self._state.asked.append((self.path, self.headers.get("Range", "")))
        path = Path(self.translate_path(self.path))
        if path.suffix != ".whl":
            super().do_GET()
            return
        content = path.read_bytes()
        begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        middle = len(content) // 2
        if path.name.startswith("torch-") and begin < middle and "pip/" not in self.headers.get("User-Agent", ""):
            self.wfile.write(content[begin:middle])
            self.wfile.flush()
            self._state.reached.set()
            if self._state.broken:
                self._state.broken -= 1
                self.close_connection = True
                return
            self._state.gate.wait(60)
            begin = middle
        self.wfile.write(content[begin:])


class _Proxy(_Handler):
    """Has the wheels of ``BEHIND_PROXY`` for those who ask as ``me`` with the password ``secret``, and nothing for anybody else."""

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        if self.headers.get("Proxy-Authorization") != f"Basic {base64.b64encode(b'me:secret').decode()}":
            self.send_error(407)
            return False
        if not self.path.startswith(BEHIND_PROXY):  # asked as a server, or for another one
            self.send_error(502)
            return False
        self.path = self.path.removeprefix(BEHIND_PROXY)
        return True


@contextmanager
def serve_index(root: Path, as_proxy: bool = False) -> Iterator[Server]:
    """The wheels of ``root``, as fast as can be until ``gate`` is cleared; ``as_proxy``: those of ``BEHIND_PROXY``."""
    state = Server()
    state.gate.set()
    handler = partial(_Proxy if as_proxy else _Handler, server_state=state, directory=str(root))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that went away
    threading.Thread(target=server.serve_forever, daemon=True).start()
    state.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        state.gate.set()
        server.shutdown()
        server.server_close()


def make_python(
    folder: Path, torch: str | None = "", missing: tuple[str, ...] = ("torchvision",), **versions: str
) -> str:
    """An environment that has all an engine needs but ``missing``; ``torch`` is the source of its torch, by default one that works,
    None for none. Returns its interpreter."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    if torch is None:
        missing += ("torch",)
    else:
        (site / "torch.py").write_text(torch or torch_source("2.13.0"))
    for each in list_requirements():
        if each.name not in missing:
            record = site / f"{each.name.replace('-', '_')}-{versions.get(each.name, '9999.0')}.dist-info"
            record.mkdir()
            metadata = f"Metadata-Version: 2.1\nName: {each.name}\nVersion: {versions.get(each.name, '9999.0')}\n"
            (record / "METADATA").write_text(metadata)
    return str(folder / "bin" / "python")
