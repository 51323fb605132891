"""Steering a run through its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.control import COMMANDS_FILE, Command, Control, send
from training.errors import InputError


def test_commands_reach_the_engine_in_order(tmp_path: Path) -> None:
    control = Control()
    control.watch(tmp_path)
    send(tmp_path, Command.PAUSE)
    send(tmp_path, Command.SAVE)
    control.poll()
    assert control.paused.is_set()
    assert control.save
    send(tmp_path, Command.CONTINUE)
    control.poll()
    assert not control.paused.is_set()
    send(tmp_path, Command.STOP)
    control.poll()
    assert control.stop
    assert not control.discard


def test_stop_ends_a_pause(tmp_path: Path) -> None:
    control = Control()
    control.watch(tmp_path)
    send(tmp_path, Command.PAUSE)
    send(tmp_path, Command.STOP_NOW)
    control.poll()
    assert control.stop
    assert control.discard
    assert not control.paused.is_set()


def test_what_was_asked_of_an_earlier_attempt_is_not_obeyed_again(tmp_path: Path) -> None:
    send(tmp_path, Command.STOP)
    control = Control()
    control.watch(tmp_path)
    control.poll()
    assert not control.stop


def test_foreign_and_half_written_lines_never_end_a_run(tmp_path: Path) -> None:
    control = Control()
    control.watch(tmp_path)
    (tmp_path / COMMANDS_FILE).write_bytes(b'nonsense\n{"command": "dance"}\n[]\n{"command": "sto')
    control.poll()
    assert not control.stop
    with (tmp_path / COMMANDS_FILE).open("ab") as stream:
        stream.write(b'p"}\n')
    control.poll()
    assert control.stop


def test_a_folder_that_is_gone_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        send(tmp_path / "gone", Command.STOP)
