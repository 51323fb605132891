"""The process that measures: JSON in, JSON out, whatever a person's own code prints."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.cli import main
from training.errors import InputError
from training.laboratory.child import Interrupt
from training.studies import worker
from training.studies.spread import describe_values, measure_values


def answer(number: int) -> dict[str, Any]:
    sys.stdout.write("my network says hello\n")
    if number < 0:
        raise InputError("The number is below 0.", "Take another.")
    return {"twice": 2 * number}


def test_answers_are_lines_of_json_beside_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(worker, "QUESTIONS", {"double": f"{__name__}:answer"})
    monkeypatch.setitem(sys.modules, __name__, sys.modules[answer.__module__])
    asked = [json.dumps({"what": "double", "number": number}) for number in (4, -1, 5)]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(asked) + "\n"))
    assert main(["study", "--measure"]) == 0
    out, said = capsys.readouterr()
    told = [json.loads(line) for line in out.splitlines()]
    assert told == [
        {"twice": 8},
        {"error": "The number is below 0.", "advice": "Take another.", "is_input": True},
        {"twice": 10},
    ]
    assert said.count("my network says hello") == 3


@pytest.mark.slow
def test_a_measuring_process_leaves_nothing_behind_though_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    settings = tiny("loop.batch_size=8").model_dump(mode="json")
    with worker.Worker(Interrupt()) as asked:
        asked.ask("open-steps", arm="a", settings=settings)
        assert list(tmp_path.glob("trainwright-*/trainwright-*"))
    assert not list(tmp_path.glob("trainwright-*"))


def test_an_interval_of_a_share_stays_within_what_can_be() -> None:
    assert "96% to 100.00%" in describe_values("accuracy", measure_values([0.975, 0.9416]))
