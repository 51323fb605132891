"""The .lnk file of Windows, read back by a parser that is not ours."""

import subprocess
from pathlib import Path
from typing import Any

import LnkParse3
import pytest

from studio.identity import APP_ID
from studio.shortcut import windows
from studio.shortcut.program import ShortcutError


def read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        content: dict[str, Any] = LnkParse3.lnk_file(file, cp="cp1252").get_json()
    return content


@pytest.mark.parametrize("folder", ["C:\\Trainwright", "C:\\Users\\Zoë Müller\\my check out", "D:\\学習\\x y"])
def test_a_reader_finds_what_was_written(folder: str, tmp_path: Path) -> None:
    program = [f"{folder}\\.venv\\Scripts\\pythonw.exe", "-P", "-m", "studio", "two words"]
    (path,) = windows.install(program, tmp_path / "Start Menu" / "Programs")
    assert path.name == "Trainwright.lnk"

    content = read(path)
    assert content["header"]["windowstyle"] == "SW_SHOWNORMAL"
    assert content["link_info"]["local_base_path_unicode"].rstrip("\0") == program[0]
    names = [item["primary_name"] for item in content["target"]["items"] if "primary_name" in item]
    assert names[-3:] == [".venv", "Scripts", "pythonw.exe"]
    data = content["data"]
    assert data["working_directory"] == f"{folder}\\.venv\\Scripts"
    assert data["command_line_arguments"] == subprocess.list2cmdline(program[1:])
    assert data["icon_location"].endswith("app.ico")
    (store,) = content["extra"]["METADATA_PROPERTIES_BLOCK"]["property_store"]
    assert store["format_id"] == "9F4C2855-9F79-4B39-A8D0-E1D42DE1D5F3"
    (value,) = store["serialized_property_values"]
    assert (value["id"], value["value"]) == (5, APP_ID)  # System.AppUserModel.ID


def test_a_network_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShortcutError, match="lettered drive"):
        windows.install(["\\\\server\\share\\pythonw.exe"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_removing_takes_it_out_once(tmp_path: Path) -> None:
    written = windows.install(["C:\\Trainwright\\pythonw.exe"], tmp_path)
    assert windows.remove(tmp_path) == written
    assert list(tmp_path.iterdir()) == []
    assert windows.remove(tmp_path) == []
