"""What is offered for a run that ended."""

from __future__ import annotations

import json
from pathlib import Path

from studio.state.runs.way_on import RESUME, START_OVER, way_on
from tests.training.tiny import tiny
from training.runs.folder import create_run


def test_a_run_killed_half_way_through_going_back_is_not_taken_for_one_without_a_checkpoint(tmp_path: Path) -> None:
    """Between two renames: what is kept has been moved aside, and what takes its place has not come yet."""
    folder = create_run(tmp_path, tiny())
    assert way_on(folder) is START_OVER
    aside = folder.path / "set_aside" / "steps-17-24"
    (aside / "new" / "checkpoints" / "step-00000016").mkdir(parents=True)
    folder.checkpoints.rename(aside / "checkpoints")
    (aside / "set_aside.json").write_text(json.dumps({"step": 16, "reached": 24, "time": 1.0}))
    (aside / "unfinished.json").write_text(json.dumps({"source": "new", "files": [], "keep": True}))
    assert way_on(folder) is RESUME
    assert [path.name for path in folder.checkpoints.iterdir()] == ["step-00000016"]
