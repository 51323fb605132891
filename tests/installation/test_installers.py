"""The recipes for systems that this one is not: compiled, read and listed here, around a stand-in of the frozen window."""

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from studio import identity
from training import __version__

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGING = CHECKOUT / "packaging"
BUILD = PACKAGING / "build.py"


def build(target: str, out: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(BUILD), target, "--dirty", "--out", str(out)]
    return subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("makensis") is None, reason="makensis is not installed")
def test_the_installer_for_windows_holds_the_whole_window(tmp_path: Path) -> None:
    window = tmp_path / "a window"
    files = ["trainwright.exe", "trainwright-cli.exe", "LICENSES.txt", "_internal/a folder/größe.pyc"]
    for name in files:
        (window / name).parent.mkdir(parents=True, exist_ok=True)
        (window / name).write_bytes(b"MZ")
    done = build("windows", tmp_path / "out", TRAINWRIGHT_FROZEN=str(window))
    assert done.returncode == 0, done.stderr
    installer = tmp_path / "out" / f"Trainwright-{__version__}-windows.exe"
    assert installer.read_bytes()[:2] == b"MZ"
    if lister := shutil.which("7z"):
        listed = subprocess.run([lister, "l", "-slt", str(installer)], capture_output=True, check=True)
        told = listed.stdout.decode("utf-8", "replace").replace("\\", "/")
        for name in [*files, "uninstall.exe"]:
            assert f"Path = {name}\n" in told, told


def test_what_was_not_frozen_on_windows_is_put_into_no_installer(tmp_path: Path) -> None:
    done = build("windows", tmp_path / "out", TRAINWRIGHT_FROZEN=str(tmp_path))
    assert done.returncode == 1
    assert "holds no trainwright.exe" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the others can freeze for one of them")
@pytest.mark.parametrize("target", ["windows", "macos"])
def test_a_window_is_frozen_on_its_own_system_alone(target: str, tmp_path: Path) -> None:
    done = build(target, tmp_path / "out")
    assert done.returncode == 1
    assert "can only be frozen there" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_uninstaller_removes_whole_folders_only_of_its_own() -> None:
    """Runs may lie in the folder of the program, where a person has put them there."""
    script = (PACKAGING / "windows" / "installer.nsi").read_text(encoding="utf-8")
    removed = [line.split()[-1] for line in script.splitlines() if line.strip().startswith("RMDir /r")]
    assert removed == [r'"$INSTDIR\_internal"']


class Frozen:
    """What window.spec asks PyInstaller for."""

    def __init__(self) -> None:
        self.asked: dict[str, list[dict[str, Any]]] = {}

    def stand_in(self, name: str) -> Any:
        def call(*parts: object, **options: Any) -> Any:
            self.asked.setdefault(name, []).append(options)
            result = ModuleType(name)
            result.__dict__.update(binaries=[], datas=[], pure=[], scripts=[])
            return result

        return call


@pytest.fixture
def freeze(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads window.spec as PyInstaller would on a system; returns what it asked for."""
    hooks = ModuleType("PyInstaller.utils.hooks")
    hooks.copy_metadata = lambda name: [(name, name)]  # type: ignore[attr-defined]
    for name, module in {"PyInstaller": ModuleType("PyInstaller"), "PyInstaller.utils": ModuleType("utils")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "PyInstaller.utils.hooks", hooks)
    monkeypatch.setenv("TRAINWRIGHT_TREE", str(CHECKOUT))
    site = tmp_path / "site"
    monkeypatch.setenv("TRAINWRIGHT_SITE", str(site))
    for name, text in {
        "studio/app.py": "from training import light",
        "training/light.py": "def later(): import torch",
        "training/engine/step.py": "import torch.nn",
        "training/engine/fit.py": "from training.engine import step",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("TRAINWRIGHT_ENGINE_WHEEL", str(tmp_path / "engine.whl"))
    monkeypatch.setattr(sys, "path", [*sys.path])

    def read(system: str) -> dict[str, list[dict[str, Any]]]:
        frozen = Frozen()
        names = {name: frozen.stand_in(name) for name in ("Analysis", "PYZ", "EXE", "COLLECT", "BUNDLE")}
        places = {"SPECPATH": str(PACKAGING), "DISTPATH": str(tmp_path), "workpath": str(tmp_path)}
        monkeypatch.setattr(sys, "platform", system)
        spec = PACKAGING / "window.spec"
        exec(compile(spec.read_text(encoding="utf-8"), spec, "exec"), names | places)
        return frozen.asked

    return read


@pytest.mark.parametrize(
    ("system", "programs"),
    [("linux", ["trainwright"]), ("win32", ["trainwright", "trainwright-cli"]), ("darwin", ["trainwright"])],
)
def test_the_window_is_frozen_without_what_loads_torch(freeze: Any, system: str, programs: list[str]) -> None:
    asked = freeze(system)
    (analysis,) = asked["Analysis"]
    assert analysis["hiddenimports"] == ["studio.app", "training.light"]
    assert [each["name"] for each in asked["EXE"]] == programs
    assert [each["console"] for each in asked["EXE"]] == [name.endswith("cli") for name in programs]
    assert [Path(each["icon"]).is_file() for each in asked["EXE"]] == [True] * len(programs)
    assert len(asked.get("BUNDLE", [])) == (system == "darwin")


def test_what_macos_is_told_of_the_application_can_be_read_by_it(freeze: Any) -> None:
    (bundle,) = freeze("darwin")["BUNDLE"]
    told = plistlib.loads(plistlib.dumps(bundle["info_plist"]))
    assert bundle["name"] == "Trainwright.app"
    assert told["CFBundleIdentifier"] == bundle["bundle_identifier"] == identity.APP_ID
    assert told["CFBundleShortVersionString"] == __version__
    kinds = told["UTExportedTypeDeclarations"]
    extensions = [each["UTTypeTagSpecification"]["public.filename-extension"] for each in kinds]
    assert extensions == [["trainwright.toml"], ["trainwright"]]
    opened = [each["LSItemContentTypes"] for each in told["CFBundleDocumentTypes"]]
    assert opened == [[each["UTTypeIdentifier"]] for each in kinds]
