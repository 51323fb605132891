"""The script for Slurm: what it asks for, what it runs, and what is refused before there is one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.launch.launching import ODD, launch, put_program, refuse, write_tiny
from training.cli import main
from training.control import Command
from training.errors import InputError
from training.launch.plan import count_seconds
from training.runs.folder import RunFolder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="bash reads the script")


def options_of(folder: RunFolder) -> list[str]:
    lines = (folder.launch / "slurm.sh").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")]


def test_the_script_asks_for_what_was_said(tmp_path: Path, capsys: Captured) -> None:
    words = ("--partition", "gpu", "--account", "a b", "--time", "04:00:00", "--notice", "90", "--cpus-per-node", "6")
    folder = launch(
        tmp_path, capsys, "--slurm", *words, "--gpus-per-node", "1", "--sbatch", "mem=64G", "--sbatch", "exclusive"
    )
    options = options_of(folder)
    for wanted in (
        f"--job-name={folder.id}", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=6", "--gpus-per-node=1", "--time=04:00:00",
        "--partition=gpu", '--account="a b"', "--signal=B:USR1@90", "--requeue", "--open-mode=append", "--mem=64G", "--exclusive",
    ):  # fmt: skip
        assert wanted in options
    assert subprocess.run(["bash", "-n", folder.launch / "slurm.sh"], check=False).returncode == 0


def test_the_script_is_shown_and_saved_in_a_run_that_has_not_begun(tmp_path: Path, capsys: Captured) -> None:
    config = write_tiny(tmp_path)
    assert main(["launch", config, "--slurm", "--workspace", str(tmp_path / "ws")]) == 0
    said = capsys.readouterr()
    (run,) = (tmp_path / "ws" / "runs").iterdir()
    folder = RunFolder(run)
    assert said.out == (folder.launch / "slurm.sh").read_text(encoding="utf-8")
    assert "--submit" in said.err
    record = folder.status()
    assert (record.status, record.step) == ("stopped", 0)
    assert record.reason == "Not begun yet: it was written for a cluster, which has to be given it."
    assert main(["show", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "reason     Not begun yet" in shown
    assert "launched   for Slurm, 1 node x 1 rank; not submitted" in shown


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Slurm's commands were called with: stand-ins that write it down."""
    path = tmp_path / "calls"
    monkeypatch.setenv("CALLS", str(path))
    programs = tmp_path / "programs"
    put_program(
        programs,
        "scontrol",
        'echo "scontrol $*" >> "$CALLS"\n[ "$1" = show ] && echo first.node second.node | tr " " "\\n"\nexit 0\n',
        monkeypatch,
    )
    step = 'while [ "$1" != bash ]; do echo "$1" >> "$CALLS"; shift; done\nPYTHON="$(dirname "$0")/launcher" SLURM_NODEID=0 exec "$@"\n'
    put_program(programs, "srun", step, monkeypatch)
    # In the 60 seconds Slurm ends the script; nobody waits longer than it takes to tell a run that loads nothing.
    put_program(programs, "sleep", '[ "$1" = 60 ] || exec /bin/sleep 0.05\n', monkeypatch)
    put_program(programs, "launcher", 'printf "%s\\n" "$@" >> "$CALLS"\nexec sh "$DOES"\n', monkeypatch)
    for name, value in {
        "SLURM_JOB_ID": "12",
        "SLURM_JOB_NODELIST": "x",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_CPUS_PER_TASK": "3",
    }.items():
        monkeypatch.setenv(name, value)
    return path


def run_script(folder: RunFolder, does: str, place: Path, signal: str = "") -> subprocess.CompletedProcess[str]:
    """The script as Slurm runs it; ``does`` is what its step does, after which ``signal`` comes to the script."""
    (place / "does").write_text(does, encoding="utf-8")
    environment = {**os.environ, "DOES": str(place / "does"), "RUN_FOLDER": str(folder.path)}
    script = str(folder.launch / "slurm.sh")
    if not signal:
        return subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=False)
    with subprocess.Popen(
        ["bash", script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not (place / "begun").exists():
            assert process.poll() is None
        process.send_signal(getattr(__import__("signal"), signal))
        out, err = process.communicate()
    return subprocess.CompletedProcess([], process.returncode, out, err)


def test_the_script_starts_torchs_launcher_whatever_its_folder_is_called(
    tmp_path: Path, capsys: Captured, calls: Path
) -> None:
    folder = launch(tmp_path, capsys, "--slurm")
    ends = """printf '{\\n "status": "completed",\\n "reason": null\\n}\\n' > "$RUN_FOLDER/status.json" """
    assert run_script(folder, ends, tmp_path).returncode == 0
    told = calls.read_text(encoding="utf-8")
    assert str(tmp_path / ODD) in told
    words = told.splitlines()
    for wanted in (
        "--cpus-per-task=3", "--nnodes=2", "--nproc-per-node=1", "--max-restarts=0", "--rdzv-backend=c10d",
        "--rdzv-endpoint=first.node:20012", "--rdzv-id=12", "--rdzv-conf=is_host=1", "torch.distributed.run", str(folder.path), "--made",
    ):  # fmt: skip
        assert wanted in words
    assert "scontrol requeue 12" not in words


WAITS = """touch "$(dirname "$0")/begun"
until grep -q stop "$RUN_FOLDER/commands.jsonl" 2>/dev/null; do sleep 0.05; done
{}
printf '{{\\n "status": "stopped",\\n "reason": null\\n}}\\n' > "$RUN_FOLDER/status.json"
"""


def test_before_the_limit_the_run_is_stopped_and_the_job_queued_again(
    tmp_path: Path, capsys: Captured, calls: Path
) -> None:
    folder = launch(tmp_path, capsys, "--slurm")
    ended = run_script(folder, WAITS.format('mkdir "$RUN_FOLDER/checkpoints/step-00000008"'), tmp_path, "SIGUSR1")
    assert ended.returncode == 0, ended.stderr
    assert "scontrol requeue 12" in calls.read_text(encoding="utf-8").splitlines()
    asked = folder.path / "commands.jsonl"
    assert f'"command": "{Command.STOP}", "reason": "The time of Slurm job 12 was nearly over' in asked.read_text(
        encoding="utf-8"
    )


def test_a_job_in_whose_time_nothing_is_trained_is_not_queued_again_for_ever(
    tmp_path: Path, capsys: Captured, calls: Path
) -> None:
    folder = launch(tmp_path, capsys, "--slurm")
    ended = run_script(folder, WAITS.format(""), tmp_path, "SIGUSR1")
    assert ended.returncode == 1
    assert "made no step in its time" in ended.stderr
    assert "requeue" not in calls.read_text(encoding="utf-8")


def test_a_canceled_job_stops_the_run_and_is_not_queued_again(tmp_path: Path, capsys: Captured, calls: Path) -> None:
    folder = launch(tmp_path, capsys, "--slurm")
    ended = run_script(folder, WAITS.format('mkdir "$RUN_FOLDER/checkpoints/step-00000008"'), tmp_path, "SIGTERM")
    assert ended.returncode == 0, ended.stderr
    assert "requeue" not in calls.read_text(encoding="utf-8")
    assert "Slurm job 12 was canceled or preempted" in (folder.path / "commands.jsonl").read_text(encoding="utf-8")


def test_a_failed_run_fails_the_job(tmp_path: Path, capsys: Captured, calls: Path) -> None:
    folder = launch(tmp_path, capsys, "--slurm")
    assert (
        run_script(
            folder, """printf '{\\n "status": "failed"\\n}\\n' > "$RUN_FOLDER/status.json"; exit 3""", tmp_path
        ).returncode
        == 3
    )


def test_a_run_that_is_there_gets_a_script_and_another_one(tmp_path: Path, capsys: Captured) -> None:
    config = write_tiny(tmp_path)
    assert main(["run", config, "--workspace", str(tmp_path / "ws"), "--set", "loop.epochs=1", "--json"]) == 0
    done = json_line(capsys)
    assert "is complete" in refuse(capsys, done["folder"], "--slurm")
    folder = launch(tmp_path, capsys, "--slurm", "--time", "60")
    assert main(["launch", str(folder.path), "--slurm", "--time", "90", "--json"]) == 0
    assert "--time=90" in options_of(folder)
    assert "is a run, whose settings stay" in refuse(capsys, str(folder.path), "--slurm", "--set", "loop.epochs=2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say what is to train it"),
        (("--slurm", "--time", "soon"), "write it as Slurm does"),
        (("--slurm", "--time", "3"), "leaves no time to train"),
        (("--slurm", "--sbatch", "output=x"), "the script sets output itself"),
        (("--slurm", "--sbatch=--mem=4G"), "without dashes"),
        (("--slurm", "--sbatch", "mem=4G\n#SBATCH --wrap=x"), "without dashes"),
        (("--slurm", "--partition", "gpu\nrm"), "holds what is no letter"),
        (("--slurm", "--ranks", "4", "--gpus-per-node", "2"), "each rank needs a GPU of its own"),
        (("--slurm", "--ranks", "all"), "add --gpus-per-node"),
        (("--slurm", "--ranks", "0"), "neither all nor a number"),
        (("--slurm", "--nodes", "0"), "has to be 1 or more"),
        (("--slurm", "--image", "x"), "belongs to --kubernetes or --skypilot"),
        (("--kubernetes",), "needs --image"),
        (("--kubernetes", "--image", "x"), "needs --claim"),
        (("--kubernetes", "--image", "x", "--claim", "My Disk"), "small letters"),
        (("--kubernetes", "--image", "x", "--claim", "c", "--time", "90"), "belongs to --slurm"),
        (("--skypilot", "--gpus-per-node", "1"), "add --accelerator"),
        (("--cancel", "--slurm"), "takes a run and nothing else"),
        (("--nodes", "2"), "say what is to train it"),
    ],
)
def test_what_cannot_be_asked_is_said_and_nothing_made(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: Captured
) -> None:
    told = refuse(capsys, write_tiny(tmp_path), *words, "--workspace", str(tmp_path / "ws"))
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "ws").exists()


def test_a_path_that_slurm_cannot_take_is_refused(tmp_path: Path, capsys: Captured) -> None:
    told = refuse(capsys, write_tiny(tmp_path), "--slurm", "--workspace", str(tmp_path / "back\\slash"))
    assert "backslash" in told
    assert not [*(tmp_path / "back\\slash").glob("runs/*")]


def test_time_limits_are_read_as_slurm_reads_them() -> None:
    known = {"90": 5400, "1:30": 90, "01:00:00": 3600, "2-0": 172800, "1-12:30": 131400, "0-00:00:10": 10}
    assert {time: count_seconds(time) for time in known} == known
    assert count_seconds("UNLIMITED") is None
    with pytest.raises(InputError, match="as Slurm does"):
        count_seconds("4h")


def test_several_processes_share_each_batch(tmp_path: Path, capsys: Captured) -> None:
    config = write_tiny(tmp_path)
    assert main(["launch", config, "--slurm", "--nodes", "2", "--ranks", "2", "--workspace", str(tmp_path / "ws")]) == 0
    assert "loop.slots = 4: a batch of 32 = 4 x 8 samples." in capsys.readouterr().err
    (run,) = (tmp_path / "ws" / "runs").iterdir()
    assert RunFolder(run).config().loop.slots == 4
    assert "--nproc-per-node=2" in (run / "launch" / "slurm.sh").read_text(encoding="utf-8")
    assert main(["launch", str(run), "--slurm", "--nodes", "1", "--ranks", "2"]) == 0
    assert "cannot be shared out among 3 processes" in refuse(capsys, str(run), "--slurm", "--nodes", "3")


def test_a_step_compiled_as_one_is_refused_before_it_is_submitted(tmp_path: Path, capsys: Captured) -> None:
    config = write_tiny(tmp_path, "precision.compile=step")
    told = refuse(capsys, config, "--slurm", "--nodes", "2", "--workspace", str(tmp_path / "ws"))
    assert "precision.compile" in told
    assert not [*(tmp_path / "ws").glob("runs/*")]
