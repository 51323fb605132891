"""Exported models answer like the checkpoint's, elsewhere too, and nothing foreign is ever overwritten."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from tests.training.export.test_script import check_source
from training.catalog.onnx_packages import ONNX_PACKAGES
from training.cli import main
from training.errors import CheckpointError, InputError, TrainingError
from training.export import export_checkpoint, loader
from training.export.bundle import load_bundle
from training.export.source import render_module
from training.protocol.messages import ExportRequest, Ready, Refusal, Reply
from training.runs.records.manifest import digest
from training.serve import serve

FORMATS = ("safetensors", "torch-export", "onnx")
SUFFIX = {"safetensors": ".safetensors", "torch-export": ".pt2", "onnx": ".onnx"}


BESIDE = {"README.md", "model.json", "model.py", "proof.json", "proof.npz"}


def names_of(to: str, reads_files: bool = False) -> set[str]:
    more = {"model.logits.onnx"} | ({"preprocess.py"} if reads_files else set()) if to == "onnx" else set()
    return {*BESIDE, f"model{SUFFIX[to]}", *more}


def facts_in(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return facts


@pytest.mark.parametrize(
    ("run", "to"),
    [
        ("images", "safetensors"),
        pytest.param("images", "onnx", marks=pytest.mark.slow),
        *(pytest.param("spiral", to, marks=pytest.mark.slow) for to in FORMATS),
        *(pytest.param("resnet", to, marks=pytest.mark.slow) for to in ("torch-export", "onnx")),
    ],
)
def test_model_py_answers_like_the_checkpoint(
    run: str, to: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    checkpoint: Path = request.getfixturevalue(run)
    result = export_checkpoint(checkpoint, to, tmp_path / "out")

    assert result.format == to
    assert result.path == str(tmp_path / "out" / f"model{SUFFIX[to]}")
    assert {Path(file).name for file in result.files} == names_of(to, run != "spiral")
    facts = facts_in(tmp_path / "out")
    assert facts["file"]["sha256"] == digest(Path(result.path))
    check_source(tmp_path / "out" / "model.py")
    elsewhere = run_path(str(tmp_path / "out" / "model.py"))
    model, facts = elsewhere["load_model"]()
    bundle = load_bundle(checkpoint)
    generator = torch.Generator().manual_seed(7)
    if run == "spiral":
        samples = torch.randn((5, 2), generator=generator)
    else:
        samples = torch.randint(0, 256, (5, *bundle.facts.shape), dtype=torch.uint8, generator=generator)
    expected = bundle.logits(samples)
    found = torch.as_tensor(elsewhere["logits"](model, facts, samples))
    if to == "safetensors":
        assert torch.equal(found, expected)
        assert result.max_difference < 1e-5
    else:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    best = expected.softmax(dim=1).max(dim=1)
    predicted = elsewhere["predict"](model, facts, samples)
    assert [name for name, _ in predicted] == [bundle.facts.names[place] for place in best.indices.tolist()]
    assert [chance for _, chance in predicted] == pytest.approx(best.values.tolist(), rel=1e-4)


def test_weights_can_be_used_in_a_process_that_cannot_import_us(images: Path, tmp_path: Path) -> None:
    export_checkpoint(images, "safetensors", tmp_path / "out")
    image = np.random.default_rng(0).integers(0, 256, (12, 12), dtype=np.uint8)
    Image.fromarray(image.astype(np.uint16) * 257).save(tmp_path / "image.png")  # 16 bits, scaled as for training
    code = (
        "import sys; sys.modules['training'] = None\n"
        "from out.model import load_model, logits, read_image\n"
        "model, facts = load_model()\n"
        "print(logits(model, facts, read_image(facts, 'image.png')).tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = load_bundle(images).logits(torch.from_numpy(image).view(1, 1, 12, 12))
    # Not to the bit: another process may use another number of threads.
    assert json.loads(done.stdout)[0] == pytest.approx(expected[0].tolist(), rel=1e-5)


def test_model_json_says_what_the_weights_are(images: Path, resnet: Path, tmp_path: Path) -> None:
    export_checkpoint(images, "safetensors", tmp_path / "averaged")
    facts = facts_in(tmp_path / "averaged")
    exported = load_file(tmp_path / "averaged" / "model.safetensors")
    averaged, raw = load_file(images / "ema.safetensors"), load_file(images / "model.safetensors")
    assert all(torch.equal(exported[name], averaged[name]) for name in averaged)
    assert not all(torch.equal(exported[name], raw[name]) for name in raw)
    assert facts["weights"]["averaged"] is True
    assert facts["classes"] == ["0", "1", "2", "3"]
    assert facts["input"]["shape"] == [1, 12, 12]
    assert facts["input"]["normalisation"]["done_by"] == "caller"
    assert {tensor["name"]: tensor["shape"] for tensor in facts["weights"]["tensors"]} == {
        name: list(tensor.shape) for name, tensor in exported.items()
    }
    assert facts["source"]["step"] == 12
    assert facts["source"]["config"]["optimizer"]["kind"] == "adamw"
    assert facts["architecture"]["kind"] == "small_cnn"

    export_checkpoint(resnet, "torch-export", tmp_path / "resnet")
    facts = facts_in(tmp_path / "resnet")
    assert facts["weights"]["averaged"] is False
    assert facts["input"]["normalisation"]["done_by"] == "model"
    assert facts["architecture"]["name"] == "resnet18"


def test_files_have_the_mode_that_the_umask_gives(spiral: Path, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        export_checkpoint(spiral, "safetensors", tmp_path / "out")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {0o640}


def copy_of(checkpoint: Path, folder: Path) -> Path:
    folder.mkdir()
    for path in checkpoint.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("to", ["safetensors", "torch-export", "script"])
def test_damaged_checkpoint_is_refused_and_nothing_written(spiral: Path, tmp_path: Path, to: str) -> None:
    checkpoint = copy_of(spiral, tmp_path / "step-00000024")
    content = bytearray((checkpoint / "model.safetensors").read_bytes())
    content[-5] ^= 1
    (checkpoint / "model.safetensors").write_bytes(content)
    out = tmp_path / "new" / "deep" / ("out.py" if to == "script" else "out")
    with pytest.raises(CheckpointError, match=r"model\.safetensors does not match its digest"):
        export_checkpoint(checkpoint, to, out)
    assert not (tmp_path / "new").exists()


def test_file_that_the_manifest_does_not_name_is_not_exported(spiral: Path, tmp_path: Path) -> None:
    checkpoint = copy_of(spiral, tmp_path / "step-00000024")
    (checkpoint / "ema.safetensors").write_bytes(b"planted")
    export_checkpoint(checkpoint, "safetensors", tmp_path / "out")
    assert facts_in(tmp_path / "out")["weights"]["averaged"] is False


def test_named_file_gets_model_json_beside_it_and_can_be_exported_again(spiral: Path, tmp_path: Path) -> None:
    out = tmp_path / "made on the way" / "net.safetensors"
    for _ in range(2):
        export_checkpoint(spiral, "safetensors", out)
        assert {path.name for path in out.parent.iterdir()} == {*BESIDE, "net.safetensors"}
    notes = out.parent / "notes.txt"
    notes.write_text("mine")
    export_checkpoint(spiral, "safetensors", out)
    assert notes.read_text() == "mine"
    with pytest.raises(InputError, match=r"describes net\.safetensors"):
        export_checkpoint(spiral, "safetensors", out.with_name("other.safetensors"))
    with pytest.raises(InputError, match=r"describes net\.safetensors"):
        export_checkpoint(spiral, "torch-export", out.parent)


def test_nothing_foreign_is_overwritten(spiral: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "model.json").write_text('{"format": "of someone else"}')
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    (lonely / "net.safetensors").write_bytes(b"someone's weights")
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("years of work")
    file = tmp_path / "file"
    file.write_text("a file")
    script = tmp_path / "train.py"
    script.write_text("print('mine')\n")
    cases = [
        ("safetensors", foreign, "not an export of ours"),
        ("safetensors", lonely / "net.safetensors", "there already"),
        ("safetensors", full, "holds other files"),
        ("safetensors", file, "a file is in the way"),
        ("safetensors", file / "below", "a file is in the way|cannot be written"),
        ("safetensors", tmp_path / "net.pt", "must be a folder or end in .safetensors"),
        ("script", script, "not an export of ours"),
        ("script", full, "must end in .py"),
        ("script", file / "train.py", "cannot be written"),
        ("pickle", full, "unknown format"),
    ]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for to, out, message in cases:
        with pytest.raises(InputError, match=message):
            export_checkpoint(spiral, to, out)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_empty_folder_is_filled(spiral: Path, tmp_path: Path) -> None:
    (tmp_path / "chosen").mkdir()
    export_checkpoint(spiral, "safetensors", tmp_path / "chosen")
    assert {path.name for path in (tmp_path / "chosen").iterdir()} == names_of("safetensors")


@pytest.mark.parametrize("error", [1e-3, float("nan")])
def test_export_that_answers_otherwise_is_not_kept(
    error: float, spiral: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = tmp_path / "earlier"
    export_checkpoint(spiral, "safetensors", earlier)
    before = {path.name: path.read_bytes() for path in earlier.iterdir()}
    more = f"\nright = logits\n\n\ndef logits(*given):\n    return right(*given) + float('{error}')\n"
    monkeypatch.setattr(loader, "render_module", lambda *given: render_module(*given) + more)
    for out in (earlier, tmp_path / "new" / "out"):
        with pytest.raises(TrainingError, match="its scores differ by"):
            export_checkpoint(spiral, "safetensors", out)
    assert {path.name: path.read_bytes() for path in earlier.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["earlier"]


@pytest.mark.parametrize("fault", ["missing", "broken"])
def test_an_installation_without_onnx_is_told_in_words_for_terminal_and_window(
    spiral: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    if fault == "missing":
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        why = "has no onnxruntime."
    else:
        monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
        broken = tmp_path / "packages" / "onnxruntime"
        broken.mkdir(parents=True)
        (broken / "__init__.py").write_text('raise ImportError("libfoo.so: cannot open shared object file")\n')
        monkeypatch.syspath_prepend(broken.parent)
        why = "cannot load onnxruntime: libfoo.so: cannot open shared object file."
    assert main(["export", str(spiral), "--to", "onnx", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"ONNX cannot be written: the Python that trains ({sys.executable}) {why} Install Trainwright"
    )
    assert "choose another format" in said
    assert "--to" not in said
    assert "pip" not in said
    assert not (tmp_path / "out").exists()
    replies: list[Reply] = []
    serve([ExportRequest(checkpoint=spiral, to="onnx", out=tmp_path / "out")], replies.append)
    ready, refusal = replies
    assert isinstance(ready, Ready)
    assert ("onnx" in ready.unwritable) is (fault == "missing")  # known beforehand, without loading anything
    assert isinstance(refusal, Refusal)
    assert f"{refusal.message}\n" == said


@pytest.mark.slow
def test_onnx_is_installed_with_the_engine_and_loaded_by_nobody_else() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {re.split(r"[>=<;]", wanted)[0].strip() for wanted in project["optional-dependencies"]["engine"]}
    assert set(ONNX_PACKAGES) <= named
    code = (
        "import sys, training.cli, training.export; from training.serve import serve; serve([], lambda reply: None);"
        f"print(set({ONNX_PACKAGES}) & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.strip() == "set()"
