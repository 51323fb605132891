"""A script handed to Slurm, whose commands are stand-ins here; ``tests/servers/test_slurm.py`` asks the real one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.launch.launching import launch, put_program, refuse, write_tiny
from training.cli import main
from training.launch.record import read_launch
from training.runs.folder import RunFolder
from training.runs.records.ranks import RankRecord, RanksRecord, write_ranks


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return tmp_path / "programs"


def test_what_was_submitted_is_recorded_and_shown(
    tmp_path: Path, programs: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(programs, "sbatch", 'echo "$2" > "$(dirname "$0")/given"\necho "41;north"\n', monkeypatch)
    put_program(programs, "squeue", "exit 0\n", monkeypatch)
    folder = launch(tmp_path, capsys, "--slurm", "--submit")
    assert (programs / "given").read_text(encoding="utf-8").strip() == str(folder.launch / "slurm.sh")
    kept = read_launch(folder)
    assert kept is not None
    assert (kept.job, kept.cluster) == ("41", "north")
    assert folder.status().reason == "Not begun yet: it waits for its turn on the cluster (Slurm job 41)."
    put_program(programs, "squeue", 'echo "$*" > "$(dirname "$0")/asked"\necho "41|PENDING|Resources"\n', monkeypatch)
    assert main(["show", str(folder.path)]) == 0
    assert "Slurm job 41: PENDING (Resources)" in capsys.readouterr().out
    assert "--clusters=north" in (programs / "asked").read_text(encoding="utf-8")
    assert main(["show", str(folder.path), "--json"]) == 0
    assert json_line(capsys)["launch"]["jobs"] == [{"job": "41", "state": "PENDING", "reason": "Resources"}]
    assert "is of this run already" in refuse(capsys, str(folder.path), "--submit")
    put_program(programs, "squeue", "exit 0\n", monkeypatch)
    assert main(["show", str(folder.path)]) == 0
    assert "is over" in capsys.readouterr().out
    put_program(programs, "squeue", 'echo "squeue: error: the controller is away" >&2\nexit 1\n', monkeypatch)
    assert main(["show", str(folder.path)]) == 0
    assert "squeue says: the controller is away." in capsys.readouterr().out
    away = 'echo "squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host" >&2\nexit 1\n'
    put_program(programs, "squeue", away, monkeypatch)
    assert "squeue is on this machine, but reaches no cluster" in refuse(capsys, str(folder.path), "--cancel")


def test_a_cluster_that_takes_none_is_quoted_and_the_script_stays(
    tmp_path: Path, programs: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(programs, "squeue", "exit 0\n", monkeypatch)
    put_program(
        programs,
        "sbatch",
        'echo "sbatch: error: Batch job submission failed: Invalid account" >&2\nexit 1\n',
        monkeypatch,
    )
    told = refuse(capsys, write_tiny(tmp_path), "--slurm", "--submit", "--workspace", str(tmp_path / "ws"))
    assert told.splitlines()[-1] == "sbatch says: Batch job submission failed: Invalid account."
    (run,) = (tmp_path / "ws" / "runs").iterdir()
    kept = read_launch(RunFolder(run))
    assert kept is not None
    assert kept.job == ""


def test_where_slurm_is_not_that_is_said(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = launch(tmp_path, capsys, "--slurm")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "squeue is not on this machine" in refuse(capsys, str(folder.path), "--submit")
    assert "squeue is not on this machine" in refuse(capsys, str(folder.path), "--cancel")


def test_a_job_that_waits_is_canceled_and_one_at_work_is_asked_to_stop(
    tmp_path: Path, programs: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = launch(tmp_path, capsys, "--slurm")
    put_program(programs, "scancel", 'echo "$*" >> "$(dirname "$0")/canceled"\n', monkeypatch)
    put_program(programs, "squeue", "exit 0\n", monkeypatch)
    assert "nothing to cancel" in refuse(capsys, str(folder.path), "--cancel")
    put_program(programs, "squeue", 'echo "7|RUNNING|None"\necho "8|PENDING|Priority"\n', monkeypatch)
    assert main(["launch", str(folder.path), "--cancel"]) == 0
    asked = (programs / "canceled").read_text(encoding="utf-8").splitlines()
    assert asked == ["--batch --signal=TERM 7", "--state=PENDING 8"]


def test_a_run_without_a_script_is_told_how_to_get_one(tmp_path: Path, capsys: Captured) -> None:
    assert (
        main(["run", write_tiny(tmp_path), "--workspace", str(tmp_path / "ws"), "--set", "loop.epochs=1", "--json"])
        == 0
    )
    told = refuse(capsys, json_line(capsys)["folder"], "--submit")
    assert "has no file for a cluster" in told
    assert "--slurm" in told


def test_a_launched_run_that_is_refused_stays_and_says_why(tmp_path: Path, capsys: Captured) -> None:
    """Nobody is there to hear it on a cluster."""
    data = tmp_path / "rows.csv"
    data.write_text("x,y\n" + "".join(f"{number},{number % 2}\n" for number in range(60)), encoding="utf-8")
    overrides = (f"dataset={{kind='table', path='{data}', targets='y'}}", "model={kind='tabular', hidden=[4]}")
    folder = launch(tmp_path, capsys, "--slurm", overrides=overrides)
    data.unlink()
    assert main(["resume", str(folder.path), "--made"]) == 2
    said = capsys.readouterr().err
    record = folder.status()
    assert record.status == "failed"
    assert record.reason
    assert record.reason in said
    assert json.loads((folder.launch / "launch.json").read_text(encoding="utf-8"))["kind"] == "slurm"


def test_whoever_goes_on_alone_with_what_several_trained_is_told(tmp_path: Path, capsys: Captured) -> None:
    folder = launch(tmp_path, capsys, "--slurm")
    both = tuple(RankRecord(rank=rank, host="far", process=1, device="CPU", threads=1) for rank in range(2))
    write_ranks(folder.path, RanksRecord(slots=2, batch_size=4, ranks=both))
    assert main(["resume", str(folder.path)]) == 0
    assert "note: 2 processes shared this run, and one goes on with it; --ranks 2 shares it again." in (
        capsys.readouterr().err
    )
