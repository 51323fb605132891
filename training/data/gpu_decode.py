"""``loader.decoder = "gpu"``: JPEGs decoded on an NVIDIA GPU by nvJPEG, through torchvision, and scaled there.

Threads read the files, hash them, and decode whatever nvJPEG cannot or should not: other formats, pictures to be turned,
colours it does not know, and whatever may be damaged, so that ``decode`` says what is left out and why. All the rest is
the same on any device: with ``torch.device("cpu")`` torchvision decodes with libjpeg, and so the tests run all of it but
nvJPEG itself. **nvJPEG itself was never run by those who wrote this.**
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from training.data.decode import Form, Outcome, Unusable, open_picture, read_picture, unpacked
from training.data.pillow_resize import Fit
from training.data.processes import core_count
from training.errors import InputError, TrainingError, counted

_RULE = 1  # raise it when the same file gets other pixels
_BATCH = 64  # pictures given to nvJPEG at once, which is where its speed comes from
_MOST_PIXELS = 32 << 20  # of one picture, and of a batch: in full size they take 3 bytes each, while scaled 30 at most
_MOST_THREADS = 16
_OLDEST_CUDA = (12, 3)
"""Before, nvJPEG crashes with the whole process on some files whose EXIF notes are broken."""
_NO_MEMORY = re.compile(r"out of memory|Failed to [a-z ]+: 5\b")  # nvJPEG's status 5: its allocator was refused memory
_WAY_OUT = "Set loader.decoder = cpu; a run that began with gpu goes on with it as a branch."


@dataclass(frozen=True)
class _Jpeg:
    """A file that the GPU decodes; ``pixels`` is how many it has."""

    data: bytes
    digest: bytes
    pixels: int


class GpuDecoder:
    """Decodes many files in order. Thread-safe; no process but the one that made it may use it."""

    def __init__(self, device: torch.device, threads: int | None = None) -> None:
        """``threads`` read files; None takes as many as there are cores. Raises ImportError without torchvision."""
        import torchvision  # here, since it takes as long as torch itself, and only this decoder needs it
        from torchvision.io import ImageReadMode, decode_jpeg

        # torchvision announces that TorchCodec will take over one day; that is for developers to hear.
        warnings.filterwarnings("ignore", "The image decoding and encoding capabilities", DeprecationWarning)
        self._device = device
        self._decode_jpeg: Callable[..., list[Tensor]] = decode_jpeg
        self._modes: dict[int, Any] = {1: ImageReadMode.GRAY, 3: ImageReadMode.RGB}
        self._threads = max(1, min(core_count(), _MOST_THREADS) if threads is None else threads)
        self._lock = threading.Lock()
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._fit: Fit | None = None
        self._by_gpu = self._by_processor = 0
        where = (
            f"nvJPEG of CUDA {torch.version.cuda} on {torch.cuda.get_device_name(device)}"
            if self._stream
            else "libjpeg"
        )
        self.name = f"{where}, torchvision {torchvision.__version__}, {_RULE}"
        """Whatever may decide about a bit of the pixels."""

    def try_out(self) -> None:
        """Decode a picture made on the spot; raises RuntimeError where torchvision was built without nvJPEG."""
        sample = io.BytesIO()
        Image.new("RGB", (16, 16)).save(sample, "JPEG")
        with self._lock, self._own_stream():
            self._decode_jpeg([_bytes(sample.getvalue())], self._modes[3], device=self._device)

    def decode(self, paths: Iterable[Path], form: Form) -> Generator[Outcome, None, None]:
        """What became of each file, in order. Raises TrainingError when the GPU's memory does not suffice."""
        group: list[_Jpeg | Outcome] = []
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="read pictures")
        try:
            rest = iter(paths)
            running: deque[Future[_Jpeg | Outcome]] = deque(
                pool.submit(_ready, path, form) for path in islice(rest, _BATCH)
            )
            while running:
                ready = running.popleft().result()
                running.extend(pool.submit(_ready, path, form) for path in islice(rest, 1))
                if group and _pixels([*group, ready]) > _MOST_PIXELS:
                    yield from self._finished(group, form)
                    group = []
                group.append(ready)
                if len(group) == _BATCH:
                    yield from self._finished(group, form)
                    group = []
            yield from self._finished(group, form)
        finally:
            pool.shutdown(cancel_futures=True)

    def told(self) -> str:
        """Who decoded so far, a clause for the person; "" when nothing was."""
        if not self._by_gpu + self._by_processor:
            return ""
        rest = f", the processor {counted(self._by_processor, 'other')}" if self._by_processor else ""
        return f"the GPU decoded {counted(self._by_gpu, 'picture')}{rest}"

    def give_back(self) -> None:
        """Let others have the GPU memory that full-size pictures took: torch keeps it for this stream's next ones."""
        if self._stream is not None:
            torch.cuda.empty_cache()

    def _finished(self, group: list[_Jpeg | Outcome], form: Form) -> Iterator[Outcome]:
        jpegs = [ready for ready in group if isinstance(ready, _Jpeg)]
        decoded = iter(self._pixels(jpegs, form))
        for ready in group:
            if not isinstance(ready, _Jpeg):
                self._by_processor += isinstance(ready, tuple)
                yield ready
                continue
            pixels = next(decoded)
            if pixels is not None:
                self._by_gpu += 1
                yield pixels, ready.digest
                continue
            outcome = unpacked(ready.data, ready.digest, form)
            self._by_processor += isinstance(outcome, tuple)
            yield outcome

    def _pixels(self, jpegs: list[_Jpeg], form: Form) -> list[NDArray[np.uint8] | None]:
        """Those of each picture (H, W, C), None where nvJPEG refuses it."""
        if not jpegs:
            return []
        with self._lock, self._own_stream():
            try:
                return self._fitted(
                    self._decoded([_bytes(jpeg.data) for jpeg in jpegs], self._modes[form.channels]), form
                )
            except torch.OutOfMemoryError as error:
                raise _memory_error() from error

    def _fitted(self, decoded: list[Tensor | None], form: Form) -> list[NDArray[np.uint8] | None]:
        """Scale those of one size together, since to start the GPU's work takes longer than to do it."""
        if self._fit is None or self._fit.size != (form.height, form.width):
            self._fit = Fit((form.height, form.width), self._device)
        alike: dict[torch.Size, list[int]] = {}
        for number, picture in enumerate(decoded):
            if picture is not None:
                alike.setdefault(picture.shape, []).append(number)
        fitted: list[NDArray[np.uint8] | None] = [None] * len(decoded)
        for numbers in alike.values():
            some = self._fit(torch.stack([picture for number in numbers if (picture := decoded[number]) is not None]))
            for number, pixels in zip(numbers, some.permute(0, 2, 3, 1).contiguous().cpu().numpy(), strict=True):
                fitted[number] = pixels
        return fitted

    def _decoded(self, files: list[Tensor], mode: Any) -> list[Tensor | None]:
        """uint8 (C, H, W) of each, on the device. nvJPEG gives all or nothing: the halves show what it refuses."""
        self._wait()  # nvJPEG writes on another stream, without waiting for what was done with the memory it is given
        try:
            return [*self._decode_jpeg(files, mode, device=self._device)]
        except RuntimeError as error:
            if len(files) > 1:
                half = len(files) // 2
                return self._decoded(files[:half], mode) + self._decoded(files[half:], mode)
            if _lacks_memory(error):
                raise _memory_error() from error
            self._wait()  # raises where not the file is broken, but the GPU
            return [None]

    def _wait(self) -> None:
        if self._stream is not None:
            self._stream.synchronize()

    def _own_stream(self) -> AbstractContextManager[Any]:
        """Work of its own beside the model's, on the right GPU: torchvision takes the current one's stream."""
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)


def gpu_decoder(device: torch.device, threads: int | None) -> GpuDecoder:
    """One that works on ``device``; raises InputError where there is none, with the reason."""
    if device.type != "cuda" or torch.version.cuda is None:
        raise _refusal(f"needs an NVIDIA GPU, and this run computes on {_called(device)}")
    if tuple(int(part) for part in torch.version.cuda.split(".")[:2]) < _OLDEST_CUDA:
        oldest = ".".join(map(str, _OLDEST_CUDA))
        raise _refusal(f"needs a torch built for CUDA {oldest} or later, and this one is for {torch.version.cuda}")
    try:
        decoder = GpuDecoder(device, threads)
        decoder.try_out()
    except (ImportError, OSError, RuntimeError) as error:
        if _lacks_memory(error):
            raise _memory_error() from error
        reason = str(error).partition("\n")[0].strip().rstrip(".")[:200]
        raise _refusal(f"cannot be had from the torchvision that is installed ({reason})") from error
    return decoder


def _refusal(why: str) -> InputError:
    return InputError(f"loader.decoder: gpu {why}.", _WAY_OUT, {"loader.decoder": "cpu"})


def _lacks_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or bool(_NO_MEMORY.search(str(error)))


def _memory_error() -> TrainingError:
    return TrainingError(
        "The GPU's memory does not suffice to decode pictures there.",
        f"Close other programs that use the GPU, or: {_WAY_OUT[0].lower()}{_WAY_OUT[1:]}",
        {"loader.decoder": "cpu"},
    )


def _called(device: torch.device) -> str:
    return {"cpu": "the processor", "mps": "an Apple GPU", "cuda": "an AMD GPU"}.get(device.type, str(device))


def _ready(path: Path, form: Form) -> _Jpeg | Outcome:
    """Read the file, and decode it unless that is for the GPU to do."""
    try:
        data = read_picture(path)
    except Unusable as error:
        return error
    digest = hashlib.sha256(data).digest()
    pixels = _pixels_for_gpu(data, form)
    return _Jpeg(data, digest, pixels) if pixels else unpacked(data, digest, form)


def _pixels_for_gpu(data: bytes, form: Form) -> int:
    """How many pixels the picture has, 0 when it is not one that the GPU decodes as ``decode`` does."""
    if not data.endswith(b"\xff\xd9"):  # perhaps cut off: nvJPEG would fill up the rest and say nothing
        return 0
    try:
        with open_picture(io.BytesIO(data)) as image:
            width, height = image.size
            fits = form.fit or (width, height) == (form.width, form.height)
            known = image.format == "JPEG" and (image.mode == "L" or (image.mode == "RGB" and _is_ycc(image)))
            turned = image.info.keys() & {"exif", "xmp"} and image.getexif().get(0x0112, 1) != 1
            return width * height if fits and known and not turned and width * height <= _MOST_PIXELS else 0
    except Exception:  # noqa: BLE001 - decoders raise anything on broken data; the processor's way will say what
        return 0


def _is_ycc(image: Image.Image) -> bool:
    """Whether its colours are stored as JPEG's usual ones, by every reader's rules: some files hold plain RGB."""
    if "adobe_transform" in image.info:
        return bool(image.info["adobe_transform"] == 1)
    return "jfif" in image.info or [layer[0] for layer in getattr(image, "layer", ())] == [1, 2, 3]


def _bytes(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _pixels(group: Sequence[_Jpeg | Outcome]) -> int:
    return sum(ready.pixels for ready in group if isinstance(ready, _Jpeg))
