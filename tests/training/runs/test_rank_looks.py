"""What is told of the processes of a run: from telemetry that each of them wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from training.runs.rank_looks import describe_ranks, describe_slowest, find_slowest, look_at_ranks
from training.runs.records.ranks import RankRecord, RanksRecord, rank_folder, write_ranks
from training.runs.records.series import FLUSH_ROW, SeriesWriter, read_newest


def write_telemetry(folder: Path, times: list[float], wait: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = np.zeros(len(times), FLUSH_ROW)
    rows["time"], rows["samples_per_second"], rows["memory_mb"] = times, 400.0, 500.0
    rows["ranks_wait_share"] = wait
    writer = SeriesWriter(folder / "telemetry.bin", FLUSH_ROW)
    writer.append(rows)
    writer.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two processes, of which the second one is slow."""
    ranks = [RankRecord(rank=number, host="here", process=10 + number, device="CPU", threads=1) for number in (0, 1)]
    write_ranks(tmp_path, RanksRecord(slots=2, batch_size=64, ranks=tuple(ranks)))
    write_telemetry(tmp_path, [100.0, 101.0, 102.0], 0.4)
    write_telemetry(rank_folder(tmp_path, 1), [100.0, 101.0, 102.0], 0.01)
    return tmp_path


def test_the_one_that_the_others_wait_for_is_the_slowest(run: Path) -> None:
    looks = look_at_ranks(run, since=99.0)
    assert [look.samples_per_second for look in looks] == [200.0, 200.0]
    slowest = find_slowest(looks)
    assert slowest is not None
    assert slowest.record.rank == 1
    assert "Rank 1 is the slowest: others spend up to 39%" in describe_slowest(looks)
    assert len(describe_ranks(looks)) == 3


def test_processes_of_an_earlier_attempt_are_not_told(run: Path) -> None:
    assert look_at_ranks(run, since=200.0) == ()
    assert look_at_ranks(run / "elsewhere", since=0.0) == ()


def test_none_is_called_slow_where_all_wait_alike(run: Path) -> None:
    write_telemetry(rank_folder(run, 1), [103.0] * 20, 0.395)
    looks = look_at_ranks(run, since=99.0)
    assert find_slowest(looks) is None
    assert "No process" in describe_slowest(looks)


def test_the_newest_rows_alone_are_read(run: Path) -> None:
    assert read_newest(run / "telemetry.bin", FLUSH_ROW, 2)["time"].tolist() == [101.0, 102.0]
    assert len(read_newest(run / "telemetry.bin", FLUSH_ROW, 10)) == 3
