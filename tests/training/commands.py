"""What the tests of the command line share."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from training.cli import main
from training.console import Console
from training.events import Event

Captured = pytest.CaptureFixture[str]


def json_line(capsys: Captured) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    return record


def stopped_run(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, at: int = 8, command: str = "run"
) -> dict[str, Any]:
    """A run (or with ``resume`` a checkpoint) stopped by Ctrl+C at the end of an epoch."""
    real = Console.event

    def event(console: Console, event: Event) -> None:
        real(console, event)
        if event.kind == "epoch_ended" and getattr(event, "step", 0) == at:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as person:
        person.setattr(Console, "event", event)
        assert main([command, str(config), "--json"]) == 130
    return json_line(capsys)
