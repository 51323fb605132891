"""What a validation tells beyond numbers, kept in the run folder."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.training.tiny import tiny, tiny_images, write_idx
from training.engine.runs.run import resume_run, start_run
from training.runs.folder import RunFolder
from training.runs.records.evaluation import note_evaluation, read_evaluation


def test_the_best_validation_and_the_test_are_kept(tmp_path: Path) -> None:
    record = start_run(tiny_images(write_idx(tmp_path / "data")), tmp_path)
    folder = RunFolder(Path(record.folder))
    samples = json.loads(folder.data_file.read_text())["counts"]
    for part in ("validation", "test"):
        found = read_evaluation(folder, part)
        assert found is not None
        assert record.best is not None
        assert found.step == record.best.step
        assert found.names == ("0", "1", "2", "3")
        assert [sum(row) for row in found.confusion] == samples[part]
        right = sum(row[number] for number, row in enumerate(found.confusion))
        assert record.best is not None
        accuracy = record.best.value if part == "validation" else record.metrics["test/accuracy"]
        assert right / sum(samples[part]) == pytest.approx(accuracy)
        assert found.each["recall"] == pytest.approx(
            [row[number] / sum(row) for number, row in enumerate(found.confusion)]
        )


def test_a_resumed_run_ends_with_the_same_tables(tmp_path: Path) -> None:
    record = start_run(tiny("checkpoints.keep_last=50"), tmp_path)
    folder = RunFolder(Path(record.folder))
    kept = folder.evaluation_file.read_bytes()
    folder.evaluation_file.unlink()
    resume_run(str(folder.checkpoints / "step-00000004"), tmp_path)
    assert folder.evaluation_file.read_bytes() == kept


def test_parts_stand_beside_each_other_and_what_is_no_number_is_none(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert read_evaluation(folder, "validation") is None
    note_evaluation(folder, "validation", 3, ["a", "b"], {"f1": [0.5, math.nan], "confusion": [[1, 2], [3, 4]]})
    note_evaluation(folder, "test", 5, ["a", "b"], {"f1": [1.0, None]})
    validation, test = read_evaluation(folder, "validation"), read_evaluation(folder, "test")
    assert validation is not None
    assert (validation.step, validation.each, validation.confusion) == (3, {"f1": (0.5, None)}, ((1, 2), (3, 4)))
    assert test is not None
    assert (test.step, test.each, test.confusion) == (5, {"f1": (1.0, None)}, ())


def test_nothing_is_kept_of_a_thousand_classes_and_more(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    note_evaluation(folder, "validation", 3, ["name"] * 1001, {"f1": [0.5] * 1001})
    note_evaluation(folder, "validation", 3, ["a"], {})
    assert not folder.evaluation_file.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"validation": 3}',
    ],
)
def test_a_damaged_file_tells_nothing(tmp_path: Path, text: str) -> None:
    folder = RunFolder(tmp_path)
    folder.evaluation_file.write_text(text)
    assert read_evaluation(folder, "validation") is None
