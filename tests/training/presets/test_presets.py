"""The presets: each is told of, asks for what it cannot know, and says so kindly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.commands import Captured
from training.cli import main
from training.config import parse_config
from training.config.sections.schedule import OneCycle
from training.errors import InputError
from training.presets import PRESETS, Preset, load_preset, preset_text
from training.schedules import make_schedule
from training.system.resources import find_resources
from training.toml_text import read_toml

NAMES = [row.name for row in PRESETS]


def test_every_file_has_its_row_and_every_row_its_file() -> None:
    there = sorted(
        item.name.removesuffix(".toml")
        for item in find_resources("training", "presets").iterdir()
        if ".toml" in item.name
    )
    assert there == sorted(NAMES)
    assert len({row.title for row in PRESETS}) == len(PRESETS)


@pytest.mark.parametrize("row", PRESETS, ids=NAMES)
def test_a_preset_says_when_to_use_it_and_what_memory_it_needs(row: Preset) -> None:
    assert row.when.endswith(".")
    assert row.when[0].isupper()
    assert "GB" in row.memory
    assert preset_text(row.name).startswith("# ")


@pytest.mark.parametrize("row", PRESETS, ids=NAMES)
def test_what_a_preset_asks_for_is_a_path_it_has_and_a_run_without_it_is_refused(
    row: Preset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = parse_config(read_toml(preset_text(row.name), row.name), row.name, paths=False)
    for ask in row.asks:
        section, key = ask.setting.split(".")
        extra = type(getattr(config, section)).model_fields[key].json_schema_extra
        assert isinstance(extra, dict)
        assert extra["path"] == ask.mode
    if not row.asks:
        assert load_preset(row.name) == config
        return
    with pytest.raises(InputError) as refused:
        load_preset(row.name)
    for ask in row.asks:
        assert f"--set {ask.setting}=" in str(refused.value)
        assert ask.what in str(refused.value)


PEAKS = {
    "distillation": 5e-3, "lab-2-one-cycle": 3e-3, "lab-3-clip": 3e-3, "lab-4-accumulation": 3e-3, "lab-5-amp": 3e-3,
    "lab-6-checkpoints": 3e-3, "lab-7-crash": 3e-3, "labels": 3e-3, "mnist": 5e-3, "own-network": 3e-3, "pictures": 3e-3,
    "sample": 3e-3, "segmentation": 2e-3, "table-values": 3e-3,
}  # fmt: skip
"""What schedule.max_lr was in them, beside an optimizer.lr of 1e-3 that had no effect, before the latter was the one rate."""


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_has_one_rate_and_its_curve_is_what_it_was(name: str) -> None:
    config = parse_config(read_toml(preset_text(name), name), paths=False)
    assert "max_lr" not in config.schedule.model_fields_set
    if name not in PEAKS:
        return
    assert isinstance(config.schedule, OneCycle)
    before, now = config.schedule.model_copy(update={"max_lr": PEAKS[name]}), config.optimizer.lr
    old, new = make_schedule(before, 1e-3, 977, 977), make_schedule(config.schedule, now, 977, 977)
    assert [(old.lr(step), old.momentum(step)) for step in range(977)] == [
        (new.lr(step), new.momentum(step)) for step in range(977)
    ]


def test_another_kind_of_data_needs_nothing_of_the_first() -> None:
    assert load_preset("lab-1-baseline", ["dataset.kind=shapes"]).dataset.kind == "shapes"


def test_data_in_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "MNIST").mkdir()
    monkeypatch.chdir(tmp_path)
    assert getattr(load_preset("mnist").dataset, "path", "") == str(tmp_path / "MNIST")


def test_a_wrong_path_is_told_as_what_it_is(tmp_path: Path, capsys: Captured) -> None:
    assert main(["run", "preset:mnist", "--set", f"dataset.path={tmp_path / 'nowhere'}"]) == 2
    assert "dataset.path" in (error := capsys.readouterr().err)
    assert "does not exist" in error


def test_the_list_names_every_preset_its_sentence_and_its_memory(capsys: Captured) -> None:
    assert main(["presets"]) == 0
    text = capsys.readouterr().out
    for row in PRESETS:
        for words in (f"preset:{row.name}", row.title, row.when, row.memory, *(ask.what for ask in row.asks)):
            assert words in text
    assert main(["presets", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["presets"]
    assert [row["name"] for row in listed] == NAMES
    assert {name for row in listed for name in row} == {"name", "group", "title", "when", "memory", "asks"}
