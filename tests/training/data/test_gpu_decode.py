"""``loader.decoder = "gpu"``: all of it but nvJPEG, with torchvision's decoder of the processor in its place."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.training.data.conftest import picture
from training.data.decode import DifferentSize, Form, Outcome, Unusable, outcome
from training.data.gpu_decode import GpuDecoder, gpu_decoder
from training.errors import InputError, TrainingError

SMALL, GREY, OWN = Form(48, 48, 3, fit=True), Form(48, 48, 1, fit=True), Form(60, 90, 3, fit=False)
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture
def decoder() -> GpuDecoder:
    return GpuDecoder(torch.device("cpu"), threads=2)


def written(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def jpeg(seed: int = 0, size: tuple[int, int] = (90, 60), mode: str = "RGB", **options: Any) -> bytes:
    stream = io.BytesIO()
    picture(seed, size).convert(mode).save(stream, "JPEG", **{"quality": 92} | options)
    return stream.getvalue()


def png(seed: int = 0, size: tuple[int, int] = (90, 60)) -> bytes:
    stream = io.BytesIO()
    picture(seed, size).save(stream, "PNG")
    return stream.getvalue()


def turned(note: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = note
    return jpeg(7, exif=exif)


def without_tables(data: bytes) -> bytes:
    """Its header is fine and its end is there, but how it was quantized cannot be known."""
    return data.replace(b"\xff\xdb", b"\xff\xed")


FOR_GPU: dict[str, Callable[[], bytes]] = {
    "plain.jpg": jpeg,
    "upright.jpg": lambda: turned(1),
    "tall.jpg": lambda: jpeg(1, (50, 95)),
    "odd.jpg": lambda: jpeg(2, (81, 60)),
    "tiny.jpg": lambda: jpeg(3, (1, 1)),
    "grey.jpg": lambda: jpeg(4, mode="L"),
    "progressive.jpg": lambda: jpeg(5, progressive=True),
    "not_subsampled.jpg": lambda: jpeg(6, subsampling=0),
    "called_otherwise.png": lambda: jpeg(8),
}
FOR_PROCESSOR: dict[str, Callable[[], bytes]] = {
    "turned.jpg": lambda: turned(6),
    "mirrored.jpg": lambda: turned(2),
    "print.jpg": lambda: jpeg(9, mode="CMYK"),
    "rgb.jpg": lambda: jpeg(10, keep_rgb=True),
    "other.png": png,
    "called_otherwise.jpg": png,
    "more_behind.jpg": lambda: jpeg(11) + b"a thumbnail",
}
BROKEN: dict[str, Callable[[], bytes]] = {
    "cut.jpg": lambda: jpeg(12)[:-300],
    "cut_and_closed.txt.jpg": lambda: b"\xff\xd8\xff\xd9",
    "no_tables.jpg": lambda: without_tables(jpeg(13)),
    "empty.jpg": lambda: b"",
    "words.jpg": lambda: b"no picture",
}


def write(folder: Path, files: dict[str, Callable[[], bytes]]) -> list[Path]:
    return [written(folder, name, make()) for name, make in files.items()]


def assert_alike(paths: Sequence[Path], outcomes: Sequence[Outcome], form: Form, most: int = 2) -> None:
    """The same content, reasons and sizes as the processor's way, and pixels within ``most`` levels."""
    assert len(outcomes) == len(paths)
    for path, became in zip(paths, outcomes, strict=True):
        expected = outcome(path, form)
        if not isinstance(expected, tuple):
            assert (type(became), str(became)) == (type(expected), str(expected)), path
            continue
        assert isinstance(became, tuple), (path, became)
        assert became[1] == expected[1], path
        assert became[0].shape == form.pixels
        assert became[0].dtype == np.uint8
        assert np.abs(became[0].astype(int) - expected[0].astype(int)).max() <= most, path


@pytest.mark.parametrize("form", [SMALL, GREY, OWN])
def test_every_file_becomes_what_the_processor_makes_of_it(tmp_path: Path, decoder: GpuDecoder, form: Form) -> None:
    paths = [*write(tmp_path, FOR_GPU | FOR_PROCESSOR | BROKEN), tmp_path / "missing.jpg"]
    paths = [path for pair in zip(paths, reversed(paths), strict=True) for path in pair]  # good ones beside broken ones
    outcomes = list(decoder.decode(paths, form))
    assert_alike(paths, outcomes, form)
    assert sum(isinstance(became, Unusable) for became in outcomes) == 2 * (len(BROKEN) + 1)


def test_the_gpu_gets_what_it_decodes_as_the_processor_does_and_nothing_else(
    tmp_path: Path, decoder: GpuDecoder
) -> None:
    assert decoder.told() == ""
    outcomes = list(decoder.decode(write(tmp_path, FOR_GPU), SMALL))
    assert all(isinstance(became, tuple) for became in outcomes)
    assert decoder.told() == f"the GPU decoded {len(FOR_GPU)} pictures"
    assert len(list(decoder.decode(write(tmp_path, FOR_PROCESSOR | BROKEN), SMALL))) == 12
    assert decoder.told() == f"the GPU decoded {len(FOR_GPU)} pictures, the processor {len(FOR_PROCESSOR)} others"


def test_real_photographs(tmp_path: Path, decoder: GpuDecoder) -> None:
    archive = Path(__file__).parents[4] / "shared" / "data" / "camvid-small.tar.xz"
    if not archive.exists():
        pytest.skip("the photographs are not beside this checkout")
    with tarfile.open(archive) as opened:
        for member in filter(tarfile.TarInfo.isfile, opened):
            (tmp_path / member.name).parent.mkdir(parents=True, exist_ok=True)
            content = opened.extractfile(member)
            assert content is not None
            (tmp_path / member.name).write_bytes(content.read())
    paths = sorted(tmp_path.glob("*/train/images/*.jpg"))
    assert len(paths) > 70  # more than are decoded at once
    form = Form(112, 112, 3, fit=True)
    assert_alike(paths, list(decoder.decode(paths, form)), form)
    assert decoder.told() == f"the GPU decoded {len(paths)} pictures"
    # Those far larger than wanted the processor unpacks at half, a quarter or an eighth of their size, which blurs otherwise.
    tiny = Form(24, 24, 3, fit=True)
    for path, became in zip(paths, decoder.decode(paths, tiny), strict=True):
        expected = outcome(path, tiny)
        assert isinstance(became, tuple)
        assert isinstance(expected, tuple)
        assert np.abs(became[0].astype(int) - expected[0].astype(int)).mean() < 2.0


def test_the_same_pixels_whatever_is_decoded_beside_them(tmp_path: Path, decoder: GpuDecoder) -> None:
    paths = [written(tmp_path, f"{n:03}.jpg", jpeg(n, (40 + n, 70))) for n in range(150)]
    together = list(decoder.decode(paths, SMALL))
    again = list(GpuDecoder(torch.device("cpu"), threads=5).decode(paths[100:], SMALL))
    alone = [next(decoder.decode([path], SMALL)) for path in paths[100:]]
    for first, second, third in zip(together[100:], again, alone, strict=True):
        assert isinstance(first, tuple)
        assert isinstance(second, tuple)
        assert isinstance(third, tuple)
        assert np.array_equal(first[0], second[0])
        assert np.array_equal(first[0], third[0])


def test_what_is_begun_and_left_leaves_no_thread_behind(tmp_path: Path, decoder: GpuDecoder) -> None:
    paths = [written(tmp_path, f"{n}.jpg", jpeg(n, (80, 60) if n == 3 else (90, 60))) for n in range(9)]
    before = set(threading.enumerate())
    outcomes = decoder.decode(paths, OWN)
    found = [next(outcomes) for _ in range(4)]
    assert isinstance(found[3], DifferentSize)
    assert set(threading.enumerate()) - before
    outcomes.close()
    assert not set(threading.enumerate()) - before
    assert isinstance(next(decoder.decode(paths, OWN)), tuple)


@pytest.mark.parametrize("failure", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("Failed to parse: 5")])
def test_too_little_memory_on_the_gpu_is_never_made_up_for_in_silence(
    tmp_path: Path, decoder: GpuDecoder, monkeypatch: pytest.MonkeyPatch, failure: RuntimeError
) -> None:
    """Whatever memory others leave must not decide about pixels."""

    def refused(*_: Any, **__: Any) -> list[torch.Tensor]:
        raise failure

    monkeypatch.setattr(decoder, "_decode_jpeg", refused)
    with pytest.raises(TrainingError, match="memory does not suffice") as caught:
        list(decoder.decode(write(tmp_path, FOR_GPU), SMALL))
    assert caught.value.fix == {"loader.decoder": "cpu"}


def test_a_machine_that_cannot_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError) as caught:
        gpu_decoder(torch.device("cpu"), None)
    assert caught.value.message == "loader.decoder: gpu needs an NVIDIA GPU, and this run computes on the processor."
    assert caught.value.fix == {"loader.decoder": "cpu"}


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (None, "needs an NVIDIA GPU, and this run computes on an AMD GPU."),
        ("11.8", "needs a torch built for CUDA 12.3 or later, and this one is for 11.8."),
        ("12.8", "cannot be had from the torchvision that is installed (not compiled with nvJPEG support)."),
    ],
)
def test_so_is_an_installation_that_cannot(monkeypatch: pytest.MonkeyPatch, version: str | None, reason: str) -> None:
    def lacking(*_: Any) -> GpuDecoder:
        raise RuntimeError("not compiled with nvJPEG support\nException raised from decode_jpegs_cuda at ...")

    monkeypatch.setattr(torch.version, "cuda", version)
    monkeypatch.setattr("training.data.gpu_decode.GpuDecoder", lacking)
    with pytest.raises(InputError) as caught:
        gpu_decoder(torch.device("cuda", 0), None)
    assert caught.value.message == f"loader.decoder: gpu {reason}"


def test_torchvision_is_loaded_for_nobody_else() -> None:
    code = "import sys, training.data.prepare, training.data.gpu_decode; sys.exit('torchvision' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@needs_cuda
@pytest.mark.parametrize("form", [SMALL, GREY, OWN])
def test_nvjpeg_gives_what_the_processor_gives(tmp_path: Path, form: Form) -> None:
    """Never run by those who wrote it. Other decoders round otherwise, and may widen colours by simpler means."""
    decoder = gpu_decoder(torch.device("cuda", 0), 2)
    paths = write(tmp_path, FOR_GPU | FOR_PROCESSOR | BROKEN)
    first, second = list(decoder.decode(paths, form)), list(decoder.decode(paths, form))
    assert_alike(paths, first, form, most=16)
    for one, other in zip(first, second, strict=True):
        assert isinstance(one, tuple) == isinstance(other, tuple)
        assert not isinstance(one, tuple) or not isinstance(other, tuple) or np.array_equal(one[0], other[0])
    assert decoder.told().startswith(f"the GPU decoded {2 * len(FOR_GPU) if form.fit else 2 * 6}")
