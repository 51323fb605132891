"""Hostile datasets: what cannot be used is named and left out, or refused in a sentence; nothing is unpacked to its end."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import some_of
from tests.reliability.hostile.datasets import IDX, PICTURES
from tests.reliability.hostile.trial import attempt, guarded

pytestmark = [
    pytest.mark.timeout(120),
    # Pillow's remarks on odd files would be errors here, and hide what a person would meet.
    pytest.mark.filterwarnings("default"),
]
_SETTINGS = (
    "--set",
    "model.kind=mlp",
    "--set",
    "model.hidden=[4]",
    "--set",
    "loop.max_steps=1",
    "--set",
    "loader.workers=0",
)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    with guarded(tmp_path / "outside"):
        yield tmp_path / "data"
    if shutil.which("rm"):  # Python's own way of removing a folder ends at a thousand levels
        subprocess.run(["rm", "-rf", str(tmp_path / "data")], check=True)


def try_on(data: Path, kind: str, tmp_path: Path, *codes: int) -> str:
    config = tmp_path / "config.toml"
    config.write_text(f'[dataset]\nkind = "{kind}"\npath = "{data}"\n', encoding="utf-8")
    outcome = attempt("run", config, "--workspace", tmp_path / "workspace", *_SETTINGS)
    outcome.judge(*codes)
    if outcome.code == 2:
        assert not list(tmp_path.glob("workspace/runs/*"))
    return outcome.err


@pytest.mark.parametrize("name", some_of(PICTURES, 4))
def test_hostile_images_are_left_out(name: str, data: Path, tmp_path: Path) -> None:
    PICTURES[name](data)
    try_on(data, "image_folder", tmp_path, 0)


@pytest.mark.parametrize("name", some_of(IDX, 3))
def test_hostile_idx_files_are_one_sentence(name: str, data: Path, tmp_path: Path) -> None:
    IDX[name](data)
    try_on(data, "idx", tmp_path, 2)
