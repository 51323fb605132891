"""Whether settings cure a run: both arms, the verdict, and that nothing of the run changes but its proofs."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from pydantic import JsonValue

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.control import Control
from training.engine.runs import run_writer
from training.engine.runs.run import start_run
from training.errors import InputError
from training.events import Finding
from training.prove import runner
from training.prove.plan import plan_proof
from training.prove.progress import Reached, arm_folder, read_progress, work_folder
from training.runs.folder import RunFolder
from training.runs.fork import choose_fork
from training.runs.records.history import EventLog
from training.runs.records.proofs import read_proofs
from training.runs.records.series import read_steps

STEPS = 8


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """24 steps at a rate that learns nothing, with checkpoints at 16, 20 and 24."""
    settings = ("schedule.kind=constant", "optimizer.lr=1e-6", "precision.threads=1")
    return RunFolder(Path(start_run(tiny(*settings), tmp_path_factory.mktemp("ws")).folder))


@pytest.fixture
def run(trained: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy of it, and what it told."""
    return RunFolder(shutil.copytree(trained.path, tmp_path / "runs" / trained.id))


def tell(
    run: RunFolder,
    code: str = "loss.flat",
    since: int = 18,
    step: int = 20,
    place: str = "",
    fix: Mapping[str, JsonValue] = MappingProxyType({"optimizer.lr": 0.02}),
) -> None:
    log = EventLog(run.events_file)
    log.emit(Finding(level="warning", title="Flat.", code=code, since=since, step=step, place=place, fix=dict(fix)))
    log.close()


def digest(run: RunFolder) -> str:
    """Of every file but proofs."""
    files = sorted(path for path in run.path.rglob("*") if path.is_file() and run.proofs not in path.parents)
    return hashlib.sha256(b"".join(str(path).encode() + path.read_bytes() for path in files)).hexdigest()


def test_a_fix_is_proved_beside_the_very_steps_of_the_run(run: RunFolder, capsys: Captured) -> None:
    tell(run)
    before = digest(run)
    command = ["prove", str(run.path), "loss.flat", "--steps", str(STEPS), "--json"]
    assert main(command) == 0
    out, told = capsys.readouterr()
    assert told.index("6 arms of 8 steps") < told.index("checkpoint of step 16") < told.index("It ")
    assert digest(run) == before
    (proof,) = read_proofs(run)
    assert json.loads(out.splitlines()[-1])["verdict"] == proof.verdict
    assert proof.verdict in ("cures", "helps")
    assert (proof.finding, proof.start, proof.steps) == ("loss.flat", 16, 8)
    own = read_steps(run.series_file, 17, 24)["loss"]
    first, second, _ = proof.orders
    assert np.array_equal(np.array(first.without.losses, np.float32), own)
    assert first.with_.losses[0] == first.without.losses[0]  # the same batch, before the first update
    assert second.with_.losses[0] == second.without.losses[0] != first.without.losses[0]
    assert all(arm.validations[-1].step == 24 for arm in (first.without, second.with_))
    assert next(each for each in proof.differences if each.metric == "train/loss").better
    assert [path.name for path in run.proofs.iterdir() if path.name != ".lock"] == [f"{proof.key}.json"]

    assert main(command) == 0  # what is known is told again, not trained again
    assert read_proofs(run) == [proof]
    capsys.readouterr()
    main(["doctor", str(run.path)])
    assert f"proof    loss.flat: {proof.sentence}" in capsys.readouterr().out
    page = run.path / "report.html"
    assert main(["report", str(run.path), "--out", str(page)]) == 0
    assert "Training loss of both arms" in page.read_text()


def test_settings_of_the_network_begin_at_step_0_and_the_kept_arms_are_taken_after_a_stop(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("start_sidecar", "start_copier"):  # no arm is sent anywhere
        monkeypatch.setattr(run_writer, name, lambda *_: pytest.fail("An arm was followed."))
    plan = plan_proof(run, overrides=["model.hidden=[32, 32]"], steps=4, orders=1)
    assert (plan.checkpoint, plan.start) == (None, 0)
    assert "model.hidden acts on the data or the network" in plan.started
    control, said = Control(), list[str]()
    looks = []

    def stop_in_the_second(_phase: str, reached: Reached) -> None:
        looks.append(read_progress(run, plan.key))
        if reached.with_fix:
            control.request_stop()

    assert runner.prove(plan, said.append, stop_in_the_second, control) is None
    assert looks[-1] is not None
    assert (looks[-1].done, looks[-1].with_fix, looks[-1].steps) == (1, True, 4)
    (arm_folder(run, plan.key).path / "checkpoints").mkdir(parents=True)  # what a kill leaves
    (work_folder(run, plan.key) / "order-1-with.json").write_text('{"losses": [1.0]}')
    (work_folder(run, plan.key) / "order-1-with.npz").write_bytes(b"PK\x03\x04 damaged")
    proof = runner.prove(plan, said.append, lambda phase, reached: None, Control())
    assert said == ["order-1-without: trained before"]
    assert proof is not None
    assert not work_folder(run, plan.key).exists()
    assert "One order of the data tells nothing of how much the order matters." in proof.notes


def test_numbers_that_are_not_finite_are_the_verdict(run: RunFolder) -> None:
    plan = plan_proof(run, overrides=["optimizer.kind=sgd", "optimizer.lr=100", "loop.clip_norm=0"], steps=8, orders=1)
    proof = runner.prove(plan, print, lambda phase, reached: None, Control())
    assert proof is not None
    assert proof.verdict == "harms"
    assert proof.sentence.startswith("It harms: with it the loss was ")


def test_what_cannot_be_proved_is_refused_before_anything_begins(run: RunFolder, capsys: Captured) -> None:
    tell(run, "fit.over", fix={})
    tell(run, "table.target_leak", place="price", fix={"optimizer.lr": 0.5})
    for words, told in (
        (["schedule.lenght"], "No finding has the code schedule.lenght; the nearest is schedule.length"),
        (["schedule.length"], "has no such finding; those with a fix are table.target_leak:price"),
        (["fit.over"], "no setting mends it"),
        (["table.target_leak"], "the metrics are better than they should be"),
        (["--set", "optimizer.lr=1e-6"], "has these settings already"),
        (["--set", "loop.early_stopping_patience=3"], "no step depends on that"),
        (["--set", "seed=3"], "another order of the data"),
        (["--set", "optimizer.lr=fast"], "optimizer.lr"),
        (["--set", "optimizer.lr=1", "--orders", "0"], "--orders 0: must be from 1 to 20"),
        ([], "Name either a finding of the run, or settings with --set"),
    ):
        assert main(["prove", str(run.path), *words]) == 2
        assert told in capsys.readouterr().err
    assert not run.proofs.exists()


def test_a_checkpoint_that_is_gone_or_damaged_is_told_and_another_one_taken(run: RunFolder, capsys: Captured) -> None:
    tell(run, since=22, step=23)
    shutil.rmtree(run.checkpoints / "step-00000020")
    plan = plan_proof(run, "loss.flat", steps=2, orders=1)
    assert plan.start == 16
    assert plan.started.startswith("The checkpoint of step 20 is gone")
    weights = run.checkpoints / "step-00000016" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert main(["prove", str(run.path), "loss.flat", "--steps", "2", "--orders", "1", "--json"]) == 0
    assert json_line(capsys)["start"] == 8  # of the best checkpoint
    for folder in run.checkpoints.iterdir():
        shutil.rmtree(folder)
    assert plan_proof(run, "loss.flat", steps=2).start == 0


def test_apply_and_prove_begin_at_the_same_checkpoint(run: RunFolder) -> None:
    for since in (1, 18, 22):
        tell(run, since=since, step=23)
        plan = plan_proof(run, "loss.flat", steps=2, orders=1)
        fork = choose_fork(run, plan.before, plan.after, since)
        assert (fork.checkpoint.path if fork.checkpoint else None) == plan.checkpoint
    assert choose_fork(run, plan.before, plan.after, 1).why == "it was so from the start"


def test_a_folder_that_cannot_be_written_and_a_disk_without_room_are_told(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_proof(run, overrides=["optimizer.lr=0.01"], steps=2, orders=1)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
        with pytest.raises(InputError, match="are needed and 0 bytes are free; free some space"):
            runner.prove(plan, print, lambda phase, reached: None, Control())
    shutil.rmtree(run.proofs)
    run.proofs.write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        runner.prove(plan, print, lambda phase, reached: None, Control())
