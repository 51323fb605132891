"""What every test needs: no display asked for, no file of the person's own touched, `slow` and server's tests only when asked."""

import ctypes
import gc
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Before anything imports Qt: without a display Qt aborts the process, and there is no exception to catch.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Tests run beside each other: arithmetic threads that spin at barriers would slow each other down several-fold.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# torch is to compile no programs that try the CPU's vector instructions: that they work is not what is proved.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
# Before anything takes it: a tiny run asks the disk seventy times, and none of these processes meets a power cut.
os.fsync = lambda fd: None


ASKED_BY = {
    "slow": ("--run-slow",),
    "server": ("--run-servers",),
    "light_server": ("--run-slow", "--run-servers"),
}
"""The options of which one has to be given for a test with that mark."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run the tests marked slow or light_server")
    parser.addoption("--run-servers", action="store_true", help="also run the tests marked server or light_server")
    if find_spec("PySide6") is None:
        # pytest-qt refuses to start without Qt; `training` and its tests have to do without.
        pluginmanager.unregister(name="pytest-qt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unasked = {mark for mark, options in ASKED_BY.items() if not any(map(config.getoption, options))}
    wanted: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (left_out if unasked & {mark.name for mark in item.iter_markers()} else wanted).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = wanted


def pytest_collection_finish() -> None:
    """Modules and collected tests stay to the end: each full collection of garbage would look through their millions of objects."""
    gc.freeze()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for each test. Not made by ``mktemp``, which looks at all there are to find the next number."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(scope="session")
def compiled_code(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One place for compiled code, so that each thing is compiled once, for all that run beside each other too."""
    base = tmp_path_factory.getbasetemp()
    return str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled")


@pytest.fixture(scope="session")
def qapp_cls(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Also in a folder that Qt does not find by itself. The images of its style sheet lie where they outlive the first test's home."""
    from PySide6.QtWidgets import QApplication  # loaded by those who need it

    from studio.theme import stylesheet, tokens
    from studio.window.application import find_plugins

    find_plugins()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("theme")))
        stylesheet.build(tokens.LIGHT, 1.0)
    return QApplication


@pytest.fixture(scope="session")
def runtime() -> Iterator[Path]:
    """Where windows listen for other starts: the path of a socket is short, pytest's folders are not."""
    with tempfile.TemporaryDirectory(prefix="tw-") as folder:
        yield Path(folder)


@pytest.fixture(autouse=True, scope="module")
def memory_given_back() -> Iterator[None]:
    """glibc keeps what networks were made of: a third of a gigabyte after one vision transformer, and each worker builds dozens."""
    yield
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


@pytest.fixture
def new_home(homes: Iterator[Path], request: pytest.FixtureRequest) -> Iterator[Path]:
    """Kept, as pytest keeps ``tmp_path``, only of a test that failed."""
    failed_before = request.session.testsfailed
    home = next(homes)
    home.mkdir()
    yield home
    if request.session.testsfailed == failed_before:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(autouse=True)
def isolated_home(new_home: Path, compiled_code: str, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test: workspace, settings, caches and start menu all lie in a temporary folder."""
    monkeypatch.setenv("HOME", str(new_home))
    monkeypatch.setenv("USERPROFILE", str(new_home))
    monkeypatch.setenv("APPDATA", str(new_home / "AppData" / "Roaming"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", compiled_code)
    monkeypatch.setenv("TRAINWRIGHT_WORKSPACE", str(new_home / "workspace"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(new_home / name.lower()))
    return new_home
