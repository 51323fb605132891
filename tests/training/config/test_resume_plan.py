"""The branch sheet: what a branch or a resume takes over, told before anything is opened."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config import RunConfig
from training.config.describe import describe
from training.config.diff import Change, diff
from training.config.fields import Section
from training.config.rules.effects import effect_of
from training.config.run import SECTIONS, alternatives
from training.runs.records.forms import Manifest, TrainedData
from training.runs.resume_plan import ResumePlan, keeps_run, make_plan, plan_branch

MANIFEST = Manifest(step=16, epoch=2, config={}, data=TrainedData(fingerprint="f", training_samples=240))


def sheet(*overrides: str, before: tuple[str, ...] = (), **facts: Any) -> ResumePlan:
    return plan_branch(tiny(*before), tiny(*before, *overrides), MANIFEST.model_copy(update=facts))


def test_without_a_change_everything_but_the_records_is_restored() -> None:
    same = sheet()
    assert same.continues
    assert same.changed == ()
    assert same.restored == (
        "the weights",
        "AdamW's moments and step counts",
        "the step and the data-loader position",
        "the state of the random numbers",
    )
    assert [clause.partition(",")[0] for clause in same.ignored] == ["the best value so far and early stopping's count"]


def test_another_optimizer_leaves_the_old_ones_numbers_and_says_why() -> None:
    other = sheet("optimizer.kind=sgd")
    assert other.continues
    assert "AdamW's moments and step counts, because the optimizer is SGD now" in other.ignored
    assert "SGD's momentum buffers begin at zero" in other.notes
    assert "optimizer" not in other.parts


@pytest.mark.parametrize(
    ("before", "override", "words"),
    [
        ((), "optimizer.amsgrad=true", "optimizer.amsgrad needs other numbers"),
        ((), "optimizer.decay_bias_and_norm=true", "groups the weights otherwise"),
        (("optimizer.kind=sgd", "schedule.kind=constant", "optimizer.nesterov=false"), "optimizer.momentum=0.0", "off"),
    ],
)
def test_optimizer_settings_that_need_other_numbers(before: tuple[str, ...], override: str, words: str) -> None:
    other = sheet(override, before=before)
    assert "optimizer" not in other.parts
    assert any(words in clause for clause in other.ignored)


def test_one_cycle_gives_sgd_momentum_whatever_the_optimizer_says() -> None:
    other = sheet("optimizer.momentum=0.0", before=("optimizer.kind=sgd", "optimizer.nesterov=false"))
    assert "optimizer" in other.parts


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("loop.batch_size=16", "a step holds other samples (loop.batch_size)"),
        ("dataset.noise=0.3", "the samples differ (dataset.noise)"),
        ("dataset.validation_fraction=0.3", "the samples differ (dataset.validation_fraction)"),
        ("seed=9", "the samples come in another order (seed)"),
    ],
)
def test_where_the_place_in_the_data_means_nothing_the_run_begins_at_step_0(override: str, reason: str) -> None:
    other = sheet(override)
    assert not other.continues
    assert "position" not in other.parts
    assert any(reason in clause for clause in other.ignored)
    assert "the new run begins at step 0, and so does its learning rate" in other.notes


@pytest.mark.parametrize(
    "path", ["dataset.split_seed=7", "dataset.validation_fraction=0.3", "dataset.test_fraction=0.1"]
)
def test_a_branch_that_holds_out_samples_of_the_training_is_warned_of(path: str) -> None:
    assert any("trained on samples that are held out now" in note for note in sheet(path).notes)


@pytest.mark.parametrize("path", ["optimizer.lr=0.5", "dataset.noise=0.3", "seed=9"])
def test_a_branch_with_the_same_split_is_not(path: str) -> None:
    assert not any("held out" in note for note in sheet(path).notes)


def test_smaller_batches_in_the_same_windows_continue() -> None:
    finer = sheet("loop.batch_size=16", "loop.accumulation=2")
    assert finer.continues
    assert "each step sees the same samples as before, in other batches" in finer.notes


@pytest.mark.parametrize(("samples", "continues"), [(240, True), (225, False), (None, False)])
def test_batches_of_one_are_the_same_windows_unless_a_single_sample_is_left(
    samples: int | None, continues: bool
) -> None:
    """225 = 7 * 32 + 1: the last sample joins the window before it, but with batches of one it gets its own."""
    finer = sheet(
        "loop.batch_size=1", "loop.accumulation=32", data=TrainedData(fingerprint="f", training_samples=samples)
    )
    assert finer.continues == continues


@pytest.mark.parametrize(("samples", "continues"), [(256, True), (240, False), (20, False), (None, False)])
def test_a_dropped_batch_is_another_window_unless_none_was_short(samples: int | None, continues: bool) -> None:
    dropping = sheet("loader.drop_last=true", data=TrainedData(fingerprint="f", training_samples=samples))
    assert dropping.continues == continues
    assert continues or any("a step holds other samples (loader.drop_last)" in clause for clause in dropping.ignored)


def test_other_weights_are_refused_by_their_settings() -> None:
    other = sheet("model.hidden=[8, 8]")
    assert "model.hidden is changed" in other.refused
    assert other.restored == ()
    assert "model.kind" in sheet("model.kind=small_cnn", "dataset.kind=shapes").refused


@pytest.mark.parametrize("override", ["loop.epochs=2", "loop.max_steps=16"])
def test_a_checkpoint_at_or_past_the_new_end_is_refused(override: str) -> None:
    assert "step 16" in sheet(override).refused
    assert not sheet("loop.epochs=3", "loop.max_steps=17").refused


def test_averages_scales_and_plateaus() -> None:
    assert "averaged weights" in sheet(before=("loop.ema_decay=0.9",), averaged=True).parts
    off = sheet("loop.ema_decay=none", before=("loop.ema_decay=0.9",), averaged=True)
    assert "the averaged weights, because loop.ema_decay is off now" in off.ignored
    on = sheet("loop.ema_decay=0.9")
    assert any("average of the weights begins with the restored ones" in note for note in on.notes)
    assert "loss scale" in sheet(before=("precision.compute=fp16",)).parts
    assert any("bf16" in text for text in sheet("precision.compute=bf16", before=("precision.compute=fp16",)).ignored)
    plateau = ("schedule.kind=plateau",)
    assert "plateau" in sheet(before=plateau).parts
    assert any("settings are changed" in text for text in sheet("schedule.factor=0.5", before=plateau).ignored)
    assert any("another metric" in text for text in sheet("checkpoints.monitor=val/loss", before=plateau).ignored)
    assert any("starts from the beginning" in text for text in sheet("seed=3", before=plateau).ignored)


def test_a_longer_run_under_a_schedule_over_the_whole_says_that_the_rate_jumps() -> None:
    assert any("jumps" in note for note in sheet("loop.epochs=5").notes)
    assert not any("jumps" in note for note in sheet("loop.epochs=5", before=("schedule.kind=constant",)).notes)


def test_a_rate_that_the_schedule_does_not_ask_for_is_said_to_be_unused() -> None:
    assert sheet("optimizer.lr=0.5").notes == ("optimizer.lr has no effect while schedule.max_lr is set",)
    used = sheet("optimizer.lr=0.5", before=("schedule.max_lr=none",)).notes
    assert used == ("the learning rate is another from here on, because of optimizer.lr",)


@pytest.mark.parametrize("setting", ["loop.stopping_threshold=0.9", "loop.early_stopping_patience=3"])
def test_what_only_ends_a_run_is_not_said_to_judge_it_otherwise(setting: str) -> None:
    told = f"the run may end at another step than it would have, because of {setting.partition('=')[0]}"
    assert sheet(setting).notes == (told,)


def test_data_found_to_differ_makes_the_sheet_stricter() -> None:
    before = tiny()
    assert plan_branch(before, before, MANIFEST, same_data=True) == plan_branch(before, before, MANIFEST)
    stricter = plan_branch(before, before, MANIFEST, same_data=False)
    assert not stricter.continues
    assert any("the content of the data differs" in clause for clause in stricter.ignored)


@pytest.mark.parametrize(
    ("overrides", "same"),
    [
        (("loader.workers=2", "checkpoints.keep_last=9", "loop.max_skipped_steps=3"), True),
        (("precision.device=cpu", "precision.threads=1"), True),
        (("name=other",), True),
        (("loader.workers=2", "optimizer.lr=0.5"), False),
        (("precision.compute=bf16",), False),
    ],
)
def test_a_run_stays_the_same_run_unless_what_it_computes_changes(overrides: tuple[str, ...], same: bool) -> None:
    before, after = tiny(), tiny(*overrides)
    plan = make_plan(before, after, MANIFEST)
    assert plan.same_run == same
    assert plan.continues


@pytest.mark.parametrize("override", ["loop.max_skipped_steps=3", "checkpoints.every_steps=3"])
def test_what_decides_a_roll_back_changes_the_result_of_a_run_that_rolls_back(override: str) -> None:
    for after_skips, same in (("stop", True), ("roll_back", False)):
        before = (f"loop.after_skips={after_skips}",)
        changes = diff(tiny(*before), tiny(*before, override))
        assert keeps_run(changes) is same
        assert any("no result depends on" in note for note in sheet(override, before=before).notes) is same


def test_what_changes_no_result_is_said_to() -> None:
    plan = make_plan(tiny(), tiny("loader.workers=2", "checkpoints.keep_last=9"), MANIFEST)
    assert plan.notes == ("no result depends on checkpoints.keep_last and loader.workers",)
    assert "the best value so far and early stopping's count" in plan.restored


def every_setting() -> list[str]:
    paths = ["name", "seed", "deterministic"]
    for section in SECTIONS:
        choices = alternatives(section)
        paths += [f"{section}.kind"] if "" not in choices else []
        paths += [
            f"{section}.{spec.name}" for cls in choices.values() if issubclass(cls, Section) for spec in describe(cls)
        ]
    return sorted(set(paths))


@pytest.mark.parametrize("path", every_setting())
def test_every_setting_is_classified(path: str) -> None:
    """None of them alone may pass for "changes no result" unless its own declaration says so."""
    change = Change(path, 1, 2)
    effect = effect_of(change)
    assert (effect == "none") == (not change.affects_result and path != "name")
    assert keeps_run([change]) == (effect in ("none", "name", "place", "device"))
    section = path.partition(".")[0]
    assert section in (*SECTIONS, "name", "seed", "deterministic")
    # The code itself decides, and its digest is compared; a text is looked at, and nothing follows from it.
    consent = path in ("objective.teacher_trusted", "objective.sample_tokens", "objective.sample_prompt")
    if section in ("optimizer", "schedule", "objective", "model") and not consent:
        assert not keeps_run([change])


def test_the_sheet_needs_no_torch() -> None:
    code = "import sys, training.runs.resume_plan; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_contract_of_the_window() -> None:
    one = plan_branch(RunConfig(), RunConfig(seed=1), MANIFEST)
    assert isinstance(one.restored, tuple)
    assert [str(change) for change in one.changed] == ["seed: 0 → 1"]
