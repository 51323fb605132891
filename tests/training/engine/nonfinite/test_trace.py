"""``doctor RUN --trace``: a skipped step is reached again to the bit, from a checkpoint or from the beginning."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line
from tests.training.engine.nonfinite.sources import Source, make_network, settings_of
from training.cli import main
from training.engine.recovery import nonfinite
from training.engine.runs.run import start_run
from training.events import Finding
from training.runs.folder import RunFolder

RANDOM = Source(
    "behind dropout",
    {
        "model": make_network(
            "x = self.drop(x)", "x = (x - 3 * late).log() if late else x", setup="self.drop = nn.Dropout(0.3)"
        )
    },
    "second.1",
    "log",
    settings={"checkpoints": {"every_steps": 4}},
)


def files(folder: RunFolder) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.path.rglob("*")) if path.is_file()}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run that was not looked into while it trained."""
    monkeypatch.setattr(nonfinite, "explain", lambda session, skip, *more: Finding(level="info", title="not looked"))
    return RunFolder(Path(start_run(settings_of(RANDOM, tmp_path), tmp_path / "runs").folder))


def trace(run: RunFolder, capsys: Captured, *more: str) -> tuple[int, dict[str, Any]]:
    code = main(["doctor", str(run.path), "--trace", *more, "--json"])
    return code, json_line(capsys)


def test_the_step_is_reached_to_the_bit_and_the_run_left_alone(run: RunFolder, capsys: Captured) -> None:
    before = files(run)
    capsys.readouterr()
    code, told = trace(run, capsys)
    assert (code, told["step"], told["from"]) == (1, 6, 4)
    [found] = told["findings"]
    assert (found["code"], found["place"], found["evidence"]["operation"]) == ("nonfinite", "second.1", "log")
    assert found["evidence"]["exact"]
    assert files(run) == before
    shutil.rmtree(run.checkpoints)
    _, again = trace(run, capsys)
    assert again["from"] == 0
    assert again["findings"][0]["evidence"] == found["evidence"]


def test_a_step_that_was_not_skipped_is_refused(run: RunFolder, capsys: Captured) -> None:
    assert main(["doctor", str(run.path), "--trace", "2"]) == 2
    assert "step 2 of the run" in capsys.readouterr().err


def test_a_step_that_comes_out_otherwise_is_told_to_be_another(tmp_path: Path, capsys: Captured) -> None:
    """The network counts its calls in Python, which no checkpoint holds."""
    text = make_network(
        "self.calls = getattr(self, 'calls', 0) + self.training", "x = (x - 3).log() if self.calls > 5 else x"
    )
    source = Source("a counter", {"model": text}, "second.1", "log", settings={"checkpoints": {"every_steps": 4}})
    run = RunFolder(Path(start_run(settings_of(source, tmp_path), tmp_path / "runs").folder))
    capsys.readouterr()
    code, told = trace(run, capsys)
    [found] = told["findings"]
    assert (code, told["from"], found["evidence"]["exact"]) == (1, 4, False)
    assert "Computed again, it came out otherwise than in the run, and it was finite" in found["advice"]
    assert "--trace" not in found["advice"]
