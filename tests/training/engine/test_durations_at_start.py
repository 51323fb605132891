"""What is longer than the run is refused where its length is known: at the start, and by the check before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.cli import main
from training.config import dump_config
from training.engine.assemble import assemble
from training.errors import ConfigError

LONG = ("dataset.samples=60", "loop.batch_size=12", "loop.epochs=2", "schedule.kind=step", "schedule.step_size=100")
SAID = "schedule.step_size: 100 steps is longer than the run, which has"


@pytest.mark.parametrize("command", ["run", "check"])
def test_the_command_line_names_it(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.toml"
    file.write_text(dump_config(tiny("precision.device=cpu", *LONG)))
    assert main([command, str(file), "--workspace", str(tmp_path / "runs")]) == 2
    out, err = capsys.readouterr()
    assert SAID in out + err
    assert "write less, for example" in out + err
    assert not list((tmp_path / "runs").glob("runs/*"))


def test_a_run_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """They allowed it, and it changes nothing."""
    config = tiny("precision.device=cpu", *LONG)
    with pytest.raises(ConfigError, match=SAID):
        assemble(config, lambda *_: None)
    session = assemble(config, lambda *_: None, loads=True)
    try:
        assert {session.schedule.lr(step) for step in range(session.total_steps)} == {config.optimizer.lr}
    finally:
        session.data.close()
