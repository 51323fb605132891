"""The desktop file and the icons of Linux: valid, removable, and understood by a real launcher."""

import configparser
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import studio.__main__ as front_door
from studio.identity import APP_ID, APP_NAME
from studio.shortcut import linux
from studio.shortcut.program import ShortcutError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the menu of Linux")
PROGRAM = ["/opt/my check out/.venv/bin/python", "-P", "-m", "studio"]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("plain", '"plain"'),
        ("a space", '"a space"'),
        ('a"quote', r'"a\\"quote"'),
        ("a$dollar", r'"a\\$dollar"'),
        ("a`tick", r'"a\\`tick"'),
        ("back\\slash", r'"back\\\\slash"'),
        ("50%", '"50%%"'),
        ("it's & (ümlaut)", '"it\'s & (ümlaut)"'),
    ],
)
def test_arguments_are_quoted_as_the_specification_says(argument: str, expected: str) -> None:
    assert linux.quote(argument) == expected


@pytest.mark.parametrize("folder", ["plain", "a space", "quo'te", 'dou"ble', "dol$lar", "ti`ck", "bäck\\slash & (x)"])
def test_a_real_launcher_starts_the_program_in_such_a_folder(folder: str, tmp_path: Path) -> None:
    if not shutil.which("gio"):
        pytest.skip("gio is not installed")
    program = tmp_path / folder / "program"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@" > "${0%/*}/started.part"\nmv "${0%/*}/started.part" "${0%/*}/started"\n'
    )
    program.chmod(0o755)
    desktop_file, *_ = linux.install([str(program), "100%", "two words"], tmp_path / "share")
    subprocess.run(["gio", "launch", str(desktop_file)], check=True, capture_output=True)
    started = program.with_name("started")
    for _ in range(1200):  # gio does not wait for what it starts
        if started.exists():
            break
        time.sleep(0.05)
    assert started.read_text().splitlines() == ["100%", "two words"]


@pytest.mark.parametrize("path", ["/home/me/50% done/python", "/home/me/two\nlines/python"])
def test_a_folder_no_launcher_can_start_from_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(ShortcutError, match="Move Trainwright to a folder with another name"):
        linux.install([path], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_entry_passes_the_validator(tmp_path: Path) -> None:
    if not shutil.which("desktop-file-validate"):
        pytest.skip("desktop-file-validate is not installed")
    desktop_file, *_ = linux.install(PROGRAM, tmp_path)
    answer = subprocess.run(["desktop-file-validate", str(desktop_file)], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")


def test_one_id_everywhere(tmp_path: Path) -> None:
    desktop_file, *icons = linux.install(PROGRAM, tmp_path)
    reader = configparser.ConfigParser(interpolation=None)
    reader.read(desktop_file, encoding="utf-8")
    entry = reader["Desktop Entry"]
    assert desktop_file.stem == entry["Icon"] == entry["StartupWMClass"] == APP_ID
    assert entry["Name"] == APP_NAME
    assert "TryExec" not in entry
    assert {icon.stem for icon in icons} == {APP_ID}
    assert tmp_path / "icons/hicolor/scalable/apps" / f"{APP_ID}.svg" in icons
    assert tmp_path / "icons/hicolor/48x48/apps" / f"{APP_ID}.png" in icons


def test_installed_twice_and_removed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data home"))
    assert front_door.main(["--install-shortcut"]) == 0
    once = sorted((tmp_path / "data home").rglob("*"))
    assert front_door.main(["--install-shortcut"]) == 0
    assert sorted((tmp_path / "data home").rglob("*")) == once
    assert "is in your start menu now" in capsys.readouterr().out

    assert front_door.main(["--remove-shortcut"]) == 0
    assert [path for path in (tmp_path / "data home").rglob("*") if path.is_file()] == []
    assert front_door.main(["--remove-shortcut"]) == 0
    assert "was not in your start menu" in capsys.readouterr().out


def test_the_entry_starts_this_installation_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert front_door.main(["--install-shortcut"]) == 0
    line = next(
        line
        for line in (tmp_path / "applications" / f"{APP_ID}.desktop").read_text(encoding="utf-8").splitlines()
        if line.startswith("Exec=")
    )
    assert line == f'Exec={linux.quote(sys.executable)} "-P" "-m" "studio"'


def test_an_installation_that_would_not_start_gets_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'No module named studio' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert front_door.main(["--install-shortcut"]) == 1
    assert "No module named studio" in capsys.readouterr().err
    assert not (tmp_path / "share").exists()


def test_a_package_s_entry_opens_files_and_a_person_s_own_names_no_types() -> None:
    packaged = linux.desktop_entry(["trainwright"], ("application/x-trainwright-config",))
    assert 'Exec="trainwright" %f\n' in packaged
    assert packaged.endswith("MimeType=application/x-trainwright-config;\n")
    assert "MimeType" not in linux.desktop_entry(["trainwright"])
    assert "%f" not in linux.desktop_entry(["trainwright"])
