"""Debian's package of an engine for the CPU: an environment of Debian's own Python with the CPU build of PyTorch.

PyPI has no such build for Linux, PyTorch's own index has: TRAINWRIGHT_CPU_WHEELS names a folder with its wheels (torch, and torchvision
where there is one for it).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from builder.checkout import BUILD, BuildError, load_module, run
from builder.deb import finish_package, override
from builder.inventory import write_inventory
from builder.linux_files import LIBRARY
from builder.wheels import make_engine_wheel

PACKAGE = "trainwright-engine-cpu"
PYTHON = "/usr/bin/python3.11"
PLACE = f"{LIBRARY}/engines/cpu"
_CPU_WHEELS = "TRAINWRIGHT_CPU_WHEELS"
_BUNDLED = "an environment of its own, as its wheels were built and tested"
_OVERRIDES = [
    "embedded-library", "unstripped-binary-or-object", "custom-library-search-path",
    "shared-library-lacks-prerequisites", "library-not-linked-against-libc", "package-installs-python-bytecode",
    "package-installs-python-pycache-dir", "wrong-path-for-interpreter", "package-installs-nonbinary-perl-in-usr-lib-perl5",
    "arch-dependent-file-in-usr-share", "missing-dep-for-interpreter", "python3-script-but-no-python3-dep",
]  # fmt: skip


def make_engine_deb(tree: Path, out: Path) -> list[Path]:
    """The package; without torchvision where there is no wheel of it for the CPU."""
    if not Path(PYTHON).exists():
        raise BuildError(f"{PYTHON} is missing, the Python that the package depends on: build on Debian 12.")
    folder = Path(os.environ.get(_CPU_WHEELS, ""))
    wheels = {name: max(folder.glob(f"{name}-*+cpu-cp311-*.whl"), default=None) for name in ("torch", "torchvision")}
    if not os.environ.get(_CPU_WHEELS) or wheels["torch"] is None:
        raise BuildError(
            f"{_CPU_WHEELS} has to name a folder with a CPU build of torch for Python 3.11 (torch-*+cpu-cp311-*.whl)."
        )
    BUILD.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="trainwright-engine-", dir=BUILD) as made:  # /tmp may be too small
        root = Path(made) / "root"
        _make_engine(tree, root, [path for path in wheels.values() if path is not None])
        override(root, PACKAGE, dict.fromkeys((f"{tag} *" for tag in _OVERRIDES), _BUNDLED))
        without = (
            "" if wheels["torchvision"] else "\n .\n Without torchvision: its networks and data sets are not offered."
        )
        fields = {
            "Depends": "python3.11, libc6 (>= 2.34), libstdc++6, libgcc-s1, zlib1g",
            "Enhances": "trainwright",
            "Description": "engine for Trainwright: PyTorch for the CPU\n"
            " What trains when Trainwright's window is asked to, on machines without a GPU:\n"
            f" a Python environment with PyTorch.{without}",
        }
        return [finish_package(root, PACKAGE, fields, out, ("-Zxz", "-z3"))]


def _make_engine(tree: Path, root: Path, given: list[Path]) -> None:
    """The environment below ``root``, with the wheels ``given``, and its inventory."""
    engine = root / PLACE
    run([PYTHON, "-m", "venv", "--without-pip", engine])
    wheel = make_engine_wheel(tree, root.parent)
    wanted = load_module(tree, "training.system.resources").engine_requirements()
    others = [text for text in wanted if not text.startswith("torch")]
    install = [sys.executable, "-m", "pip", "--python", engine / "bin/python", "install", "--no-compile"]
    run([*install, "--disable-pip-version-check", *given, *others])
    run([*install, "--no-deps", wheel])
    write_inventory(engine / "bin/python", root / f"usr/share/doc/{PACKAGE}", PACKAGE)
    site = engine / "lib/python3.11/site-packages"
    _tidy(engine, site)
    # Once and for all, and told the place where it will lie: who trains may not write there.
    compile_all = [PYTHON, "-m", "compileall", "-q", "-x", "py3[0-9]+_", "--invalidation-mode", "unchecked-hash"]
    run([*compile_all, "-s", root, "-p", "/", site], PYTHONHASHSEED="1")


def _tidy(engine: Path, site: Path) -> None:
    """Take away what belongs to the building machine, and what only compilers of extensions read."""
    for script in (engine / "bin").iterdir():
        if script.is_symlink() and script.name.startswith("python"):
            continue
        script.unlink()
    (engine / "pyvenv.cfg").write_text(
        "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11\n", encoding="utf-8"
    )
    for name in ("include", "lib64"):
        path = engine / name
        path.unlink(missing_ok=True) if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)
    unread = [path for name in ("include", "test", "share", "lib/*.a") for path in site.glob(f"torch/{name}")]
    for path in unread:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for record in site.glob("*.dist-info/direct_url.json"):  # names the wheel's place on the building machine
        record.unlink()
