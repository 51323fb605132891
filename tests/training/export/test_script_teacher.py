"""Scripts of runs that distil: the teacher goes with them, and they learn from it to the bit what the run learned."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.export.test_script_tasks import assert_same_score
from tests.training.tiny import tiny, tiny_images
from training.config import consent
from training.errors import InputError, TrainingError
from training.export import export_checkpoint, script
from training.export.bundle import load_bundle
from training.export.listings.listing import render_script

OWN = '''"""A teacher of one's own."""

import math

from torch import nn


class Own(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.body, self.head = nn.Linear(features, 8), nn.Linear(8, classes)

    def forward(self, x):
        return self.head(nn.functional.dropout(self.body(x).tanh() * math.sqrt(2), 0.5, self.training)).double()


def build(features: int, classes: int):
    return Own(features, classes)
'''
SHORT = (CPU, "loop.max_steps=6", "checkpoints.every_steps=2", "objective.kind=distillation")


@pytest.fixture(scope="module")
def taught(train: Train) -> Path:
    """A network of other sizes that saw other samples, so that it knows its inputs by other numbers."""
    return train(tiny(CPU, "loop.epochs=1", "model.hidden=[24]", "dataset.validation_fraction=0.5"))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The settings of a teacher in a Python file, its weights as torch.save wraps them."""
    file, weights = tmp_path / "clever.py", tmp_path / "clever.pt"
    file.write_text(OWN, encoding="utf-8")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setattr(consent, "_store", lambda: tmp_path / "trusted.json")
    consent.agree(digest, str(file))
    drawn = torch.Generator().manual_seed(3)
    shapes = {"body.weight": (8, 2), "body.bias": (8,), "head.weight": (3, 8), "head.bias": (3,)}
    state = {f"module.{name}": torch.randn(shape, generator=drawn) for name, shape in shapes.items()}
    torch.save({"state_dict": state}, weights)
    return (
        f"objective.teacher={file}",
        f"objective.teacher_trusted={digest}",
        f"objective.teacher_weights={weights}",
        "objective.teacher_inputs=plain",
    )


@pytest.mark.slow
def test_checkpoint_teaches_images_that_are_varied_and_mixed(train: Train, idx_folder: Path, tmp_path: Path) -> None:
    short = ("schedule.warmup=0", "loop.epochs=1")
    teacher = train(tiny_images(idx_folder, CPU, *short, "dataset.validation_fraction=0.4"))
    mixing = ("dataset.mixup_alpha=0.4", "checkpoints.monitor=val/agreement")
    checkpoint = train(tiny_images(idx_folder, *SHORT, *mixing, f"objective.teacher={teacher}"))
    file = export(checkpoint, tmp_path / "exported" / "my-train.py")
    check_source(file)
    away = Path(shutil.move(file.parent, tmp_path / "away"))  # where nothing of the run lies
    command = [sys.executable, str(away / file.name), "--out", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert_same_run(checkpoint, tmp_path / "run")
    assert "Teacher agreement" in done.stdout
    assert_same_score(checkpoint, done.stdout)


def test_own_network_teaches(own: tuple[str, ...], train: Train, tmp_path: Path) -> None:
    told = ("objective.temperature=2.5", "objective.alpha=0.4", "precision.compute=bf16")
    checkpoint = train(tiny(*SHORT, *own, *told))
    file = export(checkpoint, tmp_path / "learn.py")
    check_source(file)
    check_source(file.with_name("teacher_of_learn.py"))
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")

    (tmp_path / "clever.py").write_text(OWN.replace("tanh", "relu"), encoding="utf-8")
    with pytest.raises(InputError, match=r"^objective\.teacher_trusted: the file clever\.py has changed"):
        export_checkpoint(checkpoint, "script", tmp_path / "second" / "train.py")
    assert not (tmp_path / "second").exists()


def test_script_that_would_learn_otherwise_is_not_written(taught: Path, train: Train, tmp_path: Path) -> None:
    checkpoint = train(tiny(*SHORT, f"objective.teacher={taught}"))
    bundle = load_bundle(checkpoint)
    (teacher,) = script.render_beside(bundle, "train.py")
    right = render_script(bundle, "train.py", [teacher])
    script.prove_script(bundle, right, [teacher])
    for old, new, part in (
        ("/ their_std", "* their_std", "teacher"),
        ("alpha * temperature**2", "alpha * temperature", "loss or metric"),
    ):
        assert old in right
        with pytest.raises(TrainingError, match=f"The script's {part} would differ"):
            script.prove_script(bundle, right.replace(old, new), [teacher])
    other = teacher._replace(text=teacher.text.replace("nn.ReLU()", "nn.Tanh()"))
    with pytest.raises(TrainingError, match="The script's teacher would differ"):
        script.prove_script(bundle, right, [other])


def test_teacher_that_is_gone_or_in_the_way(taught: Path, train: Train, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen" / "checkpoints" / "step"
    shutil.copytree(taught, chosen)
    checkpoint, out = train(tiny(*SHORT, f"objective.teacher={chosen}")), tmp_path / "out" / "train.py"
    export(checkpoint, out)
    export(checkpoint, out)  # over itself
    for name in ("teacher_of_train.py", "teacher_of_train.pt"):
        theirs = tmp_path / name
        theirs.write_text("mine")
        with pytest.raises(InputError, match=f"{name}: is there already and not an export of ours"):
            export_checkpoint(checkpoint, "script", tmp_path / "train.py")
        theirs.unlink()
    shutil.rmtree(chosen)
    with pytest.raises(InputError, match=r"^objective\.teacher"):
        export_checkpoint(checkpoint, "script", tmp_path / "train.py")
    assert not [*tmp_path.glob("*.p*")]
