"""A run that goes on without the window does so by the Python that was chosen for engines."""

from pathlib import Path

from pytestqt.qtbot import QtBot

from studio.engine.background_run import BackgroundRun
from studio.engine.messages import EngineDeath
from training.runs.folder import RunFolder


def test_the_chosen_python_is_started_and_named_where_it_cannot_be(qtbot: QtBot, tmp_path: Path) -> None:
    background = BackgroundRun("/no/such/python", RunFolder(tmp_path), tmp_path)
    with qtbot.waitSignal(background.failed) as told:
        background.start()
    assert told.args is not None
    death: EngineDeath = told.args[0]
    assert "/no/such/python" in str(death)
