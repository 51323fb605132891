"""Branches: a new run from another run's checkpoint, with whatever settings were changed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.tiny import tiny, tiny_images, write_idx
from training.checkpoints import load_state
from training.config import RunConfig
from training.core.batch_plan import BatchPlan
from training.engine.assemble import assemble
from training.engine.recovery.restore import Branch
from training.engine.runs.run import Hooks, branch_run, intend_resume, resume_run, start_run, train_made_run
from training.engine.session import Session
from training.errors import CheckpointError, ConfigError, InputError
from training.events import Event, Finding, PhaseChanged
from training.runs.folder import RunFolder, create_run, release
from training.runs.records.forms import Parent, StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import WEIGHTS, verify
from training.runs.records.series import read_series
from training.runs.resume_plan import Part, ResumePlan, plan_branch


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A completed run of 24 steps with checkpoints at 16, 20 and 24."""
    return RunFolder(Path(start_run(tiny(), tmp_path_factory.mktemp("parent")).folder))


@pytest.mark.parametrize("override", ["optimizer.decay_bias_and_norm=true", "optimizer.amsgrad=true"])
def test_optimizer_state_that_does_not_fit_is_left_out_and_said(
    parent: RunFolder, tmp_path: Path, override: str
) -> None:
    said: list[Event] = []
    record = branch_run(parent.checkpoints / "step-00000016", tiny(override), tmp_path, Hooks(watch=said.append))
    assert record.status == "completed"
    assert record.step == 24
    [finding] = [event for event in said if isinstance(event, Finding)]
    assert "moments" not in finding.title
    assert "Not restored: AdamW's moments and step counts, because optimizer." in finding.advice


def test_a_branch_that_was_made_to_be_trained_later_is_the_same(parent: RunFolder, tmp_path: Path) -> None:
    checkpoint, config = parent.checkpoints / "step-00000016", tiny("optimizer.lr=0.003")
    at_once = branch_run(checkpoint, config, tmp_path)
    made = create_run(tmp_path, config, parent=Parent(run=parent.id, checkpoint=str(checkpoint)))
    planned: list[ResumePlan] = []
    later = train_made_run(made, tmp_path, Hooks(planned=planned.append))
    assert [change.path for change in planned[0].changed] == ["optimizer.lr"]
    weights = [Path(str(record.last_checkpoint)) / WEIGHTS for record in (at_once, later)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    gone = create_run(tmp_path, config, parent=Parent(run=parent.id, checkpoint=str(checkpoint.with_name("step-9"))))
    with pytest.raises(CheckpointError, match="is gone"):
        train_made_run(gone, tmp_path)
    assert not gone.path.exists()


def test_a_run_that_was_made_to_go_on_changed_where_there_is_no_checkpoint_says_so(tmp_path: Path) -> None:
    ended = create_run(tmp_path, tiny())
    release(ended.path)
    made = create_run(tmp_path, tiny("optimizer.lr=0.003"), parent=Parent(run=ended.id))
    said: list[Event] = []
    assert train_made_run(made, tmp_path, Hooks(watch=said.append)).status == "completed"
    (finding,) = [event for event in said if isinstance(event, Finding) and "had no checkpoint yet" in event.title]
    assert ended.id in finding.title
    assert "optimizer.lr" in finding.advice


def test_metrics_on_samples_that_were_trained_on_are_warned_of(parent: RunFolder, tmp_path: Path) -> None:
    said: list[Event] = []
    other = tiny("dataset.split_seed=5")
    branch_run(parent.checkpoints / "step-00000024", other, tmp_path, Hooks(watch=said.append))
    [warning] = [event for event in said if isinstance(event, Finding) and event.level == "warning"]
    assert warning.title.startswith(
        "The weights were trained on samples that are held out now, because of dataset.split_seed"
    )


@pytest.mark.parametrize("override", ["loop.epochs=1", "loop.epochs=2", "loop.max_steps=10"])
def test_a_branch_beyond_its_own_end_is_refused_and_leaves_nothing(
    parent: RunFolder, tmp_path: Path, override: str
) -> None:
    with pytest.raises(InputError, match="step 16"):
        branch_run(parent.checkpoints / "step-00000016", tiny(override), tmp_path)
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize("together", [["loop.slots=999"], ["loop.slots=4", "precision.compile=step"]])
def test_settings_that_do_not_go_together_make_no_branch(
    parent: RunFolder, tmp_path: Path, together: list[str]
) -> None:
    runs = set(parent.path.parent.iterdir())
    for checkpoint in (parent.path, parent.checkpoints / "step-00000016"):
        intent = intend_resume(str(checkpoint), tmp_path, together)
        with pytest.raises(ConfigError, match="slots"):
            intent.sheet()  # also where it is only asked what a resume would do
        with pytest.raises(ConfigError, match="slots"):
            resume_run(str(checkpoint), tmp_path, together)
    assert set(parent.path.parent.iterdir()) == runs
    ended = create_run(tmp_path, tiny())  # without a checkpoint it would begin from nothing
    release(ended.path)
    with pytest.raises(ConfigError, match="slots"):
        intend_resume(str(ended.path), tmp_path, together).sheet()
    with pytest.raises(ConfigError, match="slots"):
        resume_run(str(ended.path), tmp_path, together)
    assert list(ended.path.parent.iterdir()) == [ended.path]


def test_the_best_of_a_branch_is_one_of_its_own_checkpoints(parent: RunFolder, tmp_path: Path) -> None:
    changed = tiny("loop.epochs=4", "optimizer.lr=1e-9", "schedule.kind=constant")  # nothing gets better any more
    record = branch_run(parent.checkpoints / "step-00000024", changed, tmp_path)
    assert record.best is not None
    assert record.best.step == 32
    assert record.best is not None
    assert Path(str(record.best.checkpoint)).parent.parent == Path(record.folder)


def test_a_skipped_first_step_keeps_the_branched_batch_norm_statistics(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data", samples=60, size=32)
    config = tiny_images(
        data,
        "model.kind=torchvision",
        "model.name=mobilenet_v3_small",
        "loop.epochs=1",
        "loop.ema_decay=none",
        "schedule.warmup=0",
    )
    parent = RunFolder(Path(start_run(config, tmp_path).folder))
    checkpoint = max(parent.checkpoints.iterdir())
    longer = config.model_copy(update={"loop": config.loop.model_copy(update={"epochs": 2})})
    session = assemble(longer, lambda text, fraction: None)
    Branch(checkpoint, verify(checkpoint), parent).apply(create_run(tmp_path, longer), session)
    before = {name: buffer.clone() for name, buffer in session.model.named_buffers()}
    assert any(buffer.is_floating_point() and buffer.abs().sum() > 0 for buffer in before.values())
    session.guard(lambda: None, torch.tensor(float("nan")))
    for name, buffer in session.model.named_buffers():
        assert torch.equal(buffer, before[name]), name


def test_the_loss_scale_of_fp16_goes_over_to_a_branch(tmp_path: Path) -> None:
    config = tiny("precision.compute=fp16", "loop.epochs=1")
    parent = RunFolder(Path(start_run(config, tmp_path).folder))
    checkpoint = parent.checkpoints / "step-00000008"
    longer = tiny("precision.compute=fp16")
    session = assemble(longer, lambda text, fraction: None)
    assert session.numerics.scaler is not None
    Branch(checkpoint, verify(checkpoint), parent).apply(create_run(tmp_path, longer), session)
    assert session.numerics.scaler.state_dict() == load_state(checkpoint)["scaler"]
    assert session.numerics.scaler.state_dict()["_growth_tracker"] == 8


RICH = ("loop.ema_decay=0.9", "schedule.kind=plateau", "schedule.patience=0", "precision.compute=fp16")
SGD = ("optimizer.kind=sgd", "optimizer.nesterov=false")


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of 24 steps whose checkpoints hold everything that a checkpoint can hold."""
    return RunFolder(Path(start_run(tiny(*RICH), tmp_path_factory.mktemp("rich")).folder))


@pytest.fixture(scope="module")
def sgd(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of 24 steps with SGD under one-cycle."""
    return RunFolder(Path(start_run(tiny(*SGD), tmp_path_factory.mktemp("sgd")).folder))


def really_restored(session: Session, fresh: Any, state: Any) -> set[Part]:
    """Which parts of ``session`` are the checkpoint's ``state``, and no longer those of a new run."""
    now: Any = session.training_state()
    saved, numbers = state["optimizer"]["state"], now["optimizer"]["state"]
    parts: set[Part] = set()

    def is_saved(name: str) -> bool:
        return bool(state.get(name)) and now[name] == state[name] and now[name] != fresh[name]

    same_entries = {key: set(entry) for key, entry in numbers.items()} == {
        key: set(entry) for key, entry in saved.items()
    }
    if same_entries and all(torch.equal(numbers[key][name], saved[key][name]) for key in saved for name in saved[key]):
        parts.add("optimizer")
    if session.ema is not None and is_saved("ema_updates"):
        parts.add("averaged weights")
    if is_saved("scaler"):
        parts.add("loss scale")
    if is_saved("plateau"):
        parts.add("plateau")
    if now["progress"]["step"] == state["progress"]["step"]:
        parts.add("position")
    if torch.equal(now["rng"]["cpu"], state["rng"]["cpu"]):
        parts.add("random numbers")
    return parts


@pytest.mark.parametrize(
    "override",
    [
        "seed=4",
        "deterministic=true",
        "dataset.noise=0.3",
        "dataset.split_seed=5",
        "model.dropout=0.4",
        "objective.label_smoothing=0.1",
        "optimizer.betas=[0.8, 0.99]",
        "optimizer.amsgrad=true",
        "optimizer.decay_bias_and_norm=true",
        "optimizer.kind=adam",
        "optimizer.kind=sgd",
        "schedule.kind=constant",
        "schedule.factor=0.5",
        "precision.compute=bf16",
        "loop.max_steps=20",
        "loop.batch_size=16",
        "loop.ema_decay=none",
        "loop.ema_decay=0.5",
        "loop.validate_every_steps=3",
        "loader.workers=0",
        "checkpoints.monitor=val/loss",
    ],
)
def test_what_the_sheet_says_is_what_is_restored(rich: RunFolder, tmp_path: Path, override: str) -> None:
    compare_with_sheet(rich, tiny(*RICH), tiny(*RICH, override), tmp_path)


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("optimizer.momentum=0.0",),
        ("optimizer.momentum=0.0", "schedule.kind=constant"),
        ("schedule.kind=plateau",),
        ("loop.ema_decay=0.9", "precision.compute=fp16"),
        ("loop.batch_size=16", "loop.accumulation=2"),
        ("optimizer.kind=adamw",),
    ],
)
def test_the_sheet_is_right_about_sgd_too(sgd: RunFolder, tmp_path: Path, overrides: tuple[str, ...]) -> None:
    compare_with_sheet(sgd, tiny(*SGD), tiny(*SGD, *overrides), tmp_path)


def compare_with_sheet(parent: RunFolder, before: RunConfig, after: RunConfig, workspace: Path) -> None:
    checkpoint = parent.checkpoints / "step-00000016"
    manifest = verify(checkpoint)
    said = plan_branch(before, after, manifest)  # as a window shows it, before anything is opened
    session = assemble(after, lambda text, fraction: None)
    fresh = session.training_state()
    torch.manual_seed(99)
    branch = Branch(checkpoint, manifest, parent)
    branch.apply(create_run(workspace, after), session)
    assert branch.sheet == said
    assert {"weights", *really_restored(session, fresh, load_state(checkpoint))} == said.parts
    windows = BatchPlan(session.data.plan.n, before.loop.batch_size, before.loop.accumulation)
    assert not said.continues or session.data.plan.has_steps_of(windows)


def test_data_that_turns_out_to_differ_takes_the_place_away_and_says_so(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data")
    config = tiny_images(data)
    parent = RunFolder(Path(start_run(config, tmp_path).folder))
    checkpoint = parent.checkpoints / "step-00000004"
    other = write_idx(tmp_path / "other", samples=200)
    changed = config.model_copy(update={"dataset": config.dataset.model_copy(update={"path": str(other)})})
    said: list[Event] = []
    record = branch_run(checkpoint, changed, tmp_path, Hooks(watch=said.append))
    told, warned = [event for event in said if isinstance(event, Finding)]
    assert "the content of the data differs" in told.advice
    assert warned.level == "warning"
    assert "begins at step 0" in warned.title
    assert read_series(RunFolder(Path(record.folder)).series_file)["step"][0] == 1
    # After the last step the same data would leave nothing to do, so other data is what is meant.
    assert branch_run(parent.checkpoints / "step-00000012", changed, tmp_path).status == "completed"
    (tmp_path / "data").rename(tmp_path / "moved")
    same = config.model_copy(update={"dataset": config.dataset.model_copy(update={"path": str(tmp_path / "moved")})})
    with pytest.raises(InputError, match="step 12"):
        branch_run(parent.checkpoints / "step-00000012", same, tmp_path)


def test_a_branch_that_changes_only_the_length_is_the_longer_run(tmp_path: Path) -> None:
    """Under a schedule that does not know the length: weights, optimizer and dropout's random numbers all go over."""
    constant = ("schedule.kind=constant", "optimizer.weight_decay=0.02")
    short = RunFolder(Path(start_run(tiny(*constant), tmp_path).folder))
    longer = tiny(*constant, "loop.epochs=5")
    branch = branch_run(short.checkpoints / "step-00000020", longer, tmp_path)
    whole = start_run(longer, tmp_path)
    assert branch.step == whole.step == 40
    files = [verify(Path(str(record.last_checkpoint))).files for record in (branch, whole)]
    assert files[0][WEIGHTS] == files[1][WEIGHTS]


def test_another_model_is_refused_before_a_folder_is_made(parent: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"another model, because model\.hidden is changed"):
        branch_run(parent.checkpoints / "step-00000016", tiny("model.hidden=[8, 8]"), tmp_path)
    assert not (tmp_path / "runs").exists()


def test_a_branch_cut_off_before_its_first_checkpoint_goes_on_from_its_parents(
    parent: RunFolder, tmp_path: Path
) -> None:
    changed = tiny("loop.epochs=4", "optimizer.weight_decay=0.02")
    whole = branch_run(parent.checkpoints / "step-00000016", changed, tmp_path)
    cut = cut_off(parent, changed, tmp_path)
    resumed = resume_run(str(cut.path), tmp_path)
    assert resumed.status == "completed"
    assert resumed.metrics == whole.metrics
    assert digests_of(resumed) == digests_of(whole)
    folders = [RunFolder(Path(record.folder)) for record in (resumed, whole)]
    assert read_series(folders[0].series_file).tobytes() == read_series(folders[1].series_file).tobytes()
    there, here = (read_history(folder.events_file) for folder in folders)
    assert [item.step for item in there.validations] == [item.step for item in here.validations]
    assert [item.step for item in there.epochs] == [item.step for item in here.epochs]


def test_a_branch_without_a_checkpoint_is_refused_when_its_parents_is_gone(tmp_path: Path) -> None:
    parent = RunFolder(Path(start_run(tiny(), tmp_path).folder))
    cut = cut_off(parent, tiny("loop.epochs=4"), tmp_path)
    shutil.rmtree(parent.path)
    with pytest.raises(CheckpointError, match=r"step-00000016, is gone; make a new branch"):
        resume_run(str(cut.path), tmp_path)
    assert not list(cut.checkpoints.iterdir())


def cut_off(parent: RunFolder, config: RunConfig, workspace: Path) -> RunFolder:
    """A branch of ``parent`` that ended before it saved anything."""
    hooks = Hooks()

    def watch(event: Event) -> None:
        if isinstance(event, PhaseChanged) and event.phase == "training":
            hooks.control.discard = True
            hooks.control.request_stop()

    hooks.watch = watch
    record = branch_run(parent.checkpoints / "step-00000016", config, workspace, hooks)
    folder = RunFolder(Path(record.folder))
    assert record.status == "stopped"
    assert not list(folder.checkpoints.iterdir())
    return folder


def digests_of(record: StatusRecord) -> dict[str, Any]:
    files: dict[str, Any] = verify(Path(str(record.last_checkpoint))).files
    return files
