"""Processes that send a run elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from training.sidecars import process

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
