"""Processes that send a run elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from training.runs.folder import RunFolder
from training.sidecars import process
from training.sidecars.process import run_sidecar, work_until_done

REAL = process._yield_to_others


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="Linux has this kind of priority")
def test_they_take_only_the_time_and_the_disk_that_nobody_else_wants() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        REAL(child.pid)
        assert os.sched_getscheduler(child.pid) == os.SCHED_IDLE
        assert psutil.Process(child.pid).ionice().ioclass == psutil.IOPRIO_CLASS_IDLE
    finally:
        child.communicate(b"\n")


def test_a_process_ends_with_the_folder_that_it_follows(tmp_path: Path) -> None:
    folder, ends = RunFolder(tmp_path / "run"), list[str]()
    folder.path.mkdir()

    def delete(ended: str) -> bool:
        ends.append(ended)
        assert len(ends) < 3, "it goes on though nothing is left to follow"
        shutil.rmtree(folder.path, ignore_errors=True)
        return True

    work_until_done(folder, follow=True, patience=60.0, work=delete)
    assert ends == [""]


def test_what_nobody_foresaw_is_in_the_log_of_a_process_without_a_terminal(tmp_path: Path) -> None:
    def fail(_say: object, _patience: float) -> bool:
        raise ZeroDivisionError("with a key")

    with pytest.raises(ZeroDivisionError):
        run_sidecar(tmp_path, True, fail, lambda: ["how it stands"])
    log = (tmp_path / "log.txt").read_text()
    assert "in fail" in log
    assert "ZeroDivisionError\n" in log
    assert log.count("with a key") == 1  # as code, not as the message
    assert log.endswith("how it stands\n")
