"""An export is proven in a process without torch, on real samples, and one that answers otherwise is never there."""

from __future__ import annotations

import copy
import io
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

from tests.training.catalog.task_samples import small
from tests.training.commands import Captured, json_line
from tests.training.export.apart import WITHOUT
from training import predict
from training.answering.answers import answer_samples
from training.answering.model import open_model
from training.answering.samples import read_samples
from training.cli import main
from training.engine.runs.run import start_run
from training.errors import InputError
from training.evaluation import evaluate_checkpoint
from training.export import formats
from training.export.bundle import load_bundle
from training.export.proof.data import RealData, open_data
from training.export.proof.worst import find_worst
from training.runs.folder import RunFolder
from training.runs.records.exports import read_exports
from training.verify.check import check, describe
from training.verify.kept import read_kept

TEMPERATURE = 1.5
ONE_STEP = ("loop.max_steps=1", "schedule.kind=constant")


def train_on_files(folder: Path) -> Path:
    """A checkpoint of a network that saw image files larger than what it takes, of two colors that it tells apart."""
    random = np.random.default_rng(0)
    for number in range(60):
        name = ("blue sky", "red earth")[number % 2]
        pixels = random.integers(0, 120, (20, 26, 3)).astype(np.uint8)
        pixels[..., 0 if number % 2 else 2] += 100
        path = folder / "data" / name / f"{number}.{('png', 'jpg')[number % 3 == 0]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    config = small(
        "classification",
        folder / "made",
        *("dataset.kind=image_folder", f"dataset.path={folder / 'data'}", "dataset.image_size=12"),
        *("model.kind=small_cnn", "loop.max_steps=12", "schedule.kind=constant"),
    )
    record = start_run(config.model_copy(update={"name": "colors"}), folder)
    assert record.status == "completed", record.reason
    return Path(str(record.last_checkpoint))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_on_files(tmp_path_factory.mktemp("colors"))


@pytest.fixture(scope="module")
def exported(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    evaluate_checkpoint(checkpoint)
    out = tmp_path_factory.mktemp("exports") / "colors"
    words = ["export", str(checkpoint), "--to", "onnx", "--out", str(out), "--temperature", str(TEMPERATURE)]
    assert main(words) == 0
    return out


def find_images(checkpoint: Path) -> list[Path]:
    """Some of those that it was trained on."""
    dataset = RunFolder(checkpoint.parent.parent).config().dataset
    return sorted(Path(str(getattr(dataset, "path", ""))).rglob("*.*"))[::7]


def run_without_packages(words: list[str]) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({WITHOUT!r})); from training.cli import main; "
        f"sys.exit(main({words!r}))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)


def test_the_file_is_verified_where_there_is_no_torch(exported: Path) -> None:
    with (exported / "README.md").open("a", encoding="utf-8") as card:
        card.write("\nWhat only its author knows.\n")
    done = run_without_packages(["verify", str(exported / "model.onnx"), "--trust", "--json"])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["faults"] == []
    assert told["torch_loaded"] is False
    assert (told["part"], told["drawn"]) == ("validation", 12)
    assert told["agreement"] == 1.0
    assert told["preprocess"]["samples"] == 13  # eight files of the run, five made of one
    assert told["metrics"]["accuracy"]["before"] == told["metrics"]["accuracy"]["after"]
    untrusted = run_without_packages(["verify", str(exported)])
    assert untrusted.returncode == 0
    assert "preprocess.py was not run" in untrusted.stderr
    other = run_without_packages(["runs"])
    assert other.returncode == 1
    assert other.stderr.startswith("The package psutil is missing, which this needs; install it")


def test_the_graph_takes_an_image_and_answers_with_names(exported: Path, checkpoint: Path) -> None:
    images = find_images(checkpoint)
    reading = run_path(str(exported / "preprocess.py"))
    facts = reading["load_facts"]()
    session = onnxruntime.InferenceSession(str(exported / "model.onnx"))
    pixels = np.concatenate([reading["read_image"](facts, path) for path in images])
    assert pixels.dtype == np.uint8
    assert pixels.shape[1:] == (12, 12, 3)
    names, index, chances, logits = session.run(["class", "index", "probabilities", "logits"], {"images": pixels})
    model = open_model(checkpoint)
    expected = list(answer_samples(model, read_samples(model, map(str, images))))
    assert names.tolist() == [answer.prediction[0] for answer in expected]
    with pytest.raises(InputError, match="row 1: the model takes no single rows; give a file"):
        predict(model, {"width": 20})
    assert [facts["classes"][each] for each in index] == names.tolist()
    cooled = np.exp(logits / TEMPERATURE)
    np.testing.assert_allclose(chances, cooled / cooled.sum(1, keepdims=True), atol=1e-6)
    (of_export,) = answer_samples(open_model(exported), read_samples(open_model(exported), [str(images[0])]))
    assert of_export.prediction == expected[0].prediction
    marked = session.get_modelmeta().custom_metadata_map
    assert json.loads(marked["classes"]) == ["blue sky", "red earth"]
    assert json.loads(marked["proof"])["agreement"] == 1.0
    assert {each["name"] for each in facts["graph"]["outputs"]} == {"class", "index", "probabilities", "logits"}


def test_the_run_knows_where_it_was_exported_to(exported: Path, checkpoint: Path) -> None:
    run = RunFolder(checkpoint.parent.parent)
    (note,) = read_exports(run)
    assert note.path == str(exported / "model.onnx")
    assert note.exists
    assert (note.format, note.quantized, note.step) == ("onnx", "", 12)
    assert note.proof is not None
    assert (note.proof.agreement, note.proof.metric) == (1.0, "accuracy")
    told = describe(note.proof.proof())
    assert told == describe(json.loads((exported / "proof.json").read_text()))
    assert told.startswith(
        f"On 12 samples of the validation part, 48 of the training part: largest difference of a score {note.proof.max_difference:.3g}"
    )
    assert f" (99th percentile {note.proof.p99:.3g}), 100% of the answers alike, Accuracy " in told
    assert told.endswith("preprocess.py read 13 image files exactly as training did.")
    assert told in (exported / "README.md").read_text()
    assert main(["report", str(run.path), "--out", str(exported.parent / "report.html")]) == 0
    assert told in unescape((exported.parent / "report.html").read_text())
    with (run.path / "exports.jsonl").open("ab") as stream:
        stream.write(b'{"path": 3}\n\xff\n{"path": "/torn')
    assert read_exports(run) == [note]


def change_preprocess(folder: Path) -> None:
    path = folder / "preprocess.py"
    path.write_text(path.read_text(encoding="utf-8").replace('"RGB" if', '"YCbCr" if'), encoding="utf-8")


def change_names(folder: Path) -> None:
    import onnx

    model = onnx.load(folder / "model.onnx")
    for constant in model.graph.initializer:
        if constant.string_data:
            constant.string_data[:] = [*constant.string_data][::-1]
    onnx.save(model, folder / "model.onnx")


def change_kept(folder: Path) -> None:
    with np.load(folder / "proof.npz") as file:
        arrays = {name: file[name] for name in file.files}
    arrays["input images"] = 255 - arrays["input images"]
    np.savez(folder / "proof.npz", **arrays)


@pytest.mark.parametrize(
    ("change", "fault", "place"),
    [
        (change_preprocess, "reads samples otherwise than training did", "in preprocess.py"),
        (change_names, "answers are others than the model's", "behind the network"),
        (change_kept, "its scores differ by", "in the network"),
    ],
)
def test_what_is_broken_on_purpose_fails_its_proof(
    change: Callable[[Path], None], fault: str, place: str, exported: Path, tmp_path: Path, capsys: Captured
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(exported, broken)
    change(broken)
    assert any(fault in each for each in check(broken / "model.onnx", trust=True).faults)
    assert main(["verify", str(broken), "--trust"]) == 2  # its digest tells as well that it was changed
    proof = json.loads((broken / "proof.json").read_text())
    from training.verify.check import digest

    proof["files"] = {name: digest(broken / name) for name in proof["files"]}
    (broken / "proof.json").write_text(json.dumps(proof))
    capsys.readouterr()
    assert main(["verify", str(broken), "--trust"]) == 1
    assert f"The first difference lies {place}" in capsys.readouterr().err


class ShiftedWrongly(formats.Deployed):
    """With another normalization in front of the network than in training."""

    def __init__(self, bundle: Any) -> None:
        super().__init__(bundle)
        self.shift = -self.shift


class WeighedWrongly(formats.Deployed):
    """With other weights in its second convolution than the checkpoint."""

    def __init__(self, bundle: Any) -> None:
        super().__init__(bundle)
        self.model = copy.deepcopy(bundle.model)
        with torch.no_grad():
            self.model.get_submodule("3").get_parameter("weight").add_(0.01)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        (WeighedWrongly, "in 3 (Conv2d)"),
        pytest.param(ShiftedWrongly, "in the normalization in front of the network", marks=pytest.mark.slow),
    ],
)
def test_an_export_that_answers_otherwise_is_never_there_and_says_where_it_differs(
    wrong: type[formats.Deployed],
    place: str,
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    monkeypatch.setattr(formats, "Deployed", wrong)
    noted = read_exports(RunFolder(checkpoint.parent.parent))
    out = tmp_path / "deep" / "out"
    assert main(["export", str(checkpoint), "--to", "onnx", "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "its scores differ by" in said
    assert f"The first difference lies {place}, whose output differs by" in said
    assert "Nothing was exported" in said
    assert not out.parent.exists()
    assert read_exports(RunFolder(checkpoint.parent.parent)) == noted


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--to", "safetensors", "--quantize", "int8"], "is for onnx and openvino"),
        (["--to", "safetensors", "--threshold", "0.4"], "not for classification"),
        (["--to", "script", "--threshold", "0.4"], "--threshold: a script trains a model and holds none"),
        (["--to", "onnx", "--temperature", "warm"], 'must be a number, for example 1.5, or "auto"'),
        (["--to", "onnx", "--temperature", "1,2"], 'must be a number, for example 1.5, or "auto"'),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(
    words: list[str], sentence: str, checkpoint: Path, tmp_path: Path, capsys: Captured
) -> None:
    out = tmp_path / ("out.py" if "script" in words else "out")
    assert main(["export", str(checkpoint), "--out", str(out), *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_files_that_are_none_of_ours_are_told(exported: Path, tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "export"
    shutil.copytree(exported, folder)
    proof = json.loads((folder / "proof.json").read_text())
    cases: list[tuple[str, bytes | None, str]] = [
        ("proof.json", None, "is missing, so there is nothing to verify"),
        ("proof.json", b"[]", "is not what an export writes"),
        ("proof.json", json.dumps(proof | {"files": {"../x": ""}}).encode(), "which lies elsewhere"),
        ("proof.npz", None, "is missing or cannot be read"),
        ("model.onnx", b"no graph", "was changed or damaged since it was exported"),
    ]
    for name, content, sentence in cases:
        before = (folder / name).read_bytes()
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)
        assert main(["verify", str(folder)]) == 2
        assert sentence in capsys.readouterr().err
        (folder / name).write_bytes(before)
    assert main(["verify", str(tmp_path / "nothing.onnx")]) == 2
    assert "there is no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "kind",
    [
        "classification",
        "multi_label",
        "regression",
        "multi_task",
        "ranking",
        "language_model",
        "distillation",
        "segmentation",
        "embedding",
    ],
)
def test_the_worst_samples_of_a_checkpoint_are_found_before_it_is_evaluated_as_well(kind: str, tmp_path: Path) -> None:
    teacher = None
    if kind == "distillation":
        teacher = Path(str(start_run(small("classification", tmp_path / "t", *ONE_STEP), tmp_path).last_checkpoint))
    config = small(kind, tmp_path / "data", *ONE_STEP, teacher=teacher)
    checkpoint = Path(str(start_run(config, tmp_path).last_checkpoint))
    bundle = load_bundle(checkpoint)
    data = open_data(bundle, lambda text, fraction: None)
    assert isinstance(data, RealData)
    searched = find_worst(bundle, data, "validation", 3)
    evaluation = evaluate_checkpoint(checkpoint)
    known = find_worst(bundle, data, "validation", 3)
    count = len(data.splits["validation"])
    by = {"distillation": "cross-entropy", "embedding": "how much nearer another class is than their own"}.get(kind)
    assert searched.chosen == f"of {count}, by {by or 'loss'}"
    if kind == "embedding":  # which has no losses of its own
        assert known == searched
        return
    assert known.chosen == f"of the {count} evaluated, by loss"
    pairs = zip(evaluation.column("index").tolist(), evaluation.column("loss").tolist(), strict=True)
    losses = {number: loss for number, loss in pairs if not math.isnan(loss)}
    assert known.numbers == sorted(losses, key=losses.__getitem__, reverse=True)[:3]
    assert len(set(searched.numbers)) == 3
    if kind != "distillation":
        assert known.numbers == searched.numbers


def test_a_proof_has_the_worst_samples_of_a_checkpoint_that_nobody_evaluated(tmp_path: Path) -> None:
    made = ("dataset.kind=moons", "dataset.samples=800", "dataset.validation_fraction=0.5")
    config = small("classification", tmp_path, *made, "model.kind=mlp", *ONE_STEP)
    checkpoint = Path(str(start_run(config, tmp_path).last_checkpoint))
    assert main(["export", str(checkpoint), "--to", "safetensors", "--out", str(tmp_path / "out")]) == 0
    kept = read_kept(tmp_path / "out" / "proof.npz")
    evaluation = evaluate_checkpoint(checkpoint)
    worst = np.sort(np.asarray(evaluation.column("loss")))[::-1][:16]
    assert kept.chances is not None
    assert kept.targets is not None
    losses = -np.log(kept.chances[np.arange(len(kept)), kept.targets])
    np.testing.assert_allclose(np.sort(losses)[::-1][:16], worst, rtol=1e-4)
    (note,) = read_exports(RunFolder(checkpoint.parent.parent))
    assert note.proof is not None
    told = describe(note.proof.proof())
    assert told.startswith("On 256 samples of the validation part and the 16 worst of 400, by loss: largest difference")
    earlier = note.proof.model_copy(update={"drawn": None, "chosen": "", "p99": None, "worst": 2})
    words = f"On {len(kept) - 2} samples of the validation part and the 2 worst: largest difference of a score "
    assert describe(earlier.proof()).startswith(f"{words}{note.proof.max_difference:.3g}, 100%")


def test_a_model_without_its_data_says_that_it_was_proven_on_made_up_samples(tmp_path: Path, capsys: Captured) -> None:
    config = small("regression", tmp_path / "data", "loop.max_steps=1", "schedule.kind=constant")
    checkpoint = Path(str(start_run(config, tmp_path).last_checkpoint))
    (tmp_path / "data" / "table.csv").unlink()
    words = ["export", str(checkpoint), "--to", "safetensors", "--out", str(tmp_path / "out"), "--json"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "On 16 made-up samples" in told.err
    assert "It was not proven on the run's own samples: dataset.path:" in told.err
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out")]) == 2
    assert "Add --trust" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "out"), "--trust", "--json"]) == 0
    assert json_line(capsys)["part"] == ""


@pytest.mark.slow
def test_int8_is_smaller_and_answers_as_the_model(
    checkpoint: Path, exported: Path, tmp_path: Path, capsys: Captured
) -> None:
    words = ["export", str(checkpoint), "--to", "onnx", "--out", str(tmp_path / "int8"), "--quantize", "int8"]
    assert main(words) == 0
    proof = json.loads((tmp_path / "int8" / "proof.json").read_text())
    assert proof["dtype"] == "int8"
    assert proof["agreement"] >= 0.95  # below 0.995 with a warning: test_int8_verdict
    assert main(["verify", str(tmp_path / "int8")]) == 0
    assert "It passes its proof: in int8 answers may differ by this much." in capsys.readouterr().err
    (note, *_) = read_exports(RunFolder(checkpoint.parent.parent))
    assert note.quantized == "int8"
    import onnx

    kinds = {node.op_type for node in onnx.load(tmp_path / "int8" / "model.onnx").graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= kinds
    picture = io.BytesIO()
    Image.new("RGB", (40, 40), (200, 20, 20)).save(picture, "PNG")
    reading = run_path(str(tmp_path / "int8" / "preprocess.py"))
    session = onnxruntime.InferenceSession(str(tmp_path / "int8" / "model.onnx"))
    pixels = reading["read_image"](reading["load_facts"](), picture)
    assert session.run(["class"], {"images": pixels})[0].tolist() == ["red earth"]
