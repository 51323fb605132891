"""The compiler behind ``precision.compile``: is it there, where does it keep its work, what to say when it fails."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn

from training.caches.compiled import home, remove_unused
from training.engine.device import ran_out_of_memory
from training.errors import InputError

logger = logging.getLogger(__name__)

OFF = {"precision.compile": "off"}

_CACHE = "TORCHINDUCTOR_CACHE_DIR"

_HOW_TO_GET = {
    "linux": "install g++ (on Debian and Ubuntu the package g++, on Fedora gcc-c++)",
    "darwin": "install Apple's command line tools (xcode-select --install)",
    "win32": "install the Build Tools for Visual Studio with C++, and start from their developer prompt",
}


def use_cache_folder(device: torch.device) -> Path:
    """Where compiled code is kept, so that the next start is quick; several processes may use it at a time.

    ``$TORCHINDUCTOR_CACHE_DIR`` where that is set, else in the user's cache folder (see ``caches.compiled``).
    """
    made_by = hashlib.sha256(f"{torch.__version__} {compiler_facts(device)}".encode()).hexdigest()[:8]
    folder = home() / made_by
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    if os.environ.get(_CACHE) in (None, default_cache_dir()):  # which inductor sets when it is imported
        os.environ[_CACHE] = str(folder)
    chosen = Path(os.environ[_CACHE])
    if chosen == folder:
        with suppress(OSError):  # of which torch will tell
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)  # when it was used last
            remove_unused()
    return chosen


def refuse_without_compiler(device: torch.device) -> None:
    """Raise InputError where this machine lacks what compiling for ``device`` needs."""
    if device.type == "cuda":
        from torch.utils._triton import has_triton  # imports Triton

        if not has_triton():
            raise InputError(
                "precision.compile: compiling for a GPU needs Triton, which is not installed or does not know this GPU. "
                f"Install it ({'pip install triton-windows' if sys.platform == 'win32' else 'pip install triton'}), or "
                "use --set precision.compile=off.",
                fix=OFF,
            )
    elif cpp_compiler() is None:
        raise InputError(
            "precision.compile: no C++ compiler was found, which compiling for the CPU needs. "
            f"{_how_to_get()}, or use --set precision.compile=off.",
            fix=OFF,
        )


def _how_to_get() -> str:
    words = _HOW_TO_GET.get(sys.platform, "install g++ or clang++")
    return f"{words[0].upper()}{words[1:]}"


def cpp_compiler() -> str | None:
    """The C++ compiler that torch's inductor takes; None where it finds none."""
    from torch._inductor import cpp_builder, exc  # takes a second

    try:
        return str(cpp_builder.get_cpp_compiler())
    except (exc.InvalidCxxCompiler, OSError, RuntimeError) as error:
        logger.info("No C++ compiler: %s", error)
        return None


def compiler_facts(device: torch.device) -> str | None:
    """What compiles for ``device``, with its version."""
    if device.type == "cuda":
        return f"Triton {version('triton')}" if find_spec("triton") else None
    name = cpp_compiler()
    return None if name is None else compiler_version(name)


@functools.cache
def compiler_version(name: str) -> str:
    """The first line of what the compiler says of itself; its name where it says nothing."""
    try:
        said = subprocess.run([name, "--version"], capture_output=True, text=True, timeout=10.0, check=True)
        return said.stdout.splitlines()[0].strip()
    except (OSError, subprocess.SubprocessError, IndexError):
        return name


@contextmanager
def explain_compile_errors(setting: str) -> Iterator[None]:
    """Inside, something is compiled or recorded, as ``setting`` asks: what goes wrong becomes one sentence, as InputError."""
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # which warns where there is no GPU
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if ran_out_of_memory(error):
            raise
        logger.info("Compiling failed", exc_info=True)
        done = "recorded" if setting == "precision.cuda_graphs" else "compiled"
        raise InputError(
            f"{setting}: this run's step cannot be {done} here: {_reason(error)}. Use --set {setting}=off.",
            fix={setting: "off"},
        ) from error


@contextmanager
def match_eager(compute: str, tiny: bool) -> Iterator[None]:
    """Inside, what is compiled keeps to what steps in ``precision.compute`` promise that are not compiled.

    Dropout is drawn from torch's own generator. No way to compute is chosen by timing it (padded products and splits of
    sums on GPUs), which in another process may come out otherwise, with other bits. Numbers in bf16 and fp16 are rounded
    between operations that become one, as torch rounds them: without that an MLP's weights were after 24 steps in bf16
    0.013 from those of eager steps (and these 0.007 from fp32), with it 6e-8.

    The processes that torch compiles in, 700 MB each, are ended afterwards; the one or two kernels of a ``tiny`` network
    need none.
    """
    from torch._inductor import async_compile  # takes a second

    options: dict[str, int] = {"compile_threads": 1} if tiny else {}
    options |= {"fallback_random": True, "deterministic": True, "emulate_precision_casts": compute in ("bf16", "fp16")}
    with torch._inductor.config.patch(options):
        try:
            yield
        finally:
            async_compile.shutdown_compile_workers()


@contextmanager
def refuse_counting(model: nn.Module, setting: str) -> Iterator[None]:
    """Inside, a whole step of ``model`` becomes one graph: its tensors and plain numbers must afterwards be what they were.

    A number that a forward pass counts up would stand still from then on; raises InputError.
    """
    before = _plain(model)
    yield
    after = _plain(model)
    if any(key not in after or after[key] != value for key, value in before.items()):  # torch may add marks of its own
        raise InputError(
            f"{setting}: the model counts or keeps something in plain Python while it computes, which would stand still in "
            f"a compiled step. Use --set {setting}=off.",
            fix={setting: "off"},
        )


def _plain(model: nn.Module) -> dict[str, bool | int | float | str | tuple[Any, ...] | None]:
    """By name: identities of parameters and buffers, values of simple attributes."""
    simple = (bool, int, float, str, tuple, type(None))
    return {
        **{name: id(tensor) for name, tensor in (*model.named_parameters(), *model.named_buffers())},
        **{
            f"{path}.{name}": value
            for path, module in model.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, simple)
        },
    }


_WITHIN = re.compile(r"""got \w+\((['"])(?P<reason>.+?)\1\)""")


def _reason(error: BaseException) -> str:
    """The first telling line of torch's long explanation, or the fault that it found in the network's computation."""
    within = _WITHIN.search(str(error))
    if within and "fake tensors" in str(error):  # no tensor of the run's own: torch tries with such
        return within["reason"].splitlines()[0].rstrip(".:")[:300]
    lines = [line.strip() for line in str(error).splitlines()]
    telling = [line for line in lines if line and not line.startswith(("backend=", "Exception:", "Set TORCH", "C++"))]
    text = telling[0] if telling else type(error).__name__
    return text.rstrip(".:")[:300]
