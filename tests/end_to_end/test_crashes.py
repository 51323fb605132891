"""The real program, and errors nobody caught: shown, kept, and offered at the next start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("faulty_window.py")


def start(*fault: str) -> subprocess.CompletedProcess[str]:
    root = str(PROGRAM.parents[2])
    return subprocess.run(
        [sys.executable, str(PROGRAM), *fault],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": root},
        check=False,
    )


def reports(home: Path) -> list[str]:
    return sorted(path.name for path in home.rglob("crash-*.txt"))


@pytest.mark.slow
def test_errors_of_slots_and_threads_are_shown_now_and_offered_later_to_who_did_not_look(isolated_home: Path) -> None:
    first = start("errors")
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("shown:") == 1, "one dialog at a time"
    assert "ValueError: the" in first.stdout
    assert len(reports(isolated_home)) == 3, "one for each error, however often it comes"
    second = start("look")
    assert second.returncode == 0, second.stderr
    assert "banner: An error of last time was not looked at. 3 reports were kept." in second.stdout
    assert "buttons: ['Open folder', 'Show report']" in second.stdout
    for error in ("the moon is full", "the sun is down", "the tide is low"):
        assert f"ValueError: {error}" in second.stdout
    assert "The end of the log:" in second.stdout
    assert "Uncaught exception" in second.stdout, "the log is part of the report"
    assert "banner" not in start("look").stdout, "what was looked at is not offered again"
    assert len(reports(isolated_home)) == 3, "and yet it is kept"
    assert list(isolated_home.rglob("native-*.txt")) == [], "an orderly end leaves no watch behind"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_native_crash_is_offered_with_its_stack_at_the_next_start(isolated_home: Path) -> None:
    assert start("segfault").returncode == -signal.SIGSEGV
    second = start("look")
    assert second.returncode == 0, second.stderr
    assert "banner: The program crashed last time" in second.stdout
    assert "Fatal Python error" in second.stdout
    assert f'…/{PROGRAM.name}", line' in second.stdout, "the stack names the place"
    assert list(isolated_home.rglob("native-*.txt")) == []
