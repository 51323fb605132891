"""Checkpoints every few milliseconds, and SIGKILL: what was asked for is there, up to the last but one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability.kills.engine import attempt
from tests.reliability.kills.moments import FromOutside
from tests.training.tiny import tiny
from training.config.files import save_config
from training.runs.records.manifest import list_checkpoints
from training.runs.records.series import read_series
from training.runs.workspace import run_folders

EVERY = 5


@pytest.mark.slow
@pytest.mark.parametrize("rows", [12, 228])
def test_the_last_checkpoint_but_one_that_was_due_survives_a_kill(tmp_path: Path, rows: int) -> None:
    config = tiny(
        "loop.epochs=100000", f"checkpoints.every_steps={EVERY}", "checkpoints.keep_last=2", "model.dropout=0"
    )
    save_config(config, tmp_path / "config.toml")
    killed = attempt(["run", str(tmp_path / "config.toml")], tmp_path, FromOutside(rows, 0.003))
    assert killed.killed, killed.errors
    [folder] = run_folders(tmp_path)
    step = int(read_series(folder.series_file)["step"][-1])
    passed = (step - 1) // EVERY * EVERY  # steps due beyond which the run has gone on
    newest = list_checkpoints(folder)[0].step
    assert newest >= passed - EVERY, f"at step {step}, the newest is {newest}"
    assert newest % EVERY == 0 or newest % 8 == 0  # due, or the best at the end of an epoch of 8 steps
