"""``python -m training predict`` tells what a trained model says of files, rows and texts, of a checkpoint or an export."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from tests.training.asking import asked
from tests.training.catalog.task_samples import small
from tests.training.commands import Captured, json_line
from training.cli import main
from training.config import parse_config
from training.engine.runs.run import start_run
from training.export import export_checkpoint
from training.export.bundle import ExportBundle, load_bundle
from training.predictions import list_evaluations
from training.protocol.model_answers import Continuation, ModelAnswers, ModelDescription, PickedRow, PlaneAnswer
from training.protocol.model_questions import AskFiles, AskRow, ContinueText, DescribeModel, DrawPlane, PickRow
from training.runs.export_consent import trust_export
from training.runs.folder import RunFolder

KINDS = (
    "classification",
    "binary",
    "regression",
    "multi_task",
    "ranking",
    "embedding",
    "segmentation",
    "language_model",
)
_ROWS = "x,y\n1,2\n-3,4.5\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("predict")


def trained(folder: Path, kind: str) -> Path:
    """A checkpoint of a run called ``kind``, trained at the first call."""
    runs = folder / kind / "runs"
    if not runs.is_dir():
        assert start_run(small(kind, folder / kind / "data"), folder / kind).status == "completed"
    return sorted(runs.glob("*/checkpoints/step-*"))[-1]


def exported(folder: Path, kind: str, to: str) -> Path:
    out = folder / kind / to
    if not out.is_dir():
        export_checkpoint(trained(folder, kind), to, out)
    return out


def given(folder: Path, kind: str) -> list[str]:
    """Two samples or more for a model of that kind."""
    data = folder / kind / "data"
    if kind == "segmentation":
        return [str(data / "images" / f"{name}.png") for name in (0, 1)]
    if kind in ("regression", "multi_task"):
        return [str(data / "table.csv")]
    rows = folder / "rows.csv"
    rows.write_text(_ROWS)
    if kind == "ranking":
        width = load_bundle(trained(folder, kind)).facts.shape[1]
        lines = [
            ",".join(f"x{number}" for number in range(1, width + 1)),
            *[",".join([str(row)] * width) for row in (1, 2)],
        ]
        rows.write_text("\n".join(lines) + "\n")
    return [str(rows)]


def predict(capsys: Captured, model: Path, *files: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["predict", str(model), *files, "--json"]) == 0
    told: list[dict[str, Any]] = json_line(capsys)["answers"]
    return told


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_answers_as_its_checkpoint(
    kind: str, folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = given(folder, kind)
    told = []
    for model in (trained(folder, kind), exported(folder, kind, "safetensors")):
        if kind == "language_model":
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the quick")))
            files = ["-"]
        told.append(predict(capsys, model, *files))
        for answer in told[-1]:
            if kind in ("classification", "binary", "embedding"):  # an export of made points does not know their range
                answer.pop("notes", None)
    assert told[0] == told[1] != []
    assert _scores(told[0][0]) == pytest.approx(_expected(load_bundle(trained(folder, kind)), kind, folder), abs=1e-5)


def _scores(answer: dict[str, Any]) -> list[float]:
    """The numbers of an answer, in an order of their own."""
    if "mask" in answer:
        return [share["probability"] for share in answer["mask"]["shares"]]
    parts = [answer.get("embedding", []), [item["score"] for item in answer.get("ranking", [])]]
    parts.append([value["value"] for value in answer.get("values", [])])
    parts.append([chance["probability"] for chance in answer.get("chances", [])][:3])
    parts += [[chance["probability"] for chance in chances] for _, chances in answer.get("chances_of", [])]
    return [number for part in parts for number in part]


def _expected(bundle: ExportBundle, kind: str, folder: Path) -> list[float]:
    """By torch, of the first sample as the training data has it."""
    facts = bundle.facts
    if kind == "language_model":
        tokens = torch.from_numpy(bundle.vocabulary.encode("the quick")).long()
        return bundle.logits(tokens[None])[0, -1].softmax(0).sort(descending=True).values[:3].tolist()
    if kind == "segmentation":
        from PIL import Image
        from torchvision.transforms.functional import pil_to_tensor

        pixels = pil_to_tensor(Image.open(given(folder, kind)[0]).convert("RGB" if facts.shape[0] == 3 else "L"))
        classes = bundle.logits(pixels[None])[0]
        chosen = classes.argmax(0) if len(classes) > 1 else (classes[0] >= 0).long()
        shares = torch.bincount(chosen.flatten()) / chosen.numel()
        return sorted((share for share in shares.tolist() if share), reverse=True)
    if kind in ("regression", "multi_task"):
        frame = pl.read_csv(given(folder, kind)[0])
        row = torch.tensor([[float(frame[column][0]) for column in facts.columns]])
        outputs = bundle.logits(row)[0]
        return outputs.tolist() if kind == "regression" else [*_tasks(outputs)]
    if kind == "ranking":
        items = torch.full((1, *facts.shape), float("nan"))
        items[0, 0], items[0, 1] = 1.0, 2.0
        return bundle.logits(items).flatten()[:2].sort(descending=True).values.tolist()
    outputs = bundle.logits(torch.tensor([[1.0, 2.0]]))[0]
    if kind == "embedding":
        return outputs.tolist()
    if kind == "binary":
        second = float(outputs[0].sigmoid())
        return sorted([second, 1 - second], reverse=True)
    return outputs.softmax(0).sort(descending=True).values.tolist()


def _tasks(outputs: torch.Tensor) -> list[float]:
    """The value "sum", then the two classes of "big"."""
    big = float(outputs[0].sigmoid())
    return [float(outputs[1]), *sorted([big, 1 - big], reverse=True)]


def test_what_cannot_be_read_is_named_and_the_rest_answered(
    folder: Path, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("x,y\n1,2\nfar,3\n2,\n")
    out = tmp_path / "out.csv"
    checkpoint = trained(folder, "classification")
    assert main(["predict", str(checkpoint), str(rows), str(tmp_path / "none.csv"), "--to", str(out)]) == 1
    told = capsys.readouterr().err
    assert "rows.csv row 2: its 'x' is 'far', which is no number." in told
    assert "rows.csv row 3: has nothing in 'y', and this model takes no missing values." in told
    assert "none.csv: cannot be read" in told
    assert "3 of 4 samples could not be answered, as told above." in told
    table = pl.read_csv(out)
    assert table["sample"].to_list()[:3] == ["rows.csv row 1", "rows.csv row 2", "rows.csv row 3"]
    assert table["prediction"].null_count() == 3
    assert main(["predict", str(checkpoint), str(rows), "--to", f"{tmp_path}/./rows.csv"]) == 2
    assert "rows.csv: is what is asked about" in capsys.readouterr().err
    rows.write_text("x,z\n" + "1,2\n" * 12)
    assert main(["predict", str(checkpoint), str(rows)]) == 2
    first, *_, last = lines = capsys.readouterr().err.splitlines()
    assert (first, last) == ("rows.csv row 1: has no column 'y'.", "2 more samples: has no column 'y'.")
    assert len(lines) == 11
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x,y\n1,2\n")))
    assert main(["predict", str(checkpoint), "-"]) == 0
    assert capsys.readouterr().out.startswith("standard input row 1: ")


def test_images_of_a_folder_that_are_none_are_named(folder: Path, capsys: Captured, tmp_path: Path) -> None:
    checkpoint = trained(folder, "segmentation")
    images = tmp_path / "images"
    images.mkdir()
    (images / "good.png").write_bytes(Path(given(folder, "segmentation")[0]).read_bytes())
    (images / "bad.png").write_bytes(b"no image")
    assert main(["predict", str(checkpoint), str(images), "--masks", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("images/good.png: ")
    assert "images/bad.png: not an image in a format that can be read." in captured.err
    assert (tmp_path / "good.png").is_file()


def test_a_text_that_training_did_not_see_is_told(capsys: Captured, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("color,size,kind\n" + "red,1,a\nblue,2,b\n" * 20)
    config = {"kind": "table", "path": str(table), "targets": ["kind"]}
    run = small("classification", tmp_path / "data").model_dump(mode="json")
    run |= {"dataset": config, "model": {"kind": "tabular"}}
    assert start_run(parse_config(run), tmp_path).status == "completed"
    rows = tmp_path / "rows.csv"
    rows.write_text("size,color\n1,red\n2,green\n")
    (checkpoint,) = (tmp_path / "runs").glob("*/checkpoints/step-00000004")
    answers = predict(capsys, checkpoint, str(rows))
    assert "notes" not in answers[0]
    assert answers[1]["notes"] == ["'green' in color was not in the training data and counts as unknown"]


def test_an_export_that_was_changed_or_runs_code_is_refused(folder: Path, capsys: Captured, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(_ROWS)
    program = exported(folder, "classification", "torch-export")
    assert main(["predict", str(program), str(rows)]) == 2
    assert "is a program of torch.export" in capsys.readouterr().err
    assert main(["predict", str(program), str(rows), "--trust"]) == 0
    changed = tmp_path / "changed"
    changed.mkdir()
    for file in exported(folder, "classification", "safetensors").iterdir():
        (changed / file.name).write_bytes(file.read_bytes())
    (changed / "model.py").write_text("raise SystemExit('was run')")  # nobody asks it
    assert main(["predict", str(changed), str(rows)]) == 0
    weights = (changed / "model.safetensors").read_bytes()
    (changed / "model.safetensors").write_bytes(weights[:-4] + b"abcd")
    capsys.readouterr()
    assert main(["predict", str(changed), str(rows)]) == 2
    assert "was changed or damaged" in capsys.readouterr().err
    facts = json.loads((changed / "model.json").read_text())
    facts["input"]["shape"] = [1 << 40]
    (changed / "model.json").write_text(json.dumps(facts))
    assert main(["predict", str(changed), str(rows)]) == 2
    assert "is not what an export writes" in capsys.readouterr().err


@pytest.mark.slow  # onnx takes seconds to load
@pytest.mark.parametrize("kind", ["classification", "multi_task", "segmentation", "language_model"])
def test_a_graph_and_a_program_answer_as_their_checkpoint(
    kind: str, folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    told = []
    for model in (trained(folder, kind), exported(folder, kind, "onnx"), exported(folder, kind, "torch-export")):
        trust_export(model)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the quick")))
        told.append(predict(capsys, model, *(["-"] if kind == "language_model" else given(folder, kind))))
    first, *others = told
    for other in others:
        assert len(other) == len(first) > 0
        for answer, expected in zip(other, first, strict=True):
            assert answer["name"] == expected["name"]
            assert answer.get("prediction") == expected.get("prediction")
            assert _scores(answer) == pytest.approx(_scores(expected), rel=1e-4, abs=1e-4)


def test_the_engine_answers_the_window_as_the_command_line(folder: Path, capsys: Captured) -> None:
    points, text = trained(folder, "classification"), trained(folder, "language_model")
    (told, _) = predict(capsys, points, *given(folder, "classification"))
    (answer,) = ModelAnswers.model_validate(asked(AskRow(model=points, row={"x": "1", "y": "2"}))).answers
    chances = [chance["probability"] for chance in told["chances"]]
    assert [chance.probability for chance in answer.chances] == pytest.approx(chances, abs=1e-6)

    plane = PlaneAnswer.model_validate(asked(DrawPlane(model=points, x=(0.99, 1.01), y=(1.99, 2.01))))
    middle = 50 * 100 + 50
    names = ModelDescription.model_validate(asked(DescribeModel(model=points))).classes
    assert names[base64.b64decode(plane.classes_base64)[middle]] == answer.prediction[0]
    assert base64.b64decode(plane.certainty_base64)[middle] / 255 == pytest.approx(
        answer.chances[0].probability, abs=0.01
    )

    made = Continuation()
    for _ in range(3):
        asked_for = ContinueText(model=text, prompt="the", tokens=made.tokens, count=4, seed=3)
        piece = Continuation.model_validate(asked(asked_for))
        made = Continuation(text=piece.text, tokens=(*made.tokens, *piece.tokens))
    assert main(["generate", str(text), "--prompt", "the", "--tokens", "12", "--seed", "3", "--json"]) == 0
    assert json_line(capsys)["text"] == f"the{made.text}"


def test_numbers_are_told_with_what_an_evaluation_measured_and_the_range_of_the_training_rows(
    folder: Path, capsys: Captured, tmp_path: Path
) -> None:
    config = small("regression", tmp_path / "data")
    assert start_run(config, tmp_path).status == "completed"
    checkpoint = sorted(tmp_path.glob("runs/*/checkpoints/step-*"))[-1]
    picked = PickedRow.model_validate(asked(PickRow(model=checkpoint, place=3)))
    assert main(["evaluate", str(checkpoint)]) == 0
    (found,) = list_evaluations(RunFolder(checkpoint.parent.parent))
    apart = found.column("prediction").astype(float) - found.column("target")
    (answer,) = ModelAnswers.model_validate(asked(AskRow(model=checkpoint, row=picked.row))).answers
    for place, value in enumerate(answer.values):
        assert value.error == pytest.approx(np.sqrt(np.mean(apart[:, place] ** 2)))
        assert value.within is not None
        assert (
            np.mean(np.abs(apart[:, place]) <= value.within * (1 + 1e-9))
            >= 0.9
            > np.mean(np.abs(apart[:, place]) < value.within)
        )
        assert f"of {len(apart)} validation samples" in value.error_words

    assert picked.truth == f"sum is {picked.row['sum']}, product is {picked.row['product']}"
    called = picked.name.partition(" of the validation part")[0]  # "row 17"
    number = next(row for row, name in enumerate(found.names) if name == called)
    assert [value.value for value in answer.values] == pytest.approx(
        found.column("prediction")[number].tolist(), rel=1e-4
    )

    trained_on = load_file(RunFolder(checkpoint.parent.parent).splits_file)["train"].numpy()
    table = pl.read_csv(tmp_path / "data" / "table.csv")[trained_on]
    export_checkpoint(checkpoint, "safetensors", tmp_path / "out")
    for model in (checkpoint, tmp_path / "out"):
        columns = ModelDescription.model_validate(asked(DescribeModel(model=model))).columns
        for column in columns:
            assert (column.low, column.high) == pytest.approx((table[column.name].min(), table[column.name].max()))


def test_an_embedding_is_told_with_the_nearest_evaluated_samples(capsys: Captured, tmp_path: Path) -> None:
    assert start_run(small("embedding", tmp_path / "data"), tmp_path).status == "completed"
    checkpoint = sorted(tmp_path.glob("runs/*/checkpoints/step-*"))[-1]
    picked = PickedRow.model_validate(asked(PickRow(model=checkpoint)))
    (answer,) = ModelAnswers.model_validate(asked(AskRow(model=checkpoint, row=picked.row))).answers
    assert answer.nearest == ()
    assert main(["evaluate", str(checkpoint)]) == 0
    (found,) = list_evaluations(RunFolder(checkpoint.parent.parent))
    (answer,) = ModelAnswers.model_validate(asked(AskRow(model=checkpoint, row=picked.row))).answers
    nearest = answer.nearest
    assert nearest[0].name == picked.name.partition(" of the validation part")[0]
    assert nearest[0].distance == pytest.approx(0.0, abs=1e-3)
    assert picked.truth == f"its class is {nearest[0].of}"
    distances = np.sort(np.linalg.norm(found.column("embedding") - np.array(answer.embedding), axis=1))[:5]
    assert [each.distance for each in nearest] == pytest.approx(distances.tolist(), abs=1e-5)


def test_a_folder_is_answered_page_by_page(folder: Path) -> None:
    checkpoint = trained(folder, "segmentation")
    images = folder / "segmentation" / "data" / "images"
    page = ModelAnswers.model_validate(asked(AskFiles(model=checkpoint, files=(images,), offset=2, most=3)))
    assert [Path(answer.name).name for answer in page.answers] == sorted(path.name for path in images.iterdir())[2:5]
    assert page.left_out == len(list(images.iterdir())) - 5
    first = page.answers[0]
    assert first.image is not None
    assert first.mask is not None
    assert (
        len(base64.b64decode(first.image.pixels_base64))
        == first.image.width * first.image.height * first.image.channels
    )
