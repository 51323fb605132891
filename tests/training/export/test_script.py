"""The exported script trains like the engine: same losses, same weights, bit for bit on the processor."""

from __future__ import annotations

import ast
import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from tests.cases import first_of
from tests.training.export.comments import unknown_settings
from tests.training.export.conftest import CPU, Train
from tests.training.export.pasted import compare_pasted
from tests.training.tiny import tiny, tiny_images
from training.errors import InputError, TrainingError
from training.export import export_checkpoint, script
from training.export.bundle import load_bundle
from training.export.listings.listing import render_script
from training.runs.records.manifest import read_manifest
from training.runs.records.series import read_series

RUFF = str(Path(sys.executable).with_name("ruff"))  # itself: one Python less for each script
SHAPES = ("dataset.kind=shapes", "dataset.samples=120", "model.kind=small_cnn", "model.channels=[4, 4]")


def export(checkpoint: Path, out: Path) -> Path:
    result = export_checkpoint(checkpoint, "script", out)
    assert result.path == str(out)
    assert result.max_difference == 0.0
    config = read_manifest(checkpoint).config
    for file in result.files:
        if file.endswith(".py"):
            assert unknown_settings(Path(file).read_text(encoding="utf-8"), config) == []
    return out


def train_by_script(file: Path, out: Path, *arguments: str, save: Any = None) -> None:
    """Run the script's ``main`` here; ``save`` takes the place of its own."""
    threads, random_state = torch.get_num_threads(), torch.get_rng_state()
    argv, tf32, modules = sys.argv, torch.backends.cudnn.allow_tf32, set(sys.modules)
    names: dict[str, Any] = {"__name__": __name__, "__file__": str(file)}
    sys.path.insert(0, str(file.parent))  # as Python itself does
    try:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec", dont_inherit=True), names)
        if save is not None:
            names["replace_file"] = save(names["replace_file"])
        sys.argv = [str(file), "--out", str(out), "--device", "cpu", *arguments]
        names["main"]()
    finally:
        sys.argv = argv
        sys.path.remove(str(file.parent))
        for name in set(sys.modules) - modules:
            if name.endswith(f"_of_{file.stem}"):
                del sys.modules[name]  # another script has another
        torch.backends.cudnn.allow_tf32 = tf32
        torch.set_num_threads(threads)
        torch.set_rng_state(random_state)


def assert_same_run(checkpoint: Path, out: Path) -> None:
    """The script's numbers and last weights equal the engine's."""
    series = read_series(checkpoint.parent.parent / "series.bin")
    with (out / "steps.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(series) > 0
    assert [int(row["step"]) for row in rows] == series["step"].tolist()
    assert [int(row["epoch"]) for row in rows] == (series["epoch"] + 1).tolist()  # as show --csv has it
    assert [float(row["lr"]) for row in rows] == series["lr"].tolist()
    assert [float(np.float32(row["loss"])) for row in rows] == series["loss"].tolist()
    assert [float(np.float32(row["grad_norm"])) for row in rows] == series["grad_norm"].tolist()
    state = torch.load(out / "last.pt", weights_only=True)
    weights = load_file(checkpoint / "model.safetensors")
    assert state["model"].keys() == weights.keys()
    assert all(torch.equal(state["model"][name], tensor) for name, tensor in weights.items())
    if (checkpoint / "ema.safetensors").exists():
        averaged = load_file(checkpoint / "ema.safetensors")
        assert all(torch.equal(state["average"][name], tensor) for name, tensor in averaged.items())


def check_source(file: Path) -> None:
    """It is clean for ruff as ruff comes, imports nothing of ours, and what it has of ours is our very source."""
    compare_pasted(file.read_text(encoding="utf-8"))
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {name for name in imported if name.partition(".")[0] in ("training", "studio")}
    ruff = [RUFF, "check", "--isolated", "--no-cache", str(file)]
    done = subprocess.run(ruff, cwd=file.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("run", first_of(["spiral", "images", "resnet"], 2))
def test_script_repeats_the_run(run: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    checkpoint: Path = request.getfixturevalue(run)
    file = export(checkpoint, tmp_path / "new folder" / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")


def test_script_runs_as_a_program_of_its_own(spiral: Path, tmp_path: Path) -> None:
    file = export(spiral, tmp_path / "train.py")
    command = [sys.executable, file.name]
    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    assert "epoch 3/3  step 24/24" in first.stdout
    assert_same_run(spiral, tmp_path / "tiny-run")
    with pytest.raises(SystemExit, match="--resume"):
        train_by_script(file, tmp_path / "tiny-run")


@pytest.mark.parametrize("run", ["spiral", "images"])
def test_interrupted_script_goes_on_to_the_same_end(run: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    checkpoint: Path = request.getfixturevalue(run)
    file = export(checkpoint, tmp_path / "train.py")

    def stop_after_a_save_inside_an_epoch(save: Any) -> Any:
        def stopping(path: Path, write: Any) -> None:
            save(path, write)
            if path.name == "last.pt" and torch.load(path, weights_only=True)["progress"]["step"] in (6, 12):
                raise KeyboardInterrupt

        return stopping

    with pytest.raises(KeyboardInterrupt):
        train_by_script(file, tmp_path / "run", save=stop_after_a_save_inside_an_epoch)
    assert torch.load(tmp_path / "run" / "last.pt", weights_only=True)["progress"]["step"] in (6, 12)
    train_by_script(file, tmp_path / "run", "--resume")
    assert_same_run(checkpoint, tmp_path / "run")


def test_a_script_tells_of_an_older_scripts_checkpoint(spiral: Path, tmp_path: Path) -> None:
    file = export(spiral, tmp_path / "train.py")
    (tmp_path / "run").mkdir()
    torch.save({"model": {}, "optimizer": {}, "progress": {"step": 3}}, tmp_path / "run" / "last.pt")
    with pytest.raises(SystemExit, match=r"last\.pt is of another version of this script: choose another --out"):
        train_by_script(file, tmp_path / "run", "--resume")


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            (
                "optimizer.kind=sgd",
                "optimizer.lr=0.1",
                "loop.accumulation=4",
                "loop.clip_norm=0.5",
                "schedule.kind=cosine",
            ),
            id="sgd, accumulation with a short last window, clip, cosine",
        ),
        pytest.param(
            ("optimizer.kind=sgd", "optimizer.nesterov=false", "optimizer.momentum=0.0"), id="sgd, cycled momentum"
        ),
        pytest.param(
            (
                "optimizer.kind=adam",
                "optimizer.weight_decay=0.1",
                "optimizer.amsgrad=true",
                "optimizer.betas=[0.8, 0.9]",
            ),
            id="adam, amsgrad",
        ),
        pytest.param(
            ("loop.clip_norm=none", "schedule.kind=plateau", "schedule.patience=0", "checkpoints.monitor=val/loss"),
            id="no clip, plateau by loss",
        ),
        pytest.param(
            ("loop.clip_value=0.001", "loop.early_stopping_patience=1", "loop.validate_every_steps=2", "loop.epochs=6"),
            id="clip by value, early stopping",
        ),
        pytest.param(
            ("precision.compute=bf16", "loop.ema_decay=0.9", "loop.batch_size=239"), id="bf16, a batch of one joins"
        ),
        pytest.param(
            ("precision.compute=fp16", "objective.label_smoothing=0.1", "loop.max_steps=5"), id="fp16, scaler"
        ),
        pytest.param(
            (*SHAPES, "precision.channels_last=false", "checkpoints.every_steps=none", "optimizer.weight_decay=0.0"),
            id="shapes, channels first",
        ),
        pytest.param((*SHAPES, "dataset.flip=true", "dataset.noise=0.0", "seed=5"), id="shapes without noise, flip"),
    ],
)
def test_every_part_repeats_the_run(settings: tuple[str, ...], train: Train, tmp_path: Path) -> None:
    checkpoint = train(tiny(CPU, *settings))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")


def test_setting_that_was_emptied_stays_empty(train: Train, tmp_path: Path) -> None:
    file = export(train(tiny(CPU, "loop.clip_norm=none", "checkpoints.every_steps=none")), tmp_path / "train.py")
    text = file.read_text(encoding="utf-8")
    assert "CLIP_NORM" not in text
    assert "if epoch_ended or improved or finished:" in text


def test_given_validation_part_and_test_part(train: Train, idx_folder: Path, tmp_path: Path) -> None:
    checkpoint = train(tiny_images(idx_folder, CPU, "dataset.validation=test", "loop.epochs=1"))
    train_by_script(export(checkpoint, tmp_path / "train.py"), tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")


def write_folder(root: Path) -> Path:
    """Two classes in train and val, with everything a folder from a real disk holds."""
    generator = np.random.default_rng(0)
    for part, count in (("train", 12), ("val", 4)):
        for number, name in enumerate(("a cat", "dög")):
            folder = root / part / name / "deeper"
            folder.mkdir(parents=True)
            for index in range(count):
                size = (20 + index, 30, 3)
                pixels = (generator.integers(0, 120, size) + 130 * number).astype(np.uint8)
                mode = ("RGB", "L", "RGBA", "P", "CMYK", "LA")[index % 6]
                suffix = "jpg" if mode in ("RGB", "CMYK") else "png"
                Image.fromarray(pixels).convert(mode).save(folder.parent / f"{index:02}.{suffix}")
            wide = generator.integers(0, 65536, (24, 24), dtype=np.uint16)
            Image.fromarray(wide).save(folder / "wide.png")
            (folder / ".hidden.png").write_bytes(b"hidden")
            (folder / "empty.png").write_bytes(b"")
            (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff and no more")
            (folder / "notes.txt").write_text("notes")
    return root


@pytest.mark.parametrize("more", [(), ("dataset.validation=split", "dataset.color=grey"), ("dataset.image_size=10",)])
def test_image_folder(more: tuple[str, ...], train: Train, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "images")
    config = tiny_images(
        folder,
        CPU,
        "dataset.kind=image_folder",
        "dataset.image_size=16",
        "loop.batch_size=7",
        "schedule.warmup=0",
        *more,
    )
    checkpoint = train(config)
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")

    moved = folder.rename(tmp_path / "moved")
    train_by_script(file, tmp_path / "elsewhere", "--data", str(moved))
    assert_same_run(checkpoint, tmp_path / "elsewhere")
    with pytest.raises(InputError, match="The script is written from the dataset"):
        export(checkpoint, tmp_path / "second.py")


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("initial weights", "nn.Linear(16, 16)", "nn.Linear(16, 16, dtype=torch.float64).float()"),
        ("order of samples", "2**34 - 1", "2**30 - 1"),
        ("learning rates", "MAX_LR = 0.01", "MAX_LR = 0.02"),
        ("weight decay", "ndim > 1", "ndim > 2"),
        ("normalization", ".mul_(scale).add_(shift)", ".mul_(scale).sub_(shift)"),
        ("model", "nn.ReLU()", "nn.GELU()"),
    ],
)
def test_script_that_would_train_otherwise_is_not_written(
    part: str, old: str, new: str, spiral: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = render_script(load_bundle(spiral), "train.py")
    assert old in right
    monkeypatch.setattr(script, "render_script", lambda *_: right.replace(old, new))
    with pytest.raises(TrainingError, match=f"The script's {part} would differ"):
        export_checkpoint(spiral, "script", tmp_path / "new" / "train.py")
    assert list(tmp_path.iterdir()) == []
