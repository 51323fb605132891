"""The application bundle of macOS, as far as another system can tell."""

import os
import plistlib
import subprocess
from pathlib import Path

import pytest

from studio.identity import APP_ID
from studio.shortcut import macos


def test_the_bundle_names_itself_and_its_icon(tmp_path: Path) -> None:
    (bundle,) = macos.install(["/usr/bin/true"], tmp_path)
    info = plistlib.loads((bundle / "Contents" / "Info.plist").read_bytes())
    assert info["CFBundleIdentifier"] == APP_ID
    assert (bundle / "Contents" / "MacOS" / info["CFBundleExecutable"]).is_file()
    assert (bundle / "Contents" / "Resources" / info["CFBundleIconFile"]).read_bytes()[:4] == b"icns"


@pytest.mark.skipif(os.name == "nt", reason="the launcher is a shell script")
def test_the_launcher_starts_a_program_in_any_folder(tmp_path: Path) -> None:
    program = tmp_path / 'it\'s $a "folder"' / "program"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.chmod(0o755)
    (bundle,) = macos.install([str(program), "-m", "two words"], tmp_path)
    launcher = bundle / "Contents" / "MacOS" / macos.LAUNCHER
    answer = subprocess.run([str(launcher), "more"], capture_output=True, text=True, check=True)
    assert answer.stdout == "-m|two words|more|"


def test_a_new_bundle_replaces_the_old_one_and_removing_leaves_nothing(tmp_path: Path) -> None:
    (bundle,) = macos.install(["/usr/bin/true"], tmp_path)
    (bundle / "Contents" / "old").touch()
    assert macos.install(["/usr/bin/true"], tmp_path) == [bundle]
    assert not (bundle / "Contents" / "old").exists()
    assert macos.remove(tmp_path) == [bundle]
    assert macos.remove(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
