"""What the help shows of using an export is what works."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.training.commands import json_line
from training.cli import main

PAGE = Path(__file__).parents[3] / "resources" / "help" / "export.md"


def test_the_example_says_what_the_model_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with Path("iris.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("sepal_length", "sepal_width", "petal_length", "petal_width", "species"))
        for number in range(40):
            large = number % 2
            rows.writerow(
                (
                    5.0 + large + number / 100,
                    3.4 - large / 2,
                    1.4 + 3 * large,
                    0.2 + large,
                    ("setosa", "virginica")[large],
                )
            )
    settings = (
        "dataset.path=iris.csv",
        "loop.epochs=15",
        "schedule.kind=constant",
        "optimizer.lr=0.02",
        "precision.device=cpu",
    )
    words = [word for each in settings for word in ("--set", each)]
    assert main(["run", "preset:table-classes", "--workspace", "runs", "--json", *words]) == 0
    run = json_line(capsys)["run"]
    assert main(["export", run, "--workspace", "runs", "--to", "safetensors", "--out", "model"]) == 0
    capsys.readouterr()
    monkeypatch.syspath_prepend(str(tmp_path))
    example = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    exec(compile(example[1], "export.md", "exec"), {})
    assert re.fullmatch(r"\[\('setosa', 0\.\d+\)\]\n", capsys.readouterr().out)
