"""Which Python an engine runs on: our own, that of an engine beside the installed program, or a named one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from studio.engine.deaths import explain_no_start
from training.system import interpreter

NAME = "Scripts/python.exe" if os.name == "nt" else "bin/python"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a frozen program."""
    program = tmp_path / "trainwright"
    program.touch()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.delenv(interpreter.VARIABLE, raising=False)
    return tmp_path


def test_a_checkout_trains_by_the_python_it_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(interpreter.VARIABLE, raising=False)
    assert interpreter.own_interpreter() == sys.executable
    assert interpreter.bundled_engines() == []


def test_an_installed_window_takes_the_engine_beside_it_and_never_itself(installed: Path) -> None:
    assert interpreter.own_interpreter() == ""
    (installed / "engines" / "broken").mkdir(parents=True)
    assert interpreter.bundled_engines() == []
    for name in ("gpu", "cpu"):
        python = installed / "engines" / name / NAME
        python.parent.mkdir(parents=True)
        python.touch()
    assert interpreter.bundled_engines() == [installed / "engines" / name / NAME for name in ("cpu", "gpu")]
    assert interpreter.own_interpreter() == str(installed / "engines" / "cpu" / NAME)


def test_a_missing_engine_is_told_with_what_to_do() -> None:
    death = explain_no_start("", FileNotFoundError(2, "No such file or directory"))
    assert "There is no engine to train with yet" in str(death)
    assert "Preferences" in str(death)


def test_another_python_inherits_none_of_our_variables() -> None:
    base = {"PYTHONHOME": "/a", "PYTHONPATH": "/b", "PYTHONWARNINGS": "error", "VIRTUAL_ENV": "/c", "PATH": "/bin"}
    environment = interpreter.engine_environment(base, "/another/python")
    assert environment["PATH"] == "/bin"
    assert not {"PYTHONHOME", "PYTHONWARNINGS", "VIRTUAL_ENV"} & set(environment)
    assert "/b" not in environment.get("PYTHONPATH", "").split(os.pathsep)


def test_an_installed_window_offers_its_packages_to_no_engine(installed: Path) -> None:
    assert "PYTHONPATH" not in interpreter.engine_environment({"PYTHONPATH": "/b"}, "/another/python")


@pytest.mark.skipif(sys.platform != "linux", reason="PyInstaller sets these on Linux")
def test_what_is_started_finds_its_own_libraries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/bundle")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/theirs")
    monkeypatch.setenv("_PYI_ARCHIVE_FILE", "/bundle/trainwright")
    interpreter.leave_bundle()
    assert os.environ["LD_LIBRARY_PATH"] == "/theirs"
    assert not {"LD_LIBRARY_PATH_ORIG", "_PYI_ARCHIVE_FILE"} & set(os.environ)


@pytest.mark.slow
def test_an_engine_may_be_without_torchvision(tmp_path: Path) -> None:
    """As one that Debian's package of the CPU build may be made without."""
    code = """
import importlib.metadata as metadata, sys
sys.modules["torchvision"] = None
known = metadata.version
def version(name):
    if name == "torchvision":
        raise metadata.PackageNotFoundError(name)
    return known(name)
metadata.version = version
from training.cli import main
sys.exit(main(sys.argv[1:]))
"""
    environ = {**os.environ, "PYTHONPATH": str(Path(interpreter.__file__).parents[2])}
    words = ["run", "preset:spiral", "--set", "schedule.warmup=1 %", "--workspace", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, env=environ, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    asked = subprocess.run(
        [sys.executable, "-c", code.replace("from training.cli import main\nsys.exit(main(sys.argv[1:]))", "import training.models.zoo.torchvision_zoo")],
        capture_output=True, text=True, check=False, env=environ, cwd=tmp_path,
    )  # fmt: skip
    assert "torchvision is not installed where the engine works" in asked.stderr
