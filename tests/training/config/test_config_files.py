"""TOML in, TOML out, overrides and paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from training.catalog import entries
from training.config import RunConfig, apply_overrides, dump_config, load_config, parse_config, save_config
from training.config.files import config_data, overrides_of
from training.config.run import SECTIONS
from training.config.sections.checkpoints import Checkpoints
from training.config.sections.loop import Loop
from training.config.sections.model import Mlp, SmallCnn
from training.config.sections.objective import Classification
from training.config.sections.optimizer import AdamW, Sgd
from training.config.sections.schedule import OneCycle
from training.errors import ConfigError, InputError
from training.system.resources import find_resources
from training.toml_text import read_config_text, read_toml

LAB = """
name = "lab"
seed = 0
[dataset]
kind = "idx"                     # MNIST / FashionMNIST files
path = "../shared/data/mnist"
validation_fraction = 0.2
[model]
kind = "small_cnn"               # two conv-relu-pool blocks, a 128-unit linear layer, class logits
[objective]
kind = "classification"
loss = "cross_entropy"
label_smoothing = 0.0
[optimizer]
kind = "adamw"
lr = 1e-3
weight_decay = 0.01              # none on biases and norm weights unless told otherwise
[schedule]
kind = "one_cycle"
max_lr = 3e-3
[precision]
compute = "fp32"
[loop]
epochs = 5
batch_size = 128
accumulation = 1
clip_norm = 1.0
[checkpoints]
every_steps = 100
keep_last = 3
monitor = "val/accuracy"
"""


def every_choice(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Each section's every kind, with what it requires."""
    choices: list[tuple[str, dict[str, Any]]] = []
    for section in ("dataset", "model", "objective", "optimizer", "schedule"):
        for row in entries(section):
            required = {name: str(folder) for name, info in row.config.model_fields.items() if info.is_required()}
            choices.append((section, {"kind": row.kind, **required}))
    return choices


def test_lab_file_as_the_issue_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    mnist = tmp_path / "shared" / "data" / "mnist"
    mnist.mkdir(parents=True)
    (checkout / "lab.toml").write_text(LAB)
    monkeypatch.chdir("/")
    config = load_config(checkout / "lab.toml")
    assert config == RunConfig.model_validate(
        {
            "name": "lab",
            "seed": 0,
            "dataset": {"kind": "idx", "path": str(mnist), "validation_fraction": 0.2},
            "model": SmallCnn(channels=(32, 64), hidden=128),
            "objective": Classification(loss="cross_entropy", label_smoothing=0.0),
            "optimizer": AdamW(lr=1e-3, weight_decay=0.01, decay_bias_and_norm=False),
            "schedule": OneCycle(max_lr=3e-3),
            "loop": Loop(epochs=5, batch_size=128, accumulation=1, clip_norm=1.0),
            "checkpoints": Checkpoints(every_steps=100, keep_last=3, monitor="val/accuracy"),
        }
    )


def test_every_choice_survives_the_round_trip(tmp_path: Path) -> None:
    for section, choice in every_choice(tmp_path):
        config = parse_config({section: choice}, paths=False)  # not every choice goes with the other sections' defaults
        save_config(config, tmp_path / "config.toml")
        text = read_config_text(tmp_path / "config.toml")
        assert parse_config(read_toml(text, ""), paths=False) == config, choice
        assert parse_config(config_data(config), paths=False) == config
        assert json.loads(json.dumps(config_data(config))) == config_data(config)


def test_values_away_from_their_defaults_survive_the_round_trip(tmp_path: Path) -> None:
    config = parse_config(
        {
            "name": 'Ångström "2" \\ # = 雪',
            "seed": 2**31 - 1,
            "deterministic": True,
            "model": {"kind": "mlp", "hidden": [], "activation": "gelu"},
            "optimizer": {"kind": "adam", "betas": [0.1, 0.2], "eps": 1e-300, "lr": 0.1 + 0.2},
            "schedule": {"kind": "multi_step", "milestones": [1, 5, 9], "warmup": 3},
            "loop": {"max_steps": 10, "clip_norm": "", "clip_value": 0.5, "ema_decay": 0.999},
            "checkpoints": {"every_steps": ""},
            "loader": {"workers": 0},
        }
    )
    save_config(config, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == config


def test_an_emptied_setting_stays_empty(tmp_path: Path) -> None:
    config = parse_config({"loop": {"clip_norm": ""}, "checkpoints": {"every_steps": ""}})
    assert config.loop.clip_norm is None
    assert config.checkpoints.every_steps is None
    text = dump_config(config)
    assert 'clip_norm = ""' in text
    assert "max_steps" not in text  # empty by default: nothing to say
    assert parse_config(read_toml(text, "text")) == config


def test_a_setting_of_an_earlier_version_is_forgotten() -> None:
    assert parse_config({"loader": {"decoder": "gpu", "workers": 0}}) == parse_config({"loader": {"workers": 0}})


def test_written_file_has_the_contracts_sections_in_order() -> None:
    data: dict[str, Any] = read_toml(dump_config(RunConfig()), "text")
    assert [key for key, value in data.items() if isinstance(value, dict)] == list(SECTIONS)
    assert [key for key, value in data.items() if not isinstance(value, dict)] == [
        "name",
        "seed",
        "deterministic",
        "muted_findings",
    ]
    assert all(next(iter(data[section])) == "kind" for section in SECTIONS if "kind" in data[section])


def test_presets_are_valid() -> None:
    presets = sorted(find_resources("training", "presets").glob("*.toml"))
    assert presets
    for preset in presets:
        parse_config(read_toml(preset.read_text(encoding="utf-8"), str(preset)), str(preset), paths=False)


class TestPaths:
    def test_beside_the_file_comes_before_the_working_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = tmp_path / "here", tmp_path / "there"
        for folder in (here, there):
            (folder / "images").mkdir(parents=True)
        (here / "job.toml").write_text('[dataset]\nkind = "image_folder"\npath = "images"\n')
        monkeypatch.chdir(there)
        assert load_config(here / "job.toml").dataset.path == str(here / "images")  # type: ignore[union-attr]
        (here / "images").rmdir()
        assert load_config(here / "job.toml").dataset.path == str(there / "images")  # type: ignore[union-attr]

    def test_missing_in_both_names_the_place_beside_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "job.toml").write_text('[dataset]\nkind = "idx"\npath = "nowhere"\n')
        with pytest.raises(ConfigError) as caught:
            load_config(tmp_path / "job.toml")
        (problem,) = caught.value.problems
        assert problem.path == "dataset.path"
        assert problem.message.startswith(str(tmp_path / "nowhere"))

    def test_home_is_expanded(self, isolated_home: Path, tmp_path: Path) -> None:
        (isolated_home / "images").mkdir()
        config = parse_config({"dataset": {"kind": "image_folder", "path": "~/images"}}, folder=tmp_path)
        assert config.dataset.path == str(isolated_home / "images")  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("path", "sentence"),
        [
            ("a\0b", "does not exist"),
            ("x" * 5000, "cannot be opened"),
            ("~no-such-person-here/x", "does not exist"),
            ("\x1b[31mred", "'.*\\\\x1b\\[31mred' does not exist"),
        ],
    )
    def test_impossible_paths_are_one_short_sentence(self, tmp_path: Path, path: str, sentence: str) -> None:
        for folder in (None, tmp_path):
            with pytest.raises(ConfigError, match=sentence) as caught:
                parse_config({"dataset": {"kind": "idx", "path": path}}, folder=folder)
            assert len(str(caught.value)) < 300
            assert str(caught.value).isprintable()

    def test_a_file_where_a_folder_belongs(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError, match="file is a file; choose the folder that holds it"):
            parse_config({"dataset": {"kind": "idx", "path": str(tmp_path / "file")}})

    def test_a_record_stays_readable_after_its_data_moved(self) -> None:
        assert parse_config({"dataset": {"kind": "idx", "path": "/moved/away"}}, paths=False).dataset.kind == "idx"


class TestUnreadable:
    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"none\.toml: no such file; check the spelling"):
            load_config(tmp_path / "none.toml")

    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is a folder"):
            load_config(tmp_path)

    def test_not_text(self, tmp_path: Path) -> None:
        (tmp_path / "job.toml").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError, match="cannot be read as text"):
            load_config(tmp_path / "job.toml")

    def test_byte_order_mark_is_forgiven(self, tmp_path: Path) -> None:
        (tmp_path / "job.toml").write_bytes(b'\xef\xbb\xbfname = "marked"\n')
        assert load_config(tmp_path / "job.toml").name == "marked"

    def test_not_toml(self, tmp_path: Path) -> None:
        (tmp_path / "job.toml").write_text("[loop\nepochs = 3")
        with pytest.raises(InputError, match=r"job\.toml: not valid TOML: .*line 1"):
            load_config(tmp_path / "job.toml")

    @pytest.mark.parametrize(
        "text",
        [
            "a=" + "[" * 5000 + "]" * 5000,
            "a=" + "{b=" * 5000 + "1" + "}" * 5000,
            "loop.epochs." + ".".join(["a"] * 5000) + " = 1",  # nests without recursion, then breaks whoever prints it
            "[optimizer.kind." + ".".join(["a"] * 5000) + "]",
            "[[dataset." + ".".join(["a"] * 5000) + "]]",
        ],
        ids=["lists", "tables", "dotted key", "table header", "array of tables"],
    )
    def test_five_thousand_levels(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "job.toml").write_text(text)
        with pytest.raises(InputError, match="nested too deeply to be a configuration"):
            load_config(tmp_path / "job.toml")

    def test_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match=r"cannot be written .*; choose another place"):
            save_config(RunConfig(), tmp_path / "file" / "job.toml")


class TestOverrides:
    def test_values_are_toml_else_text(self) -> None:
        data: dict[str, Any] = {}
        apply_overrides(
            data,
            [
                "loop.epochs=7",
                "optimizer.lr = 2e-4",
                "model.kind=mlp",
                "model.hidden=[4, 5]",
                "name=my run",
                "deterministic=true",
                'checkpoints.monitor="val/loss"',
            ],
        )
        config = parse_config(data)
        assert config.loop.epochs == 7
        assert config.optimizer == AdamW(lr=2e-4)
        assert config.model == Mlp(hidden=(4, 5))
        assert (config.name, config.deterministic, config.checkpoints.monitor) == ("my run", True, "val/loss")

    @pytest.mark.parametrize("word", ["none", "null", '""'])
    def test_emptying(self, word: str) -> None:
        data: dict[str, Any] = {"loop": {"clip_norm": 3.0}}
        apply_overrides(data, [f"loop.clip_norm={word}"])
        assert parse_config(data).loop.clip_norm is None

    @pytest.mark.parametrize("setting", ["model.norm", "dataset.auto_augment"])
    def test_none_is_a_word_where_it_can_be_chosen(self, setting: str) -> None:
        section, _, name = setting.partition(".")
        data: dict[str, Any] = {section: {name: "?"}}
        apply_overrides(data, [f"{section}.kind={RunConfig().model_dump()[section]['kind']}", f"{setting}=none"])
        assert getattr(getattr(parse_config(data), section), name) == "none"

    def test_another_kind_drops_what_only_the_old_one_knew(self) -> None:
        data: dict[str, Any] = {"optimizer": {"kind": "adamw", "lr": 0.5, "betas": [0.8, 0.9], "weight_decay": 0.2}}
        apply_overrides(data, ["optimizer.kind=sgd", "optimizer.lr=0.3"])
        assert parse_config(data).optimizer == Sgd(lr=0.3)

    @pytest.mark.parametrize(
        ("written", "overrides", "rates"),
        [
            ({}, ["optimizer.kind=sgd"], (0.05, None, 5e-4)),
            ({"lr": 3e-3}, ["optimizer.kind=sgd"], (0.05, None, 1.67e-4)),
            ({"lr": 1e-4}, ["optimizer.kind=sgd"], (5e-3, None, 5e-4)),
            ({"lr": 1e-4}, ["optimizer.lr=0.2", "optimizer.kind=sgd", "schedule.eta_min=0.1"], (0.2, None, 0.1)),
            ({"lr": 1e-3}, ["optimizer.kind=adam", "optimizer.lr=3e-4"], (3e-4, None, 1e-5)),  # on the same scale
            ({"lr": "fast"}, ["optimizer.kind=sgd"], ("fast", None, 1e-5)),  # which is told
            ({"lr": 1e-4, "betas": [0.8, 0.9]}, ["optimizer.kind=?", "optimizer.kind=sgd"], (5e-3, None, 5e-4)),
            ({"lr": 1e-4}, ["optimizer.kind=adamw"], (1e-4, None, 1e-5)),
            ({"lr": 1e-4}, ['optimizer={kind="sgd", lr=0.2}'], (0.2, None, 1e-5)),
            ({"lr": 1e-4}, ["optimizer.kind=sgd", 'schedule={kind="cosine", eta_min=0.1}'], (5e-3, None, 0.1)),
            ({"lr": 1e-4}, ["optimizer.kind=lion", "optimizer.kind=adamw"], (1e-4, None, 1e-5)),
        ],
    )
    def test_another_optimizer_takes_its_own_scale_but_for_what_is_named(
        self, written: dict[str, Any], overrides: list[str], rates: tuple[Any, ...]
    ) -> None:
        data: dict[str, Any] = {"optimizer": {"kind": "adamw", **written}, "schedule": {"eta_min": 1e-5}}
        apply_overrides(data, overrides)
        default = parse_config({"optimizer": {"kind": data["optimizer"]["kind"]}}).optimizer.lr
        found = data["optimizer"].get("lr", default), data["schedule"].get("max_lr"), data["schedule"]["eta_min"]
        assert found == rates

    def test_a_highest_rate_of_the_schedule_becomes_the_other_optimizers(self) -> None:
        data: dict[str, Any] = {"schedule": {"kind": "one_cycle", "max_lr": 5e-4}}
        apply_overrides(data, ["optimizer.kind=sgd"])
        config = parse_config(data)
        assert (config.optimizer.lr, config.schedule) == (0.025, OneCycle())

    def test_another_kind_drops_a_value_of_another_type(self) -> None:
        data: dict[str, Any] = {"model": {"kind": "small_cnn", "hidden": 64, "dropout": 0.3}}
        apply_overrides(data, ["model.kind=mlp"])
        assert parse_config(data).model == Mlp(dropout=0.3)

    def test_a_typing_error_is_not_dropped_with_the_old_kind(self) -> None:
        data: dict[str, Any] = {"optimizer": {"kind": "adamw", "lrr": 0.5}}
        apply_overrides(data, ["optimizer.kind=sgd"])
        with pytest.raises(ConfigError, match=r"optimizer\.lrr: unknown key"):
            parse_config(data)

    @pytest.mark.parametrize("override", ["loop.epochs", "=3", "loop.=3", ".epochs=3", ""])
    def test_malformed(self, override: str) -> None:
        with pytest.raises(InputError, match=r"must look like section\.key=value, for example loop\.epochs=3"):
            apply_overrides({}, [override])

    def test_unknown_section(self) -> None:
        with pytest.raises(ConfigError, match=r"looop\.epochs: unknown section; known are dataset, model"):
            apply_overrides({}, ["looop.epochs=3"])
        with pytest.raises(ConfigError, match=r"a\.b\.c: unknown section; known are dataset, model"):
            apply_overrides({}, ["a.b.c=3"])
        data: dict[str, Any] = {}
        apply_overrides(data, ["loop.epochs.most=3"])
        with pytest.raises(ConfigError, match=r"loop\.epochs: must be a whole number"):
            parse_config(data)

    def test_unknown_key_and_bad_value_are_found_by_the_check(self) -> None:
        data: dict[str, Any] = {}
        apply_overrides(data, ["loop.epoch=3", "optimizer.lr=-1", "nmae=x"])
        with pytest.raises(ConfigError) as caught:
            parse_config(data)
        assert {problem.path for problem in caught.value.problems} == {"loop.epoch", "optimizer.lr", "nmae"}

    def test_deep_value_is_taken_as_text(self) -> None:
        data: dict[str, Any] = {}
        apply_overrides(data, ["loop.epochs={" + ".".join(["a"] * 5000) + "=1}"])
        with pytest.raises(ConfigError, match=r"loop\.epochs: must be a whole number"):
            parse_config(data)

    def test_section_that_is_no_table(self) -> None:
        with pytest.raises(ConfigError, match="loop: must be a section of keys"):
            apply_overrides({"loop": 3}, ["loop.epochs=3"])


@pytest.mark.parametrize(
    "value", [None, 3, 0.1, True, "streamed", "none", "true", "5", "two words", 'a "quoted" one', [1, 2]]
)
def test_a_proposal_is_written_as_set_reads_it(value: JsonValue) -> None:
    [text] = overrides_of({"dataset.path": value})
    data: dict[str, Any] = {"dataset": {}}
    apply_overrides(data, [text])
    assert data["dataset"]["path"] == ("" if value is None else value)
    assert ('"' in text) == (value in ("none", "true", "5", 'a "quoted" one'))
