"""The disk that an engine is installed on: filled by others meanwhile, or one that cannot be written. Real ones; nothing half made is left."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.disks import fill, mount_disk, mounted
from tests.training.engines.stand_ins import Server
from training.engines.install import install, list_unfinished
from training.engines.kinds import Machine
from training.engines.request import Progress, Request
from training.errors import InputError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="mounts are those of other systems")
MACHINE = Machine("linux", "x86_64")


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def data(isolated_home: Path) -> Iterator[Path]:
    """A disk for the data of this person, engines among them."""
    with mount_disk(isolated_home / "data", 60) as disk:
        yield disk


def _list_files(disk: Path) -> list[str]:
    return sorted(path.name for path in disk.rglob("*") if path.is_file() and not path.name.endswith(".lock"))


@pytest.mark.slow
def test_a_disk_that_others_fill_while_it_is_installed_keeps_nothing_half_made(
    server: Server, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**12, 0, 10**12))  # as it was just before
    stages: list[str] = []

    def follow(progress: Progress) -> None:
        if progress.stage == "downloading" and "downloading" not in stages:
            fill(data, spare=100_000)
        stages.append(progress.stage)

    with pytest.raises(InputError, match="the disk is full"):
        install(Request(kind="cpu", index=server.address), follow, machine=MACHINE)
    assert "downloading" in stages
    assert _list_files(data) == ["filler"]
    assert list_unfinished() == []


def test_a_disk_that_cannot_be_written_is_named_and_left_as_it_was(server: Server, data: Path) -> None:
    (data / "mine").touch()
    assert mounted(data, "-o", "remount,ro")
    with pytest.raises(InputError, match="cannot be written"):
        install(Request(kind="cpu", index=server.address), lambda _: None, machine=MACHINE)
    assert _list_files(data) == ["mine"]
