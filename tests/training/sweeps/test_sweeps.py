"""Sweeps from the command line and in one process: trials, pruning, by hand, stopped, budgets, several workers."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.errors import InputError, TrainingError
from training.laboratory.child import Ended
from training.runs.folder import RunFolder
from training.runs.records.about import read_about

VARY = ["--vary", "optimizer.lr=1e-4:1e-1:log", "--vary", "model.dropout=0:0.5"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    save_config(tiny(), tmp_path / "tiny.toml")
    return str(tmp_path / "tiny.toml")


def test_without_optuna_one_sentence_says_what_to_install(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find(name: str) -> Any:
        return None if name == "optuna" else find_spec(name)

    monkeypatch.setattr("training.sweeps.optuna_study.find_spec", find)
    assert main(["sweep", "new", file, *VARY, "--workspace", str(tmp_path / "ws")]) == 2
    said = capsys.readouterr().err.strip()
    assert said == "optuna is missing, which proposes the trials of a sweep: pip install 'trainwright[sweeps]'."
    assert not (tmp_path / "ws").exists()


def test_the_command_line_is_understood_without_loading_optuna() -> None:
    code = "import sys, training.cli.sweep; print([name for name in ('optuna', 'torch') if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


pytest_optuna = pytest.mark.skipif(
    find_spec("optuna") is None, reason="optuna is not installed: pip install 'trainwright[sweeps]'"
)
if find_spec("optuna") is not None:
    from tests.training.sweeps.in_process import make_sweep, train_here, work_here
    from training.sweeps.folder import Budget, find_sweep, read_sweep
    from training.sweeps.records import read_record
    from training.sweeps.trials import Trials


@pytest_optuna
def test_a_sweep_by_the_command_line(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("training.sweeps.worker.train", train_here)
    monkeypatch.setattr("training.sweeps.worker.work.__defaults__", (train_here,))
    place = ["--workspace", str(tmp_path)]
    assert main(["sweep", "new", file, *VARY, "--set", "loop.epochs=2", "--trials", "3", "--json", *place]) == 0
    made = json_line(capsys)
    assert [each["path"] for each in made["space"]] == ["optimizer.lr", "model.dropout"]
    assert not list(tmp_path.glob("runs/*"))  # nothing is trained yet
    assert main(["sweep", "work", made["sweep"], "--json", *place]) == 0
    done = json_line(capsys)
    assert [trial["state"] for trial in done["trials"]] == ["complete"] * 3
    assert done["ended"] == "The budget is used up: 3 trials."
    best = max(done["trials"], key=lambda trial: (trial["value"], -trial["number"]))
    assert done["best"] == best["number"]
    for trial in done["trials"]:
        run = RunFolder(tmp_path / "runs" / trial["run"])  # an ordinary run of the workspace
        config, record = run.config(), run.status()
        assert config.optimizer.lr == trial["params"]["optimizer.lr"]
        assert config == RunFolder(Path(made["folder"]) / "trials" / f"{trial['number']:04}").config()
        assert record.best is not None
        assert record.best.value == trial["value"] == max(value for _, value in trial["curve"])
        assert made["sweep"] in read_about(run).tags
    assert main(["sweep", "show", made["sweep"], *place]) == 0
    shown = capsys.readouterr().out
    assert f"{best['number']}*" in shown
    assert "below 20 importances are mostly noise" in shown
    assert main(["sweep", "list", "--json", *place]) == 0
    assert [each["sweep"] for each in json_line(capsys)["sweeps"]] == [made["sweep"]]
    assert main(["sweep", "work", made["sweep"], *place]) == 0  # nothing more to do
    assert len(list((tmp_path / "runs").iterdir())) == 3


@pytest_optuna
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--vary", "optimizer.lr=1:1000"], "must be at most 100.0"),
        ([], "--vary is missing"),
        ([*VARY, "--trials", "0"], "--trials 0: must be more than 0"),
        ([*VARY, "--seed", "-1"], "--seed -1: must be from 0"),
        ([*VARY, "--storage", "sqlite:///a.db"], "only PostgreSQL is"),
        ([*VARY, "--repeat", "0"], "--repeat 0: must be from 1"),
        ([*VARY, "--vary", "seed=0|1", "--repeat", "2"], "leave one of the two out"),
        ([*VARY, "--storage", "nowhere"], "is no URL of a database"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(
    words: list[str], said: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "new", file, *words, "--workspace", str(tmp_path / "ws")]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("ws/sweeps/*"))


@pytest_optuna
def test_a_network_of_your_own_is_kept_as_it_was_when_the_sweep_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network, config = tmp_path / "network.py", tmp_path / "own.toml"
    code = "from torch import nn\n\ndef build(features: int, classes: int, slope: float = 0.1):\n"
    network.write_text(f"{code}    return nn.Sequential(nn.Linear(features, classes), nn.LeakyReLU(slope))\n")
    config.write_text(
        'name = "own"\n[dataset]\nkind = "spiral"\nsamples = 60\n[model]\nkind = "user_file"\npath = "network.py"\n[loop]\nepochs = 1\n'
    )
    words = ["--vary", "model.arguments.slope=0.1:0.5", "--trials", "2", "--workspace", str(tmp_path), "--json"]
    assert main(["sweep", "new", str(config), *words]) == 2
    assert "needs your consent" in capsys.readouterr().err
    assert main(["sweep", "new", str(config), *words, "--trust"]) == 0
    sweep = read_sweep(Path(json_line(capsys)["folder"]))
    network.write_text("raise SystemExit\n")
    work_here(sweep)
    for trial in read_record(sweep).trials:
        assert trial.state == "complete"
        assert sweep.run(trial.number).code_file.read_text().startswith(code)
        assert sweep.run(trial.number).config().model.arguments == {"slope": trial.params["model.arguments.slope"]}  # type: ignore[union-attr]


@pytest_optuna
def test_the_wilcoxon_pruner_and_a_random_sampler_work(tmp_path: Path) -> None:
    sweep = make_sweep(
        tmp_path, "loop.epochs=8", varied=["optimizer.lr=1e-6|3e-2|2e-6|3e-6"], sampler="random", pruner="wilcoxon"
    )
    work_here(sweep)
    states = [trial.state for trial in read_record(sweep).trials]
    assert set(states) <= {"complete", "pruned"}
    assert states[0] == "complete"


@pytest_optuna
def test_a_budget_of_hours_or_disk_ends_it_with_a_sentence(tmp_path: Path) -> None:
    hours = make_sweep(tmp_path / "a", budget=Budget(hours=1e-6))
    ended, _ = work_here(hours)
    assert ended.startswith("The budget is used up: ")
    assert "of training of" in ended
    assert len(read_record(hours).trials) == 1  # the one that was under way is finished
    disk = make_sweep(tmp_path / "b", budget=Budget(bytes=300_000))
    ended, _ = work_here(disk)
    assert "delete runs that are not needed" in ended
    assert read_record(disk).spent.bytes <= 300_000


@pytest_optuna
def test_a_sweep_of_which_nothing_succeeds_ends(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path, budget=Budget(trials=9))

    def refuse(*_given: object, **_looks: object) -> Ended:
        return Ended(2, "reading\nThe data cannot be read.")

    with pytest.raises(TrainingError, match="All 3 trials so far failed, the last because: The data cannot be read"):
        work_here(sweep, train=refuse)
    assert [trial.state for trial in read_record(sweep).trials] == ["failed"] * 3
    deaths = make_sweep(tmp_path, budget=Budget(trials=1))
    ended, said = work_here(deaths, train=lambda *_given, **_looks: Ended(-9, ""))
    assert said[-1] == "[0] failed: its process ended unexpectedly 3 times (code -9)"
    assert ended == "The budget is used up: 1 trial."


@pytest.mark.slow
@pytest_optuna
def test_two_workers_share_a_sweep_and_each_trial_is_one_workers(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path, "loop.epochs=2", budget=Budget(trials=6), sampler="random", pruner="none")
    code = (
        "import sys; from pathlib import Path; from tests.training.sweeps.in_process import work_here; "
        "from training.sweeps.folder import read_sweep; print('\\n'.join(work_here(read_sweep(Path(sys.argv[1])))[1]))"
    )
    command = [sys.executable, "-c", code, str(sweep.path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [worker.communicate(timeout=200)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    begun = [line.split()[0] for text in said for line in text.splitlines() if " new: " in line]
    assert sorted(begun) == [f"[{number}]" for number in range(6)]  # none twice
    assert [trial.state for trial in read_record(sweep).trials] == ["complete"] * 6


@pytest_optuna
def test_what_a_window_draws_is_read_without_torch(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path, budget=Budget(trials=2))
    work_here(sweep)
    record = read_record(read_sweep(sweep.path))
    assert [axis.dimension.path for axis in record.axes] == ["optimizer.lr", "model.hidden", "model.dropout"]
    assert all(place is not None and 0 <= place <= 1 for axis in record.axes for place in axis.places)
    assert sum(record.importances.values()) == pytest.approx(1.0)
    assert json.loads(json.dumps(record.dump()))["best"] == record.best
    code = "import sys, training.sweeps.records as r; from pathlib import Path; from training.sweeps.folder import read_sweep; r.read_record(read_sweep(Path(sys.argv[1]))); print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code, str(sweep.path)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


@pytest_optuna
def test_a_sweep_is_found_by_its_beginning_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path)
    assert find_sweep(sweep.id[:-3], tmp_path) == sweep
    assert find_sweep("tiny", tmp_path).id == sweep.id
    newer = make_sweep(tmp_path)
    assert find_sweep("tiny", tmp_path).id == newer.id
    newer.remove()
    assert Trials(sweep).read() == []
    with pytest.raises(InputError, match=r"no such sweep in .*; the newest: "):
        find_sweep("other", tmp_path)
    sweep.journal.write_text("not json\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"journal\.jsonl: is damaged"):
        read_record(sweep)
    (sweep.path / "sweep.json").write_text('{"space": 3}', encoding="utf-8")
    with pytest.raises(InputError, match="is damaged"):
        find_sweep(sweep.id, tmp_path)


@pytest_optuna
@pytest.mark.parametrize(
    ("varied", "values", "note"),
    [
        (("optimizer.lr=1e-4:1e-1:log",), (1.0, 2.0), "Only one setting is varied"),
        (
            ("optimizer.lr=1e-4:1e-1:log", "model.dropout=0:0.5"),
            (0.5, 0.5),
            "All 2 complete trials came to the same value",
        ),
    ],
)
def test_nothing_is_said_to_matter_where_nothing_can_be_told(
    tmp_path: Path, varied: tuple[str, ...], values: tuple[float, ...], note: str
) -> None:
    sweep = make_sweep(tmp_path, varied=varied)
    trials = Trials(sweep)
    for number, value in enumerate(values):
        trials.propose(trials.create(), sweep.base())
        trials.end(number, "complete", value, {})
    record = read_record(sweep)
    assert not record.importances
    assert record.importance_note.startswith(note)
