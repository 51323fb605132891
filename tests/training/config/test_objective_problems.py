"""Settings of tasks that contradict each other, and files from the time when there was one task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from training.config import RunConfig, apply_overrides, load_config, parse_config
from training.config.diff import diff
from training.config.rules.effects import effect_of
from training.config.sections.objective import Classification, Segmentation
from training.errors import ConfigError

POINTS: dict[str, Any] = {"dataset": {"kind": "moons"}, "model": {"kind": "mlp"}}


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        (
            {"kind": "classification", "class_weights": [1, 2], "balanced": True},
            "objective.balanced: takes the place of class_weights; switch it off, or leave class_weights empty.",
        ),
        (
            {"kind": "binary", "pos_weight": 3.0, "balanced": True},
            "objective.balanced: takes the place of pos_weight; switch it off, or leave pos_weight empty.",
        ),
        (
            {"kind": "classification", "class_weights": [0, 0.0]},
            "objective.class_weights: are all 0, so nothing would be learned; give some class a weight.",
        ),
        ({"kind": "classification", "class_weights": [1, -2]}, "objective.class_weights.1: must be at least 0.0, but is -2."),
        ({"kind": "binary", "label_smoothing": 0.1}, "objective.label_smoothing: unknown key in [objective] with kind"),
        ({"kind": "binary", "threshold": 1.0}, "objective.threshold: must be less than 1.0, but is 1.0."),
        ({"kind": "distillation"}, "objective.teacher: is required; give a value."),
        ({"kind": "distillation", "teacher": "/no/such", "alpha": 0.0}, "objective.alpha: must be greater than 0.0"),
        (
            {"kind": "distillation", "teacher": "/no/such"},
            "objective.teacher: /no/such does not exist; check the spelling or choose the folder of a run or of one of its "
            "checkpoints, or a Python file.",
        ),
        (
            {"kind": "embedding", "loss": "nt_xent"},
            "objective.loss: nt_xent compares two views of each sample, so it needs images, which moons does not give; choose "
            "other data, or set this to supervised_contrastive.",
        ),
        (
            {"kind": "embedding", "views": 2},
            "objective.views: asks for two views of each sample, so it needs images, which moons does not give; choose other data, or "
            "set this to 1.",
        ),
        ({"kind": "embedding", "margin": 0.0}, "objective.margin: must be greater than 0.0, but is 0.0."),
        ({"kind": "embedding", "label_smoothing": 0.1}, "objective.label_smoothing: unknown key in [objective] with kind"),
        (
            {"kind": "regression"},
            "objective.kind: regression needs numbers to predict, but moons gives one class for each sample; choose "
            "classification, distillation or embedding.",
        ),
    ],
)  # fmt: skip
def test_sentence(section: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config({**POINTS, "objective": section})
    assert str(refused.value.problems[0]).startswith(sentence)


def test_sentences_about_masks_and_values(tmp_path: Path) -> None:
    masks = {"dataset": {"kind": "segmentation", "path": str(tmp_path)}, "model": {"kind": "unet"}}
    with pytest.raises(ConfigError) as refused:
        parse_config({**masks, "objective": {"kind": "segmentation", "loss": "dice", "balanced": True}})
    [problem] = refused.value.problems
    assert str(problem) == (
        "objective.balanced: acts on cross-entropy, which the loss dice has none of; choose dice_cross_entropy."
    )
    assert problem.fix == {"objective.loss": "dice_cross_entropy"}
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    table = {
        "dataset": {"kind": "table", "path": str(tmp_path / "table.csv"), "task": "values"},
        "model": {"kind": "mlp"},
    }
    nothing: dict[str, Any] = {"kind": "regression", "loss": "weighted_sum", "mse_weight": 0.0, "l1_weight": 0.0}
    with pytest.raises(
        ConfigError, match=r"objective\.loss: all of mse_weight, l1_weight, huber_weight are 0; raise one"
    ):
        parse_config({**table, "objective": nothing})
    assert parse_config({**table, "objective": nothing | {"huber_weight": 0.5}})


def test_two_views_need_augmentation_that_data_of_ones_own_has_none_of(tmp_path: Path) -> None:
    own = {"kind": "user_images", "path": str(tmp_path / "data.py")}
    (tmp_path / "data.py").write_text("def build(split: str): ...\n")
    for settings, path in (({"loss": "nt_xent"}, "objective.loss"), ({"views": 2}, "objective.views")):
        with pytest.raises(ConfigError) as refused:
            parse_config(
                {"dataset": own, "model": {"kind": "small_cnn"}, "objective": {"kind": "embedding", **settings}}
            )
        [sentence] = [str(problem) for problem in refused.value.problems if problem.path == path]
        assert (
            "it needs augmentation by settings, which data of your own has none of; choose other data, or set"
            in sentence
        )


def test_several_targets_are_not_left_to_the_data(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b,c\n1,x,2.5\n2,y,3.5\n")
    dataset = {"kind": "table", "path": str(tmp_path / "table.csv"), "targets": ["b", "c"]}
    data: dict[str, Any] = {"dataset": dataset, "model": {"kind": "mlp"}, "objective": {"kind": "multi_task"}}
    with pytest.raises(ConfigError) as refused:
        parse_config(data)
    [problem] = refused.value.problems
    assert str(problem) == (
        "dataset.task: auto takes all targets for one kind, but multi_task learns each by itself; set it to tasks."
    )
    apply_overrides(data, [f"{path}={value}" for path, value in problem.fix.items()])
    assert parse_config(data).dataset.target == "tasks"


def test_many_metrics_are_not_all_told(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(300)]
    (tmp_path / "table.csv").write_text(",".join(["a", *names]) + "\n")
    dataset = {"kind": "table", "path": str(tmp_path / "table.csv"), "task": "tasks", "targets": names}
    data: dict[str, Any] = {"dataset": dataset, "model": {"kind": "mlp"}, "objective": {"kind": "multi_task"}}
    with pytest.raises(ConfigError) as refused:
        parse_config({**data, "checkpoints": {"monitor": "val/accuracy"}})
    [problem] = refused.value.problems
    assert problem.message.endswith("val/t2/rmse, val/t2/mae, ... or val/loss.")
    assert "'val/accuracy' is not measured under multi_task; choose auto, val/t0/accuracy, " in problem.message


def test_an_ignored_class_cannot_be_mixed() -> None:
    data: dict[str, Any] = {
        "dataset": {"kind": "shapes", "mixup_alpha": 0.2},
        "objective": {"kind": "classification", "ignore_index": 1},
    }
    with pytest.raises(ConfigError) as refused:
        parse_config(data)
    [problem] = refused.value.problems
    assert str(problem) == "dataset.mixup_alpha: cannot mix samples of a class that is ignored; set it to 0."
    assert problem.fix == {"dataset.mixup_alpha": 0.0}


def test_what_comparing_within_a_batch_does_not_go_with() -> None:
    data: dict[str, Any] = {
        "dataset": {"kind": "shapes", "cutmix_alpha": 1.0},
        "objective": {"kind": "embedding", "loss": "nt_xent"},
        "loop": {"batch_size": 1, "on_out_of_memory": "smaller_batches"},
    }
    with pytest.raises(ConfigError) as refused:
        parse_config(data)
    assert {problem.path: problem.fix for problem in refused.value.problems} == {
        "dataset.cutmix_alpha": {"dataset.cutmix_alpha": 0.0},
        "objective.loss": {"objective.loss": "supervised_contrastive"},
        "loop.batch_size": {},
        "loop.on_out_of_memory": {"loop.on_out_of_memory": "stop"},
    }
    assert "needs images that are augmented; switch some augmentation on" in str(refused.value)
    fixed = {"dataset": {"kind": "shapes", "flip": True}, "objective": data["objective"]}
    assert parse_config(fixed)


def test_a_file_without_a_kind_means_classification(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text('name = "old"\n[objective]\nlabel_smoothing = 0.1\n')
    config = load_config(tmp_path / "old.toml")
    assert config.objective == Classification(label_smoothing=0.1)
    changed = load_config(tmp_path / "old.toml", ["objective.label_smoothing=0.2"])
    assert changed.objective == Classification(label_smoothing=0.2)
    assert RunConfig.model_validate({"objective": {}}).objective == Classification()


def test_who_names_no_task_means_the_one_that_goes_with_the_data(tmp_path: Path) -> None:
    found = {}
    for kind, more in (
        ("segmentation", {}),
        ("text", {}),
        ("ranking", {}),
        ("ranked", {}),
        ("moons", {}),
        ("idx", {}),
        ("table", {}),  # only its columns tell
        ("table", {"task": "values"}),
        ("image_table", {"label_separator": ","}),
        ("npz_pictures", {"task": "mask"}),
    ):
        path = {} if kind in ("moons", "ranked") else {"path": str(tmp_path)}
        columns = {"query_column": "q"} if kind == "ranking" else {}
        data: dict[str, Any] = {"dataset": {"kind": kind, **path, **columns, **more}}
        found[kind, *more.values()] = parse_config(data, paths=False).objective.kind
    assert found == {
        ("segmentation",): "segmentation",
        ("text",): "language_model",
        ("ranking",): "ranking",
        ("ranked",): "ranking",
        ("moons",): "classification",
        ("idx",): "classification",
        ("table",): "classification",
        ("table", "values"): "regression",
        ("image_table", ","): "multi_label",
        ("npz_pictures", "mask"): "segmentation",
    }
    changed: dict[str, Any] = {"dataset": {"kind": "segmentation", "path": str(tmp_path)}}
    apply_overrides(changed, ["objective.dice_weight=0.3"])
    assert parse_config(changed, paths=False).objective == Segmentation(dice_weight=0.3)


def test_what_only_measures_otherwise_is_said_to_judge() -> None:
    before = parse_config({})
    after = parse_config({"objective": {"kind": "classification", "ranking_metrics": True}})
    assert [effect_of(change) for change in diff(before, after)] == ["judging"]


def test_classes_are_evened_out_only_once() -> None:
    both = {**POINTS, "loader": {"sampling": "balanced"}, "objective": {"kind": "classification", "balanced": True}}
    with pytest.raises(ConfigError) as refused:
        parse_config(both)
    [problem] = refused.value.problems
    assert str(problem) == (
        "objective.balanced: would make up a second time for what loader.sampling draws alike already; switch it off, or "
        "choose shuffle."
    )
    assert problem.fix == {"objective.balanced": False}


@pytest.mark.parametrize("kind", ["segmentation", "language_model", "ranking"])
def test_a_task_that_no_target_of_a_table_suits_is_refused_unread(tmp_path: Path, kind: str) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    table = {"dataset": {"kind": "table", "path": str(tmp_path / "table.csv")}, "model": {"kind": "tabular"}}
    with pytest.raises(ConfigError) as refused:
        parse_config({**table, "objective": {"kind": kind}})
    [problem] = refused.value.problems
    assert problem.path == "objective.kind"
    assert problem.message.endswith(
        "but table gives none; choose classification, multi_label, regression, distillation, embedding or multi_task."
    )
    assert problem.fix == {"objective.kind": "classification"}
    for possible in ("classification", "multi_label", "regression"):
        parse_config({**table, "objective": {"kind": possible}})


def test_the_network_offered_first_is_the_datas_own(tmp_path: Path) -> None:
    """Columns of a table may hold categories, which only one network takes."""
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError) as refused:
        parse_config({"dataset": {"kind": "table", "path": str(tmp_path / "table.csv")}})
    [problem] = refused.value.problems
    assert problem.fix == {"model.kind": "tabular"}
    assert problem.message.endswith("choose tabular or mlp.")
