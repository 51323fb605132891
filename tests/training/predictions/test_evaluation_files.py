"""Evaluations as files: what was written is read, what was cut short goes on, what is damaged is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.evaluations import make_classes, make_evaluation, make_record
from training.errors import InputError
from training.predictions import list_evaluations, read
from training.predictions.reading import find_damage
from training.predictions.writing import EvaluationWriter, drop, find_unfinished
from training.runs.folder import RunFolder


def test_what_was_written_is_read(tmp_path: Path) -> None:
    columns = make_classes(200, 30)
    made = make_evaluation(tmp_path, 200, 30, file_names=[f"images/{number}.png" for number in range(200)])
    found = read(made.folder)
    assert found.record == made.record
    assert found.record.columns["classes"].shape == (20,)
    for name, values in columns.items():
        np.testing.assert_array_equal(found.column(name), values)
    with pytest.raises(ValueError, match="read-only"):
        found.column("loss")[0] = 1.0
    assert found.names[7] == "images/7.png"
    assert found.rows is None
    assert find_damage(found) == ""
    assert make_evaluation(tmp_path, on="test").names[3:5] == ["sample 3", "sample 4"]


def test_evaluations_are_listed_by_step_and_part(tmp_path: Path) -> None:
    for step, on in ((100, "test"), (200, "train"), (100, "validation"), (200, "validation")):
        make_evaluation(tmp_path, step=step, on=on)
    (tmp_path / "evaluations" / "step-00000300-test").mkdir()
    found = list_evaluations(RunFolder(tmp_path))
    assert [(each.record.step, each.record.on) for each in found] == [
        (200, "validation"),
        (200, "train"),
        (100, "validation"),
        (100, "test"),
    ]


def test_a_killed_evaluation_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    columns, folder = make_classes(100, 3), tmp_path / "evaluations" / "step-00000100-validation"
    announced = make_record(columns, ("a", "b", "c"))
    with EvaluationWriter(folder, find_unfinished(folder, announced)) as writer:
        writer.append({name: values[:60] for name, values in columns.items()})
        writer.save()
        writer.append({name: values[60:70] for name, values in columns.items()})
    with pytest.raises(InputError, match="60 of 100 samples are evaluated"):
        read(folder)
    known = find_unfinished(folder, announced)
    assert known.done == 60
    with EvaluationWriter(folder, known) as writer:
        writer.append({name: values[60:] for name, values in columns.items()})
        found = writer.finish({})
    for name, values in columns.items():
        np.testing.assert_array_equal(found.column(name), values)
    assert find_unfinished(folder, announced.model_copy(update={"fingerprint": "other"})).done == 0
    assert not folder.exists()


def test_damage_is_told(tmp_path: Path) -> None:
    made = make_evaluation(tmp_path)
    column = made.folder / "loss.npy"
    content = column.read_bytes()
    column.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert find_damage(read(made.folder)) == "loss.npy does not match its digest"
    column.write_bytes(content[:200])
    with pytest.raises(InputError, match=r"loss\.npy: cannot be read"):
        read(made.folder).column("loss")
    record = made.folder / "evaluation.json"
    record.write_text(record.read_text().replace('"step": 100', '"step": 101'))
    with pytest.raises(InputError, match=r"evaluation\.json: is damaged or was changed"):
        read(made.folder)
    drop(made.folder)
    with pytest.raises(InputError, match="there is no evaluation here"):
        read(made.folder)
