"""A training state that lacks what the optimizer works with is refused in a sentence, whoever wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured
from tests.training.engine.handing_over import rewrite_state, stopping
from tests.training.tiny import tiny
from training.checkpoints import load_state
from training.cli import main
from training.engine.runs.run import start_run
from training.runs.folder import RunFolder

KINDS = {
    "adamw": ("optimizer.kind=adamw",),
    "adamw with amsgrad": ("optimizer.kind=adamw", "optimizer.amsgrad=true"),
    "sgd": ("optimizer.kind=sgd", "optimizer.momentum=0.9"),
    "adagrad": ("optimizer.kind=adagrad", "schedule.cycle_momentum=false"),
    "rmsprop": ("optimizer.kind=rmsprop", "optimizer.centered=true", "optimizer.momentum=0.9"),
    "muon": ("optimizer.kind=muon",),
}


@pytest.mark.parametrize(
    "kind", [kind if kind in ("adamw", "sgd") else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_a_state_without_an_entry_of_the_optimizer_does_not_fit(tmp_path: Path, capsys: Captured, kind: str) -> None:
    folder = RunFolder(Path(start_run(tiny(*KINDS[kind]), tmp_path, stopping(at=8)).folder))
    kept = load_state(max(folder.checkpoints.iterdir()))
    numbers: dict[Any, dict[str, Any]] = kept["optimizer"]["state"]
    entries = sorted({name for each in numbers.values() for name in each})
    assert entries
    for lost in [*entries, None]:

        def forge(state: dict[str, Any], lost: str | None = lost) -> None:
            state["optimizer"]["state"] = {
                number: {name: value for name, value in each.items() if name != lost}
                for number, each in numbers.items()
                if lost is not None or number
            }

        rewrite_state(folder, forge)
        capsys.readouterr()
        assert main(["resume", str(folder.path)]) == 2, lost
        said = capsys.readouterr().err
        assert "does not fit this run" in said, lost
        assert "unexpected fault" not in said
    rewrite_state(folder, lambda state: state["optimizer"].update(state=numbers))
    assert main(["resume", str(folder.path)]) == 0  # nothing was lost by it
