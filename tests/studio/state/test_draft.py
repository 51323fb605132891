"""The draft: what was typed is kept, what is wrong is said, nothing is lost on the way."""

import json
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import join_path
from tests.studio.every_setting import EVERY_KIND, named, settings_of, wrong_value
from training.config import RunConfig, load_config
from training.config.rules.schedule_problems import duration_problems
from training.errors import ConfigError, InputError, Problem


def test_starts_as_the_built_in_sample_ready_to_run() -> None:
    draft = Draft()
    config = draft.config()
    assert config is not None
    assert config.dataset.kind == "shapes"
    assert not draft.problems()


@pytest.mark.parametrize(("section", "kind"), EVERY_KIND)
def test_every_setting_can_be_wrong_and_be_reset(section: str, kind: str, tmp_path: Path) -> None:
    draft = Draft()
    for spec in settings_of(draft, section, kind, tmp_path):
        with named(section, kind, spec):
            assert draft.config() is not None, draft.problems()
            path = join_path(section, spec.name)
            before = draft.value(path)
            draft.set(path, wrong_value(spec))
            assert draft.config() is None
            assert draft.problems()
            assert all(f"{problem.path}.".startswith(f"{path}.") for problem in draft.problems())
            assert draft.value(path) == wrong_value(spec)
            draft.undo()
            assert draft.value(path) == before
            assert draft.config() is not None
            draft.redo()
            draft.reset(path)
            assert not draft.is_changed(path)


def test_a_half_typed_draft_survives_the_way_through_a_file(tmp_path: Path) -> None:
    draft = Draft()
    draft.set("optimizer.lr", "1e-")
    draft.set("loop.clip_norm", None)
    draft.set("name", "Größenmaßstäbe – naïve")
    stored = tmp_path / "draft.json"
    stored.write_text(json.dumps(draft.data()))
    again = Draft()
    assert again.set_data(json.loads(stored.read_text())) == []
    assert again.data() == draft.data()
    assert again.problems() == draft.problems()
    again.reset("optimizer.lr")
    config = again.config()
    assert config is not None
    assert config.loop.clip_norm is None


@pytest.mark.parametrize(
    "rubbish",
    [
        {"loop": 7},
        {"optimizer": {"kind": "alchemy", "lr": {"deep": 1}}},
        {"name": ["a", {"b": 1}]},
        {"dataset": None},
        {"model": {"kind": 3}},
        {"schedule": {"kind": "cosine", "max_lr": 3}, "unheard_of": {"x": 1}},
    ],
)
def test_rubbish_never_raises_and_leaves_no_fault_without_a_field(rubbish: dict[str, Any]) -> None:
    draft = Draft()
    draft.set_data(rubbish)
    for problem in draft.problems():
        draft.value(problem.path)
    assert set(draft.data()) == set(RunConfig.model_fields)


def test_all_faults_are_listed_also_those_behind_others(tmp_path: Path) -> None:
    draft = Draft()
    draft.set_kind("dataset", "image_folder")
    draft.set("dataset.path", str(tmp_path / "gone"))
    draft.set("optimizer.lr", -1.0)
    draft.set("model.channels", [32, 0])
    assert {problem.path for problem in draft.problems()} == {"dataset.path", "optimizer.lr", "model.channels.1"}


def test_previews_can_use_what_is_right() -> None:
    draft = Draft()
    draft.set("optimizer.lr", "x")
    usable = draft.usable_config("dataset")
    assert usable is not None
    assert usable.dataset.kind == "shapes"
    assert draft.usable_config("optimizer", "loop") is None


def test_another_kind_keeps_what_was_changed_and_comes_back_as_it_was() -> None:
    draft = Draft()
    draft.set_kind("optimizer", "sgd")
    assert draft.value("optimizer.lr") == 0.05  # the preset's before, so SGD's own default
    draft.set_kind("optimizer", "adamw")
    draft.set("optimizer.lr", 0.007)
    draft.set("optimizer.betas", [0.8, 0.9])
    draft.set_kind("optimizer", "adam")
    assert draft.value("optimizer.lr") == 0.007
    draft.set("optimizer.eps", 1e-6)
    draft.set_kind("optimizer", "adamw")
    assert draft.value("optimizer.betas") == [0.8, 0.9]
    assert draft.value("optimizer.eps") == 1e-8
    draft.set_kind("optimizer", "adam")
    assert draft.value("optimizer.eps") == 1e-6


@pytest.mark.parametrize(
    ("old", "settings", "new", "now"),
    [
        ("adamw", {"lr": 1e-3}, "sgd", {"lr": 0.05}),
        ("adamw", {"lr": 3e-3}, "sgd", {"lr": 0.05}),  # how far AdamW could be pushed says nothing about SGD
        ("adamw", {"lr": 1e-4}, "sgd", {"lr": 0.005}),  # careful, as for fine-tuning
        ("adamw", {"lr": 3e-3}, "adam", {"lr": 3e-3}),  # on the same scale
        ("sgd", {"lr": 1.5, "momentum": 0.85}, "adamw", {"lr": 1e-3}),
        ("sgd", {"momentum": 0.99}, "rmsprop", {"momentum": 0.0}),
        ("muon", {"lr": 0.02, "adjust_lr_fn": "original"}, "adamw", {"lr": 1e-3}),
        ("adamw", {"lr": "1e-"}, "sgd", {"lr": 0.05}),
        ("adamw", {"weight_decay": 0.05, "betas": [0.9, 0.95]}, "sgd", {"weight_decay": 0.0}),
        ("adamw", {"weight_decay": 0.05, "betas": [0.9, 0.95]}, "muon", {"weight_decay": 0.05}),
        ("adamw", {"weight_decay": 0.05, "betas": [0.9, 0.95]}, "nadam", {"weight_decay": 0.05, "betas": [0.9, 0.95]}),
        ("nadam", {"weight_decay": 0.05}, "sgd", {"weight_decay": 0.0}),
        ("sgd", {"weight_decay": 5e-4, "head_lr_factor": 10.0}, "adam", {"weight_decay": 5e-4, "head_lr_factor": 10.0}),
    ],
)
def test_another_optimizer_gets_rates_on_its_own_scale(
    old: str, settings: dict[str, Any], new: str, now: dict[str, Any]
) -> None:
    draft = Draft()
    draft.set_data({"optimizer": {"kind": old, **settings}})
    before = draft.data()
    draft.set_kind("optimizer", new)
    assert {name: draft.value(f"optimizer.{name}") for name in now} == now
    draft.undo()
    assert draft.data() == before


def test_rates_outside_the_optimizer_move_with_it_and_come_back_with_it(qtbot: QtBot) -> None:
    draft = Draft()
    draft.set("schedule.max_lr", 2e-3)
    draft.set("loop.swa_start", 0.75)
    draft.set("loop.swa_lr", 1e-3)
    before = draft.data()
    with qtbot.waitSignals([draft.moved, draft.edited, draft.edited]):
        draft.set_kind("optimizer", "sgd")
    assert draft.value("optimizer.lr") == 0.05
    assert draft.value("schedule.max_lr") is None
    assert draft.value("loop.swa_lr") == 0.025
    draft.undo()
    assert draft.data() == before
    draft.redo()
    draft.set("optimizer.lr", 0.1)
    with qtbot.assertNotEmitted(draft.moved):
        draft.set_kind("optimizer", "adamw")
    assert draft.value("optimizer.lr") == 2e-3  # the peak it had
    assert draft.value("loop.swa_lr") == 1e-3
    assert draft.value("schedule.max_lr") is None
    draft.set_kind("optimizer", "sgd")
    assert draft.value("optimizer.lr") == 0.1


def test_equal_names_of_different_sorts_are_not_mixed_up() -> None:
    draft = Draft()
    draft.set("model.hidden", 999)
    draft.set_kind("model", "mlp")
    assert draft.value("model.hidden") == [128, 128]


def test_undo_takes_words_not_letters(qtbot: QtBot) -> None:
    draft = Draft()
    for text in ("n", "ne", "new"):
        draft.set("name", text)
    draft.finish_edit()
    draft.set("name", "newer")
    draft.undo()
    assert draft.value("name") == "new"
    with qtbot.waitSignal(draft.replaced):
        draft.undo()
    assert draft.value("name") == "shapes"
    assert not draft.can_undo
    draft.redo()
    draft.redo()
    assert draft.value("name") == "newer"
    draft.undo()
    draft.set("seed", 3)
    assert not draft.can_redo


def test_undo_takes_back_a_whole_file_and_another_kind(tmp_path: Path) -> None:
    draft = Draft()
    before = draft.data()
    draft.set_kind("schedule", "cosine")
    draft.undo()
    assert draft.data() == before
    file = tmp_path / "other.toml"
    file.write_text('name = "other"\n[model]\nkind = "torchvision"\n')
    draft.load_file(file)
    assert draft.kind("model") == "torchvision"
    draft.undo()
    assert draft.data() == before


def test_a_schedule_that_is_chosen_fits_any_run_and_one_that_is_read_stays() -> None:
    draft = Draft()
    for kind, setting, fitting in (
        ("step", "step_size", "25 %"),
        ("cosine_restarts", "t_0", "25 %"),
        ("multi_step", "milestones", ["50 %", "75 %"]),
    ):
        draft.set_kind("schedule", kind)
        assert draft.value(f"schedule.{setting}") == fitting
        config = draft.config()
        assert config is not None
        assert not list(duration_problems(config.schedule, 40, 8))
    assert draft.value("schedule.warmup") == 0
    draft.set_data({"schedule": {"kind": "step"}})
    assert draft.value("schedule.step_size") == 1000, "what a file leaves out means what it always meant"


def test_a_file_goes_out_and_comes_back_equal(tmp_path: Path) -> None:
    draft = Draft()
    draft.set("checkpoints.every_steps", None)
    draft.set_kind("schedule", "multi_step")
    file = tmp_path / "a b" / "run.toml"
    file.parent.mkdir()
    draft.save_file(file)
    assert load_config(file) == draft.config()
    other = Draft()
    assert other.load_file(file) == []
    assert other.config() == draft.config()


def test_a_file_with_faults_is_opened_with_its_faults(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('[dataset]\nkind = "idx"\npath = "images"\n[optimizer]\nkind = "sgd"\nlr = -1\nspeed = 3\n')
    draft = Draft()
    assert draft.load_file(file) == ["optimizer.speed"]
    assert {problem.path for problem in draft.problems()} == {"dataset.path", "optimizer.lr"}
    assert draft.value("dataset.path") == str(tmp_path / "images")
    with pytest.raises(ConfigError):
        draft.save_file(tmp_path / "out.toml")


def test_a_file_that_is_no_toml_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("name = = 3")
    draft = Draft()
    before = draft.data()
    with pytest.raises(InputError, match=r"x\.toml"):
        draft.load_file(file)
    assert draft.data() == before


def test_what_the_engine_found_blocks_until_the_next_edit(qtbot: QtBot) -> None:
    draft = Draft()
    found = [Problem("schedule.max_lr", "is too high for this model."), Problem("nowhere.x", "?"), Problem("", "?")]
    with qtbot.waitSignal(draft.problems_changed):
        draft.set_engine_problems(found)
    assert list(draft.problems()) == found[:1]
    assert draft.config() is None
    draft.set("seed", 1)
    assert not draft.problems()
    assert draft.config() is not None


def test_the_same_number_written_otherwise_is_no_edit(qtbot: QtBot) -> None:
    draft = Draft()
    with qtbot.assertNotEmitted(draft.changed):
        draft.set("optimizer.lr", 3e-3)
        draft.set("model.channels", (32, 64))
        draft.set_kind("model", "small_cnn")
    with pytest.raises(KeyError):
        draft.set("optimizer.momentum", 0.5)


def test_changed_settings_are_told_by_the_defaults() -> None:
    draft = Draft()
    draft.set_data({})
    asked = ("seed", "optimizer.kind", "optimizer.lr")
    assert not any(map(draft.is_changed, asked))
    draft.set_kind("optimizer", "sgd")
    draft.set("optimizer.lr", 0.5)
    draft.set("seed", 4)
    assert all(map(draft.is_changed, asked))
    draft.reset("optimizer.kind")
    assert [draft.is_changed(path) for path in asked] == [True, False, False]
