"""Names, versions and origins of what is installed, from the folders that installers leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import training
from training.engine.runs import environment
from training.system.installed import Package, list_packages


def put(place: Path, record: str, installer: str = "pip\n", direct: Any = None, complete: bool = True) -> None:
    folder = place / record
    folder.mkdir(parents=True)
    if installer:
        (folder / "INSTALLER").write_text(installer)
    if complete:
        (folder / "RECORD").write_text("")
    if direct is not None:
        (folder / "direct_url.json").write_text(direct if isinstance(direct, str) else json.dumps(direct))


@pytest.mark.parametrize(
    ("direct", "found"),
    [
        (None, Package("some-name", "1.0", "index")),
        ({"url": "file:///x", "dir_info": {"editable": True}}, Package("some-name", "1.0", "editable", "file:///x")),
        ({"url": "file:///x", "dir_info": {}}, Package("some-name", "1.0", "folder", "file:///x")),
        (
            {"url": "https://me:secret@host/x.whl?key=secret", "archive_info": {"hashes": {"sha256": "ab"}}},
            Package("some-name", "1.0", "archive", "https://host/x.whl", sha256="ab"),
        ),
        ({"url": "file:///x.whl", "archive_info": {}}, Package("some-name", "1.0", "archive", "file:///x.whl")),
        (
            {"url": "https://token@host/x.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            Package("some-name", "1.0", "repository", "https://host/x.git", commit="c0ffee"),
        ),
        ("damaged", Package("some-name", "1.0", "index")),
        ("[" * 60000, Package("some-name", "1.0", "index")),
    ],
)
def test_where_a_package_came_from(tmp_path: Path, direct: Any, found: Package) -> None:
    put(tmp_path, "Some_Name-1.0.dist-info", direct=direct)
    assert list_packages([str(tmp_path)]) == (found,)


def test_the_first_of_a_name_is_what_import_finds(tmp_path: Path) -> None:
    put(tmp_path / "one", "a-1.dist-info")
    put(tmp_path / "two", "A-2.dist-info")
    put(tmp_path / "two", "b-3.dist-info", installer="conda\n")
    put(tmp_path / "two", "c-4.dist-info", installer="", complete=False)
    (tmp_path / "two" / "nameless.dist-info").mkdir()
    (tmp_path / "two" / "d-5-py3.11.egg-info").write_text("Metadata-Version: 1.0\n")
    (tmp_path / "two" / "e.egg-info").mkdir()
    (tmp_path / "two" / "e.egg-info" / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: e\nVersion: 6\n")
    found = list_packages([str(tmp_path / "one"), str(tmp_path / "gone"), str(tmp_path / "two")])
    versions = {package.name: (package.version, package.origin) for package in found}
    assert versions == {
        "a": ("1", "index"), "b": ("3", "system"), "c": ("4", "system"), "d": ("5", "system"), "e": ("6", "system"),
    }  # fmt: skip


def test_the_program_s_own_environment_has_torch() -> None:
    [torch] = [package for package in list_packages() if package.name == "torch"]
    assert torch.version


def test_the_folder_that_was_loaded_is_named_where_it_hides_an_editable_one(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = (Package("trainwright", "0", "editable", "file:///elsewhere"),)
    monkeypatch.setattr(environment, "list_packages", lambda: elsewhere)
    environment.installed_packages.cache_clear()
    (package,) = environment.installed_packages()
    environment.installed_packages.cache_clear()
    assert (package.origin, package.url) == ("folder", Path(training.__file__).parents[1].as_uri())
