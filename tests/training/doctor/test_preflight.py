"""Findings before a run: a fault of the input or too little memory is a finding, not an exception."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.data.pairs_of_images import write_pairs
from tests.training.tiny import tiny, write_idx
from training.config import apply_overrides, parse_config
from training.doctor import preflight
from training.engine.runs.run import Hooks, start_run
from training.errors import TrainingError
from training.events import Event, Finding, Validated
from training.findings.data import REMARK
from training.protocol.answers import RunTime

NO_MEMORY = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1099511627776 bytes."


def test_a_good_run_has_only_good_findings(tmp_path: Path) -> None:
    found = preflight(tiny(), tmp_path / "workspace")
    assert [item.code for item in found if item.level != "ok"] == ["validation.tiny"]
    assert {item.level for item in found} == {"ok", "info"}
    assert not (tmp_path / "workspace").exists()


def test_the_time_of_a_run_is_that_of_its_steps_and_validations(tmp_path: Path) -> None:
    told: list[RunTime] = []
    config = tiny("loop.epochs=3", "loop.validate_every_steps=4")
    found = preflight(config, tmp_path, tell_time=told.append)
    [run_time] = told
    seen: list[Event] = []
    record = start_run(config, tmp_path, Hooks(watch=seen.append))
    validations = [event for event in seen if isinstance(event, Validated)]
    assert (run_time.steps, run_time.validations) == (record.step, len(validations))
    assert run_time.step > 0
    assert run_time.validation > 0
    assert [item.title for item in found if item.title.startswith(f"The run takes {run_time}, by 3 warm steps of ")]


@pytest.mark.parametrize(
    ("step", "steps", "words"),
    [
        (
            1.0,
            100,
            "about 1 min 50 s, 11 s an epoch, plus start-up and saving",
        ),  # ten epochs of ten steps and a second of validation
        (0.001, 10, "about 1 s, plus start-up and saving"),
        (1e-4, 10, "a few seconds, less than one of them for the steps"),
    ],
)
def test_the_time_of_a_run_in_words(step: float, steps: int, words: str) -> None:
    validations = steps // 10 if step > 1e-4 else 0
    told = RunTime(step=step, validation=1.0, steps=steps, steps_per_epoch=10, validations=validations)
    assert str(told) == words


def test_freezing_fresh_weights_is_warned_of(tmp_path: Path) -> None:
    found = preflight(tiny("optimizer.freeze=all_but_head", "optimizer.unfreeze_epoch=1"), tmp_path)
    [finding] = [item for item in found if item.level == "warning"]
    assert finding.title == "What is frozen is randomly initialized, and stays so as long as it is frozen."
    assert "optimizer.freeze" in finding.advice


def test_a_damaged_file_is_a_finding(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data")
    next(data.glob("train-images*")).write_bytes(b"")
    config = tiny("dataset.kind=idx", f"dataset.path={data}", "model.kind=small_cnn")
    [finding] = preflight(config, tmp_path)
    assert finding.level == "error"
    assert "train-images" in finding.title


@pytest.mark.parametrize("place", ["model", "forward"])
def test_too_little_memory_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def fail(*_arguments: object, **_settings: object) -> None:
        raise RuntimeError(NO_MEMORY)

    if place == "model":
        monkeypatch.setattr(import_module("training.engine.assemble"), "make_model", fail)
    else:
        monkeypatch.setattr(torch.nn.Linear, "forward", fail)
    finding = next(item for item in preflight(tiny(), tmp_path) if item.level == "error")
    assert "memory" in finding.title
    assert "smaller model" in finding.advice
    assert finding.fix == {}


def test_too_large_a_batch_is_a_finding_with_one_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = torch.nn.Linear.forward

    def hold_ten(linear: torch.nn.Linear, inputs: torch.Tensor) -> torch.Tensor:
        if len(inputs) > 10:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
        return forward(linear, inputs)

    monkeypatch.setattr(torch.nn.Linear, "forward", hold_ten)
    finding = next(item for item in preflight(tiny(), tmp_path) if item.level == "error")
    assert "batches of 32" in finding.title
    assert finding.fix == {"loop.batch_size": 8, "loop.accumulation": 4}


def test_a_run_without_memory_says_so_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_settings: object) -> None:
        raise RuntimeError(NO_MEMORY)

    monkeypatch.setattr(import_module("training.engine.assemble"), "make_model", fail)
    with pytest.raises(TrainingError, match="out of memory"):
        start_run(tiny(), tmp_path)


def test_another_fault_is_not_taken_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_settings: object) -> None:
        raise RuntimeError("a mistake of the program")

    monkeypatch.setattr(torch.nn.Linear, "forward", fail)
    last = preflight(tiny(), tmp_path)[-1]
    assert (last.level, last.title) == (
        "error",
        "An unexpected fault would end the run: RuntimeError: a mistake of the program.",
    )


def uneven(tmp_path: Path, *overrides: str) -> list[Finding]:
    rows = [f"{number}.5,{number % 7},{'rare' if number % 25 == 0 else 'common'}" for number in range(200)]
    (tmp_path / "t.csv").write_text("a,b,kind\n" + "\n".join(rows))
    table = ("dataset.kind=table", f"dataset.path={tmp_path / 't.csv'}", "dataset.targets=kind", "model.kind=mlp")
    found = preflight(tiny(*table, *overrides), tmp_path / "workspace")
    return [item for item in found if item.title.startswith("The classes are uneven")]


def test_uneven_classes_are_told_with_what_makes_up_for_them(tmp_path: Path) -> None:
    [plain] = uneven(tmp_path)
    assert (plain.level, dict(plain.fix)) == ("warning", {"objective.balanced": True})
    [drawn] = uneven(tmp_path, "loader.sampling=balanced")
    assert drawn.level == "ok"
    assert drawn.title.endswith("; loader.sampling draws them alike.")
    [weighed] = uneven(tmp_path, "objective.balanced=true")
    assert weighed.level == "ok"
    assert weighed.title.endswith("; objective.balanced makes up for that.")


def test_the_column_that_nobody_chose_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "a,b,kind\n" + "\n".join(f"{number},{number % 7}.5,{number % 2}" for number in range(60))
    )
    table = ("dataset.kind=table", f"dataset.path={tmp_path / 't.csv'}", "model.kind=mlp")
    told = REMARK.find("info", "Predicts the last column, 'kind'; dataset.targets chooses another.")
    assert [replace(item, time=told.time) for item in preflight(tiny(*table), tmp_path)].count(told) == 1
    chosen = preflight(tiny(*table, "dataset.targets=kind"), tmp_path)
    assert not [item for item in chosen if "last column" in item.title]


def masked(tmp_path: Path, *overrides: str) -> list[Finding]:
    settings = ("dataset.kind=segmentation", f"dataset.path={tmp_path / 'pairs'}", "objective.kind=segmentation")
    data: dict[str, Any] = {"model": {"kind": "unet", "depth": 1, "width": 4}, "loop": {"epochs": 1, "batch_size": 4}}
    apply_overrides(data, [*settings, *overrides])
    return preflight(parse_config(data), tmp_path / "workspace")


def test_classes_without_a_training_pixel_are_told(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs", classes="sky\nroad\ntree\nboat\n")
    [absent] = [item for item in masked(tmp_path) if item.title.startswith("No training pixel")]
    assert (absent.level, absent.title) == ("warning", "No training pixel for: boat.")


def test_a_single_class_that_is_left_is_nothing_to_learn(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs", classes="sky\nroad\n")
    [told] = [
        item for item in masked(tmp_path, "dataset.ignore_index=1", "dataset.unknown=ignore") if item.level == "error"
    ]
    assert "there is only one class (sky), so there is nothing to learn" in told.title


def test_a_class_of_what_nobody_named_may_be_left_out(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs", classes="sky\nUnlabelled\ntree\n")
    [told] = [item for item in masked(tmp_path) if "dataset.ignore_index" in item.fix]
    assert "The class Unlabelled is learned" in told.title
    assert told.fix == {"dataset.ignore_index": 1}
    ignored = masked(tmp_path, "dataset.ignore_index=1")
    assert not [item for item in ignored if "dataset.ignore_index" in item.fix]


@pytest.mark.parametrize(
    ("objective", "content", "said"),
    [
        ("ranking", [(n // 4, n % 4, -(n % 4) - 1) for n in range(80)], "No validation item has a rank above 0"),
        (
            "ranking",
            [(n // 4, n % 4, n % 2 if n < 4 else 1) for n in range(80)],
            "No validation query has two items of",
        ),
        (
            "regression",
            [(n, n % 4, 5.5 if n < 79 else 7.5) for n in range(80)],
            "All validation samples have the same y",
        ),
    ],
)
def test_what_validation_cannot_measure_is_told(
    tmp_path: Path, objective: str, content: list[tuple[float, ...]], said: str
) -> None:
    rows = "".join(",".join(map(str, row)) + "\n" for row in content)
    (tmp_path / "t.csv").write_text("query,a,y\n" + rows, encoding="utf-8")
    kind = "ranking" if objective == "ranking" else "table"
    data: dict[str, Any] = {
        "dataset": {"kind": kind, "path": str(tmp_path / "t.csv"), "split_seed": 1},
        "model": {"kind": "tabular", "hidden": [4]},
        "objective": {"kind": objective},
        "loop": {"epochs": 1, "batch_size": 8},
    }
    [told] = [found for found in preflight(parse_config(data), tmp_path / "workspace") if found.title.startswith(said)]
    assert told.level == "warning"


def find_of(code: str, tmp_path: Path, *overrides: str) -> Finding | None:
    found = preflight(tiny(*overrides), tmp_path / "workspace")
    return next((item for item in found if item.code == code), None)


def test_half_precision_on_a_cpu_is_a_note(tmp_path: Path) -> None:
    told = find_of("machine.slow_format", tmp_path, "precision.device=cpu", "precision.compute=bf16")
    assert told is not None
    assert (told.level, dict(told.fix)) == ("info", {"precision.compute": "fp32"})
    assert find_of("machine.slow_format", tmp_path, "precision.device=cpu") is None


def test_checkpoints_that_have_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roomy = find_of("disk.room", tmp_path)
    assert roomy is not None
    assert roomy.level == "ok"
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    told = find_of("disk.room", tmp_path)
    assert told is not None
    assert (told.level, told.evidence["free_bytes"]) == ("error", 1000)
    assert "1 kB are free" in told.title


def test_a_step_that_cannot_be_compiled_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise TrainingError("precision.compile: there is no C++ compiler here.", "Install g++.")

    monkeypatch.setattr(import_module("training.doctor.device"), "compile_session", refuse)
    told = find_of("compile.works", tmp_path, "precision.compile=model")
    assert told is not None
    assert (told.level, told.advice) == ("error", "Install g++.")


@pytest.mark.parametrize("held", [4, 3])
def test_a_class_that_validation_lacks(tmp_path: Path, held: int) -> None:
    data = write_idx(tmp_path / "data")
    with gzip.open(data / "t10k-labels-idx1-ubyte.gz", "rb") as stream:
        labels = stream.read()
    cut = bytes(min(label, held - 1) for label in labels[8:])
    with gzip.open(data / "t10k-labels-idx1-ubyte.gz", "wb") as stream:
        stream.write(labels[:8] + cut)
    files = ("dataset.kind=idx", f"dataset.path={data}", "dataset.validation=test", "model.kind=small_cnn")
    told = find_of("validation.absent_class", tmp_path, *files)
    assert (told.title if told else "") == ("" if held == 4 else "No validation sample for: 3.")


def test_a_class_of_which_few_samples_are_held_out_is_a_note(tmp_path: Path) -> None:
    told = find_of("validation.few_of_class", tmp_path, "dataset.samples=150")
    assert told is not None
    assert told.level == "info"
    assert told.evidence["samples"] == 10
    assert "10 samples of the class" in told.title
    assert "± 19 points" in told.title
    assert find_of("validation.few_of_class", tmp_path, "dataset.samples=600") is None
