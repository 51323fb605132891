"""What a process keeps of the memory that it freed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

PROBE = """
import json, resource
import psutil
from training.system.process import give_back_memory, tune_process

tune_process()

def megabytes():
    return psutil.Process().memory_info().rss >> 20

def step():
    blocks = [b"x" * (40 << 20) for _ in range(3)]  # as large activations are

step()
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
kept = megabytes()
give_back_memory()
print(json.dumps({"faults": faults, "kept": kept, "left": megabytes()}))
"""


def probe(**more: str) -> dict[str, int]:
    names = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, env=names | more, check=True)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def on_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, ValueError, OSError):
        return False


@pytest.mark.skipif(not on_glibc(), reason="needs glibc")
def test_steps_use_the_same_memory_again_and_it_can_be_given_back() -> None:
    found = probe()
    assert found["faults"] < 1000  # fresh pages would be 150,000
    assert found["kept"] - found["left"] > 100


@pytest.mark.skipif(not on_glibc(), reason="needs glibc")
def test_what_the_user_set_is_left_alone() -> None:
    for more in ({"MALLOC_ARENA_MAX": "2"}, {"GLIBC_TUNABLES": "glibc.malloc.arena_max=2"}):
        found = probe(**more)
        assert found["kept"] - found["left"] < 50, more  # large blocks went back when they were freed
