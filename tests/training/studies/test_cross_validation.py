"""Cross-validation: every sample of the training part is answered once, by a run that never saw it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.training.blobs import write_blobs
from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.predictions import read
from training.predictions.reading import find_damage
from training.runs.folder import RunFolder


def write_table(folder: Path, column: str = "") -> Path:
    """240 rows with a number to predict; rows of a group, or of a day, are neighbors."""
    random = np.random.default_rng(0)
    rows = [
        f"{x:.4f},{2.0 * x + 0.1 * random.normal():.4f},{number // 8}"
        for number, x in enumerate(random.normal(size=240))
    ]
    (folder / "rows.csv").write_text("\n".join(["x,y,when", *rows]) + "\n")
    more = [f"dataset.{column}=when"] if column else ['dataset.ignored=["when"]']
    config = tiny(
        "dataset.kind=table",
        f"dataset.path={folder / 'rows.csv'}",
        'dataset.targets=["y"]',
        "objective.kind=regression",
        "loop.epochs=4",
        "loop.layer_norms=false",
        *more,
    )
    save_config(config, folder / "rows.toml")
    return folder / "rows.toml"


def find_trained(run: RunFolder) -> set[int]:
    return set(load_file(run.splits_file)["train"].tolist())


@pytest.mark.slow
def test_every_sample_of_the_training_part_is_answered_by_the_run_that_never_saw_it(
    tmp_path: Path, capsys: Captured, in_process: list[str]
) -> None:
    config, _ = write_blobs(tmp_path, epochs=6)
    save_config(config, tmp_path / "blobs.toml")
    workspace = ["--workspace", str(tmp_path / "ws"), "--json"]
    assert main(["study", "cv", str(tmp_path / "blobs.toml"), "--folds", "3", *workspace]) == 0
    told = json_line(capsys)
    details = told["details"]
    assert details["by"] == "class"
    runs = [RunFolder(tmp_path / "ws" / "runs" / name) for name in details["runs"].values()]
    whole = read(Path(details["evaluation"]))
    assert not find_damage(whole)
    index = whole.column("index")
    assert main(["run", str(tmp_path / "blobs.toml"), *workspace]) == 0
    train = find_trained(RunFolder(Path(json_line(capsys)["folder"])))
    assert index.tolist() == sorted(train)
    seen = [find_trained(run) for run in runs]
    assert set.union(*seen) == train
    answers = dict(zip(index.tolist(), whole.column("prediction").tolist(), strict=True))
    for run, trained in zip(runs, seen, strict=True):
        own = read(run.evaluations / "left-out")
        assert set(own.column("index").tolist()) == train - trained
        assert all(
            answers[number] == told for number, told in zip(own.column("index"), own.column("prediction"), strict=True)
        )
    right = whole.column("prediction") == whole.column("target")
    measured = whole.record.metrics["accuracy"]
    assert measured.value == pytest.approx(right.mean())
    assert measured.low is not None
    assert measured.high is not None
    assert measured.low < right.mean() < measured.high
    shares = [details["values"]["accuracy"][fold] * details["samples"][fold] for fold in range(3)]
    assert sum(shares) == pytest.approx(right.sum())
    assert whole.rows is not None  # in the order of the answers
    assert whole.rows["kind"].to_list() == [whole.record.names[each] for each in whole.column("target").tolist()]
    assert len(in_process) == 3
    assert main(["study", "--resume", told["study"], *workspace]) == 0
    assert len(in_process) == 3


def test_groups_are_not_torn_apart(tmp_path: Path, capsys: Captured, in_process: list[str]) -> None:
    config = write_table(tmp_path, "group_column")
    assert main(["study", "cv", str(config), "--folds", "3", "--workspace", str(tmp_path / "ws"), "--json"]) == 0
    details = json_line(capsys)["details"]
    assert details["by"] == "group"
    for name in details["runs"].values():
        run = RunFolder(tmp_path / "ws" / "runs" / name)
        answered = set(read(run.evaluations / "left-out").column("index").tolist())
        assert not {number // 8 for number in answered} & {number // 8 for number in find_trained(run)}
    assert details["out_of_fold"]["r2"]["value"] is not None


def test_by_time_a_run_sees_only_what_is_earlier(tmp_path: Path, capsys: Captured, in_process: list[str]) -> None:
    config = write_table(tmp_path, "time_column")
    assert main(["study", "cv", str(config), "--folds", "3", "--workspace", str(tmp_path / "ws"), "--json"]) == 0
    details = json_line(capsys)["details"]
    assert details["by"] == "time"
    sizes = []
    for name in details["runs"].values():
        run = RunFolder(tmp_path / "ws" / "runs" / name)
        answered, trained = read(run.evaluations / "left-out").column("index"), find_trained(run)
        assert max(number // 8 for number in trained) < min(number // 8 for number in answered.tolist())
        sizes.append(len(trained))
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--folds", "1"], "--folds 1: must be from 2 to 20"),
        ([], "spiral has no exclude list"),
    ],
)
def test_what_cannot_be_divided(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], words: list[str], sentence: str
) -> None:
    assert main(["study", "cv", str(config), *words, "--workspace", str(tmp_path / "ws")]) == 2
    assert sentence in capsys.readouterr().err


def test_groups_have_to_be_there(tmp_path: Path, capsys: Captured, in_process: list[str]) -> None:
    config = write_table(tmp_path)
    assert main(["study", "cv", str(config), "--by", "group", "--workspace", str(tmp_path / "ws")]) == 2
    assert "set dataset.group_column" in capsys.readouterr().err
    assert not (tmp_path / "ws").exists()


def test_a_plan_says_by_what_it_divides_and_makes_nothing_of_too_few_groups(
    tmp_path: Path, capsys: Captured, in_process: list[str]
) -> None:
    words = ["study", "cv", str(write_table(tmp_path, "group_column")), "--plan", "--workspace", str(tmp_path / "ws")]
    few = ["--set", "dataset.validation_fraction=0.9"]
    assert main([*words, "--folds", "20", *few]) == 2
    assert "--folds 20: there are fewer groups of samples than that" in capsys.readouterr().err
    assert not (tmp_path / "ws").exists()
    assert main([*words, "--json"]) == 0
    assert "5 folds of the training part, in whole groups;" in json_line(capsys)["words"][0]
    write_table(tmp_path, "time_column")
    assert main([*words, "--json"]) == 0
    assert "Its last checkpoint counts." in json_line(capsys)["words"][0]
