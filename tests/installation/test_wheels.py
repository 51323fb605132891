"""What is built for package indexes: the same bytes each time, and in each wheel what its name says."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest

from training import __version__
from training.system import resources
from training.system.installed import canonical_name

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = CHECKOUT / "packaging" / "build.py"
NOT_OF_THE_WINDOW = {"torch", "torchvision", "safetensors", "onnx", "onnxruntime", "onnxscript", "tokenizers"}
NOT_OF_THE_ENGINE = {"pyside6-essentials", "shiboken6", "pyqtgraph"}

needs_hatchling = pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")


def build(out: Path, *targets: str, **variables: str) -> None:
    """As a person would, of the checkout as it is."""
    words = [sys.executable, str(BUILD), *targets, "--dirty", "--out", str(out)]
    done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(name).decode())


def names(requirements: list[str]) -> set[str]:
    return {canonical_name(text.split(";")[0].split("[")[0].rstrip("0123456789.,<>=! ")) for text in requirements}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built")
    build(out, "wheel", SOURCE_DATE_EPOCH="1700000000", TZ="UTC")
    return out


def test_the_two_lists_keep_torch_and_qt_apart() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    window = names([*project["dependencies"], *extras["studio"]])
    engine = names([*project["dependencies"], *extras["engine"]])
    assert not window & NOT_OF_THE_WINDOW
    assert not engine & NOT_OF_THE_ENGINE
    assert {"torch", "torchvision"} <= engine
    assert {"pyside6-essentials", "pyqtgraph"} <= window


@needs_hatchling
def test_the_engine_s_wheel_is_training_alone_with_all_that_it_needs(built: Path) -> None:
    wheel = built / f"trainwright_engine-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        listed = archive.namelist()
    assert {name.split("/")[0] for name in listed} == {"training", f"trainwright_engine-{__version__}.dist-info"}
    assert "training/files/presets/sample.toml" in listed
    told = metadata(wheel)
    assert told["Version"] == __version__
    required = told.get_all("Requires-Dist", [])
    at_once = names([text for text in required if "extra ==" not in text])
    assert {"torch", "pydantic"} <= at_once
    assert not names(required) & NOT_OF_THE_ENGINE
    assert "sweeps" in told.get_all("Provides-Extra", [])


@needs_hatchling
def test_the_wheel_of_both_asks_for_neither_torch_nor_qt_by_itself(built: Path) -> None:
    wheel = built / f"trainwright-{__version__}-py3-none-any.whl"
    told = metadata(wheel)
    at_once = names([text for text in told.get_all("Requires-Dist", []) if "extra ==" not in text])
    assert not at_once & (NOT_OF_THE_WINDOW | NOT_OF_THE_ENGINE)
    with zipfile.ZipFile(wheel) as archive:
        listed = set(archive.namelist())
    assert {"studio/app.py", "studio/files/icons/app.svg", "training/files/presets/sample.toml"} <= listed


@needs_hatchling
@pytest.mark.slow
def test_the_same_sources_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    build(first, "wheel", "sdist", SOURCE_DATE_EPOCH="1700000000", TZ="Pacific/Kiritimati", LC_ALL="C")
    before = os.umask(0o077)
    try:
        build(second, "wheel", "sdist", SOURCE_DATE_EPOCH="1700000000", TZ="UTC", PYTHONHASHSEED="7")
    finally:
        os.umask(before)
    made = sorted(path.name for path in first.iterdir())
    assert len(made) == 3
    assert sorted(path.name for path in second.iterdir()) == made
    for name in made:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    for wheel in built.iterdir():
        assert wheel.read_bytes() == (first / wheel.name).read_bytes()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_an_uncommitted_change_is_told_instead_of_built(tmp_path: Path) -> None:
    """In a repository of its own: the checkout's state is nobody's business here."""
    here = tmp_path / "checkout"
    for name in (
        "packaging/build.py",
        "training/__init__.py",
        *(f"packaging/builder/{each.name}" for each in (CHECKOUT / "packaging/builder").glob("*.py")),
    ):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes((CHECKOUT / name).read_bytes())
    subprocess.run(["git", "init", "-q", str(here)], check=True)
    done = subprocess.run(
        [sys.executable, str(here / "packaging/build.py"), "wheel"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "not committed, so nobody could build the same" in done.stderr
    assert not (here / "dist").exists()


def test_the_requirements_of_an_engine_are_those_of_the_checkout() -> None:
    assert "torch" in names(resources.engine_requirements())
    assert not names(resources.engine_requirements()) & NOT_OF_THE_ENGINE


@needs_hatchling
def test_an_installed_window_finds_the_wheel_that_came_with_it(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert resources.find_engine_wheel() is None
    place = tmp_path / "training" / "files" / "wheels"
    place.mkdir(parents=True)
    name = f"trainwright_engine-{__version__}-py3-none-any.whl"
    (place / "trainwright_engine-0.0.1-py3-none-any.whl").write_bytes(b"of another version")
    assert resources.find_engine_wheel() is None
    (place / name).write_bytes((built / name).read_bytes())
    assert resources.find_engine_wheel() == place / name
    assert {"torch", "numpy"} <= names(resources.engine_requirements())
    assert not [text for text in resources.engine_requirements() if "extra" in text]
