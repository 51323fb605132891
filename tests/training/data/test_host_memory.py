"""What bounds a process's memory: the computer, its control groups, its own limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from training.system.host_memory import control_groups, host_memory


def group(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


def test_without_limits_it_is_the_computer() -> None:
    memory = host_memory()
    assert 0 <= memory.available <= memory.total <= psutil.virtual_memory().total
    assert memory.bound.startswith("that this ")


def test_a_group_of_version_2_counts_file_caches_as_free(tmp_path: Path) -> None:
    group(tmp_path, {})
    group(tmp_path / "user/run", {"memory.max": "max", "memory.current": "700"})
    group(
        tmp_path / "user",
        {"memory.max": "1000", "memory.current": "900", "memory.stat": "anon 500\ninactive_file 300\nslab 9"},
    )
    (tmp_path / "membership").write_text("0::/user/run\n")
    inner, outer = control_groups(tmp_path / "membership", tmp_path)
    assert inner.read_limit() is None
    bound = outer.read_limit()
    assert bound is not None
    assert (bound.total, bound.available, bound.bound) == (1000, 400, "that this container may use")


def test_a_group_of_version_1_is_found_at_the_top_when_the_path_is_the_hosts(tmp_path: Path) -> None:
    limits = {"memory.limit_in_bytes": "2000", "memory.usage_in_bytes": "1900", "memory.stat": "total_inactive_file 50"}
    group(tmp_path / "memory", limits)
    (tmp_path / "membership").write_text("5:cpu,cpuacct:/\n4:memory:/docker/0123456789\n0::/\n")
    [top] = control_groups(tmp_path / "membership", tmp_path)
    bound = top.read_limit()
    assert bound is not None
    assert (bound.total, bound.available) == (2000, 150)
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")  # how version 1 says: none
    assert top.read_limit() is None


def test_a_system_without_groups_has_none(tmp_path: Path) -> None:
    assert control_groups(tmp_path / "missing", tmp_path) == ()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce RLIMIT_AS")
def test_a_limit_on_the_process_is_the_narrowest_bound() -> None:
    code = (
        "import resource\n"
        "from training.system.host_memory import host_memory\n"
        "import psutil\n"
        "limit = psutil.Process().memory_info().vms + 10**8\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "memory = host_memory()\n"
        "assert memory.bound == 'that this process may use (ulimit -v)', memory\n"
        "assert memory.total == limit and 0 < memory.available <= 10**8, memory\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
