"""The cache of decoded images goes away while it is read as memory, which ends the process: what a person is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.deaths import explain_exit
from training.cli import main
from training.runs.workspace import run_folders

CUT = """
import mmap, os, resource, runpy, sys
from training.data.images import image_file

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
pixels, looks = sys.argv.pop(1), int(sys.argv.pop(1))

class Cut(mmap.mmap):
    '''Its file is cut short just after somebody looked how long it is.'''
    looked = 0

    def size(self):
        size = super().size()
        Cut.looked += 1
        if Cut.looked == looks:
            import pathlib
            for path in pathlib.Path(pixels).rglob("pixels-*.bin"):
                os.truncate(path, 0)
        return size

image_file.mmap.mmap = Cut
runpy.run_module("training", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no mapped file can be cut there")
@pytest.mark.timeout(600)
def test_a_cache_cut_short_under_a_run_is_explained_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 64, 64, 3), dtype=np.uint8)
    for number, image in enumerate(noise):
        folder = tmp_path / "data" / f"class {number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{number}.png")
        os.utime(folder / f"{number}.png", (1e9, 1e9))
    (tmp_path / "run.toml").write_text(
        f"""
        name = "cut"
        loop = {{ epochs = 3, batch_size = 8 }}
        model = {{ kind = "small_cnn", channels = [4, 8] }}
        dataset = {{ kind = "image_folder", path = {json.dumps(str(tmp_path / "data"))} }}
        loader = {{ mode = "streamed", workers = 0, cache = "on", cache_folder = {json.dumps(str(tmp_path / "cache"))} }}
        checkpoints = {{ every_steps = 1 }}
        """
    )
    command = ["run", str(tmp_path / "run.toml"), "--workspace", str(tmp_path)]
    dead = subprocess.run(
        [sys.executable, "-c", CUT, str(tmp_path / "cache"), "9", *command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert dead.returncode in (-signal.SIGBUS, -signal.SIGSEGV), dead.stderr  # the latter where telling of it crashed
    assert "Fatal Python error: Bus error" in dead.stderr  # a crash in native code leaves its stack
    assert "image_file.py" in dead.stderr
    death = explain_exit(dead.returncode, dead.stderr, sys.executable)
    assert "a file that was mapped into memory could no longer be read" in death.sentence
    assert death.advice.startswith("It was a file of the cache of decoded images")
    assert "loader.cache=off" in death.advice
    assert "loader.cache_folder" in death.advice
    [run] = run_folders(tmp_path)
    assert main(["resume", run.id, "--workspace", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    assert "exited unexpectedly after step" in told
    assert "Where the system spoke of a bus error" in told
    assert "loader.cache=off" in told
    assert run.status().status == "completed"
