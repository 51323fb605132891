"""Small datasets made on the spot, and the real MNIST where it lies beside the checkout."""

from __future__ import annotations

import gzip
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from training.config import RunConfig, parse_config

MakeConfig = Callable[..., RunConfig]


def idx_bytes(array: NDArray[np.uint8]) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_idx(folder: Path, prefix: str, n: int, *, gzipped: bool = False, size: tuple[int, int] = (6, 5)) -> None:
    """``n`` images and labels 0, 1, 2, 0, ...; image i is drawn from seed ``n`` and so known to the test."""
    folder.mkdir(parents=True, exist_ok=True)
    images = np.random.default_rng(n).integers(0, 256, (n, *size), dtype=np.uint8)
    labels = (np.arange(n) % 3).astype(np.uint8)
    for name, array in ((f"{prefix}-images-idx3-ubyte", images), (f"{prefix}-labels-idx1-ubyte", labels)):
        if gzipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx_bytes(array)))
        else:
            (folder / name).write_bytes(idx_bytes(array))


def image(seed: int, size: tuple[int, int] = (16, 16)) -> Image.Image:
    """A smooth random RGB image of (width, height)."""
    small = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)


def fill_class(folder: Path, n: int, *, seed: int = 0, size: tuple[int, int] = (16, 16)) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n):
        image(seed + number, size).save(folder / f"{number:03}.png")


@pytest.fixture
def idx_folder(tmp_path: Path) -> Path:
    """60 training and 12 test images of 6 x 5 pixels, three classes."""
    write_idx(tmp_path / "idx", "train", 60)
    write_idx(tmp_path / "idx", "t10k", 12, gzipped=True)
    return tmp_path / "idx"


@pytest.fixture
def image_folder(tmp_path: Path) -> Path:
    """Three classes of 12 RGB images, 16 x 16."""
    for number, name in enumerate(("apple", "bear", "crow")):
        fill_class(tmp_path / "pictures" / name, 12, seed=100 * number)
    return tmp_path / "pictures"


@pytest.fixture
def make_config() -> MakeConfig:
    """``make_config(dataset={...}, loop={...}, ...)``"""

    def make(**sections: Any) -> RunConfig:
        if sections.get("dataset", {}).get("kind") == "spiral":
            sections.setdefault("model", {"kind": "mlp"})
        return parse_config(sections)

    return make


@pytest.fixture(scope="session")
def mnist() -> Path:
    folder = Path(__file__).parents[4] / "shared" / "data" / "mnist"
    if not folder.is_dir():
        pytest.skip("the real MNIST is not beside the checkout (../shared/data/mnist)")
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which its files can be had."""
    folder = tmp_path / "server"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield folder, f"http://127.0.0.1:{made.server_port}/"
        made.shutdown()
        thread.join()
