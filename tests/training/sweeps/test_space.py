"""What can be varied: ranges and lists, bounds from the declaration, and what is said of those that cannot be."""

from __future__ import annotations

import re

import pytest

from tests.training.tiny import tiny
from training.cli import sweep_words
from training.config.describe import describe
from training.config.field_spec import plain
from training.config.run import SECTIONS
from training.errors import InputError
from training.sweeps.dimension import Value, load_dimension, propose_text, split_choices
from training.sweeps.folder import PRUNERS, SAMPLERS
from training.sweeps.space import explain_unvaried, name_trial, read_space


def test_type_scale_and_bounds_come_from_the_declaration_where_nobody_gives_them() -> None:
    asked = ["optimizer.lr=1e-4:1e-1", "model.dropout", "model.activation", "deterministic", "loop.batch_size=8:64"]
    lr, dropout, activation, deterministic, batch = read_space(tiny(), asked, "tpe").dimensions
    assert (lr.sort, lr.low, lr.high, lr.log) == ("float", 1e-4, 1e-1, True)
    assert (dropout.sort, dropout.low, dropout.log) == ("float", 0.0, False)
    assert 0.999 < dropout.high < 1.0  # declared below 1
    assert activation.choices == ("relu", "gelu", "silu", "tanh")
    assert deterministic.choices == ("false", "true")
    assert (batch.sort, batch.log) == ("int", True)
    assert read_space(tiny(), ["optimizer.lr=1e-4:1e-1:linear"], "tpe").dimensions[0].log is False


def test_a_range_in_steps_has_its_steps_and_nothing_between() -> None:
    batch, dropout = read_space(
        tiny(), ["loop.batch_size=16:64:step=16", "model.dropout=0:0.5:step=0.125"], "grid"
    ).dimensions
    assert batch.values() == [16, 32, 48, 64]
    assert dropout.values() == [0.0, 0.125, 0.25, 0.375, 0.5]
    assert load_dimension(batch.dump()) == batch
    assert batch.words == "16 to 64, in steps of 16"
    assert dropout.read("0.375") == 0.375
    with pytest.raises(InputError, match="must be a step of the sweep's range"):
        batch.read("20")


def test_what_is_proposed_for_a_setting_can_be_varied_so() -> None:
    base, refused = tiny("optimizer.kind=sgd"), []
    for section in SECTIONS:
        for spec in describe(getattr(base, section).__class__):
            path = f"{section}.{spec.name}"
            text = propose_text(spec, plain(getattr(getattr(base, section), spec.name)))
            if not text or explain_unvaried(path):
                continue
            try:
                read_space(base, [f"{path}={text}"], "random")
            except InputError as error:
                refused.append(f"{path}={text}: {error}")
    assert not refused


def test_a_trial_is_the_base_with_its_values() -> None:
    asked = ["model.hidden=[8]|[16, 16]", "optimizer.lr=1e-4:1e-1:log", "optimizer.kind=sgd|adamw"]
    space = read_space(tiny(), asked, "tpe")
    assert space.dimensions[0].path == "optimizer.kind"  # what else there is depends on it
    params: dict[str, Value] = {"optimizer.kind": "sgd", "model.hidden": "[16, 16]", "optimizer.lr": 0.0123}
    config = space.make_config(tiny(), params, name_trial("tiny", 7))
    assert (config.optimizer.kind, config.optimizer.lr, config.model.hidden) == ("sgd", 0.0123, (16, 16))  # type: ignore[union-attr]
    assert config.name == "tiny trial 7"
    assert config.dataset == tiny().dataset
    assert len(name_trial("x" * 80, 123)) == 80


def test_a_setting_of_one_kind_alone_is_varied_where_that_kind_is_tried() -> None:
    space = read_space(tiny(), ["optimizer.momentum=0.5:0.9", "optimizer.kind=sgd|adamw"], "tpe")
    momentum = space.find("optimizer.momentum")
    assert momentum is not None
    assert space.is_conditional(tiny())
    assert space.applies(momentum, tiny(), {"optimizer.kind": "sgd"})
    assert not space.applies(momentum, tiny(), {"optimizer.kind": "adamw"})


def test_a_grid_takes_the_values_that_are_said() -> None:
    asked = [
        "optimizer.lr=1e-4:1e-1:log:4",
        "model.dropout=0:0.5:linear:3",
        "loop.batch_size=30:33",
        "model.activation=relu|gelu",
    ]
    space = read_space(tiny(), asked, "grid")
    assert [each.values() for each in space.dimensions] == [
        [0.0001, 0.001, 0.01, 0.1],
        [0.0, 0.25, 0.5],
        [30, 31, 32, 33],
        ["relu", "gelu"],
    ]
    assert space.count_grid() == 4 * 3 * 4 * 2


def test_what_is_written_down_is_read_back_and_placed_on_an_axis() -> None:
    asked = ["optimizer.lr=1e-4:1e-1:log:4", "loop.batch_size=30:34", 'model.hidden=[8]|[16,16]|"a|b"']
    for dimension in read_space(tiny(), asked[:2], "grid").dimensions:
        assert load_dimension(dimension.dump()) == dimension
    lr, batch = read_space(tiny(), asked[:2], "grid").dimensions
    assert lr.place(0.001) == pytest.approx(1 / 3)
    assert (batch.place(30), batch.place(34), batch.place(35)) == (0.0, 1.0, None)
    assert split_choices(asked[2].partition("=")[2]) == ["[8]", "[16,16]", '"a|b"']


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("optimizer.lrr=1:2", "--vary optimizer.lrr: unknown key in [optimizer] with kind 'adamw'; did you mean 'lr'?"),
        ("optimizr.lr=1:2", "there is no such setting"),
        ("optimizer=1|2", "is a whole section"),
        ("optimizer.lr=1e-4:1000", "--vary optimizer.lr=1000.0: must be at most 100.0"),
        ("optimizer.lr=0:1", "must be greater than 0.0"),
        ("optimizer.lr=0:1:log", "a logarithmic scale has no 0"),
        ("optimizer.lr=2:1", "write the smaller number first"),
        ("optimizer.lr=5", "must be a range, LOW:HIGH"),
        ("optimizer.lr=1e-3|fast", "--vary optimizer.lr=fast: must be a number"),
        ("optimizer.lr", "reach down to 0 on a logarithmic scale"),
        ("loop.epochs", "too wide to search; give a range"),
        ("loop.epochs=1:2.5", "takes whole numbers"),
        ("loop.clip_norm", "has no bounds to search between"),
        ("model.dropout=0:1", "must be less than 1.0"),
        ("model.hidden=1:5", "takes no range of numbers; list its values"),
        ("model.hidden=[64]|64", "must be a list of values"),
        ("model.hidden=[8]|[ 8 ]", "names a value twice"),
        ("model.hidden=[8]|", "a value between two | is missing"),
        ("optimizer.kind=sgd|adamm", "there is no kind adamm; there are adamw,"),
        ("optimizer.momentum=0.5:0.9", "sgd, rmsprop, muon have it"),
        ("objective.kind=classification|regression", "so they cannot be compared"),
        ("name=a|b", "each trial's run has a name of its own"),
    ],
)
def test_one_sentence_says_what_cannot_be_varied(asked: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as told:
        read_space(tiny(), [asked], "tpe")
    assert str(told.value).startswith("--vary ")
    assert "\n" not in str(told.value)


def test_a_grid_says_what_it_lacks() -> None:
    with pytest.raises(InputError, match=r"optimizer\.lr=0\.0001:0\.1:log:5"):
        read_space(tiny(), ["optimizer.lr=1e-4:1e-1"], "grid")
    with pytest.raises(InputError, match=r"501 values, and a grid takes 100 .* take a larger step"):
        read_space(tiny(), ["model.dropout=0:0.5:step=0.001"], "grid")
    with pytest.raises(InputError, match="only some of the kinds"):
        read_space(tiny(), ["optimizer.momentum=0.5:0.9:3", "optimizer.kind=sgd|adamw"], "grid")
    with pytest.raises(InputError, match="these are 1,000,000 trials"):
        read_space(tiny(), ["optimizer.lr=1e-4:1e-1:1000", "model.dropout=0:0.5:1000"], "grid")
    with pytest.raises(InputError, match="is named twice"):
        read_space(tiny(), ["model.dropout", "model.dropout"], "tpe")


def test_the_command_line_knows_the_samplers_and_pruners_that_there_are() -> None:
    assert (sweep_words.SAMPLERS, sweep_words.PRUNERS) == (SAMPLERS, PRUNERS)
