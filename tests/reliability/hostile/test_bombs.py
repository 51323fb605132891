"""Bombs against a process of its own: it ends in time, and its memory stays what it was."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.hostile.configs import CONFIGS
from tests.reliability.hostile.datasets import IDX, PICTURES
from tests.reliability.hostile.material import Run
from tests.reliability.hostile.run_folders import RECORDS
from tests.reliability.hostile.states import STATES

pytestmark = [pytest.mark.timeout(280), pytest.mark.skipif(sys.platform != "linux", reason="measures as Linux does")]

MOST_MEGABYTES = 400
"""What all of them together may add to a process that has torch loaded and has trained once; each bomb holds more."""

PROGRAM = """
import json, resource, sys
from training.cli import main
good, *commands = json.loads(sys.argv[1])
codes = [main(good)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
codes += [main(command) for command in commands]
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"codes": codes, "grown": (after - before) // 1024}))
"""


@pytest.mark.slow
def test_bombs_end_in_time_and_take_no_memory(run: Run, tmp_path: Path) -> None:
    workspace = ["--workspace", str(tmp_path / "elsewhere")]
    commands: list[list[str]] = []
    for number, name in enumerate(("450,000 deep dotted key", "a sparse terabyte", "a link to /dev/zero", "50 MB")):
        path = tmp_path / f"{number}.toml"
        CONFIGS[name](path)
        commands.append(["check", str(path), *workspace])
    for number, (kind, build) in enumerate(
        [
            ("image_folder", PICTURES["a PNG whose pixels unpack to 4 GB"]),
            ("image_folder", PICTURES["a PNG of 10^5 x 10^5"]),
            ("image_folder", PICTURES["a sparse terabyte"]),
            ("idx", IDX["a bomb of 64 GB, packed"]),
            ("idx", IDX["4 samples promised, 4 GB packed"]),
        ]
    ):
        build(tmp_path / f"data{number}")
        path = tmp_path / f"data{number}.toml"
        path.write_text(f'[dataset]\nkind = "{kind}"\npath = "{tmp_path}/data{number}"\n', encoding="utf-8")
        commands.append(["run", str(path), *workspace, "--set", "loop.max_steps=1", "--set", "loader.workers=0"])
    good = ["resume", str(run.path), "--set", "loop.epochs=3"]
    RECORDS["series: a hole of a terabyte"](_copy(run, "series"))
    commands.append(["show", str(tmp_path / "series")])
    STATES["bomb of 4 GB"](_copy(run, "state"))
    commands.append(["resume", str(tmp_path / "state")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([good, *commands])],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["codes"][0] == 0
    assert set(told["codes"]) <= {0, 2}
    assert told["grown"] < MOST_MEGABYTES


def _copy(run: Run, name: str) -> Run:
    path = run.path.parents[2] / name
    shutil.copytree(run.path, path)
    return Run(path, run.sentinel)
