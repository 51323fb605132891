"""A run on a person's own Dataset that draws at random, killed with SIGKILL and resumed, compared to the bit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.reliability.kills.engine import attempt
from tests.reliability.kills.moments import FromOutside
from tests.training.data.own_files import POINTS, small_run, written
from training.config.files import dump_config
from training.runs.records.manifest import WEIGHTS, digest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the harness looks into /proc")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_samples_drawn_at_random_are_the_same_however_they_are_read_and_whether_killed_or_not(tmp_path: Path) -> None:
    config = small_run(
        written(tmp_path, POINTS, arguments={"count": 600}),
        name="own",
        loop={"batch_size": 16, "epochs": 12, "accumulation": 2},
        checkpoints={"every_steps": 7},
    )
    file = tmp_path / "config.toml"
    file.write_text(dump_config(config), encoding="utf-8")
    found: dict[str, str] = {}
    for workers, other in ((0, 2), (2, 0)):
        ways = [["--set", f"loader.workers={count}"] for count in (workers, other)]
        whole = attempt(["run", str(file), *ways[0]], tmp_path / f"whole {workers}")
        assert whole.code == 0, whole.errors
        found[f"{workers} workers"] = digest(Path(str(whole.record.last_checkpoint)) / WEIGHTS)
        place = tmp_path / f"killed {workers}"
        killed = attempt(["run", str(file), *ways[0]], place, FromOutside(30 + 40 * workers, 0.01))
        assert killed.killed, killed.errors
        resumed = attempt(["resume", "own", *ways[1]], place)
        assert resumed.code == 0, resumed.errors
        assert resumed.record.step == whole.record.step == 228
        found[f"{workers} workers, killed, {other} workers"] = digest(
            Path(str(resumed.record.last_checkpoint)) / WEIGHTS
        )
    assert len(set(found.values())) == 1, found
