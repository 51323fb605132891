"""The short script of a run: short, clean, and the same training."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional

from tests.reliability.preset_data import make_data
from tests.reliability.preset_tutorials import MOST_LINES
from tests.training.tiny import tiny, tiny_images, write_idx
from tests.training.tutorial.scripts import best_metric, complaints, run, write, write_trees
from training import tutorial
from training.cli import main
from training.config import RunConfig
from training.config.run import alternatives
from training.config.sections.data.tables import TableSection
from training.config.sections.pretrained import TorchvisionModel
from training.core.losses import dice_loss, pixel_binary_cross_entropy, sigmoid_probabilities
from training.data.sources import open_source
from training.data.tables.table_preview import preview_table
from training.engine.runs.run import start_run
from training.errors import InputError
from training.presets import load_preset, preset_names
from training.tutorial.script import write_short_script

SPIRAL = ("model.dropout=0", "loop.epochs=12", "precision.device=cpu")


@pytest.mark.slow
def test_trains_as_well_as_the_run(tmp_path: Path) -> None:
    script = write(tiny(*SPIRAL), tmp_path / "out")
    assert not complaints(script)
    runs = [start_run(tiny(*SPIRAL, f"seed={seed}"), tmp_path / str(seed)) for seed in range(3)]
    found = [float(record.best.value) for record in runs if record.best is not None]
    spread = max(found) - min(found)
    assert min(found) - spread - 0.05 <= best_metric(run(script)) <= max(found) + spread + 0.05


@pytest.mark.slow
def test_of_several_targets_trains_as_well_as_the_run(tmp_path: Path) -> None:
    config = write_trees(tmp_path, "objective.weights=[1, 2, 0.5, 1]", *SPIRAL)
    script = write(config, tmp_path / "out")
    assert not complaints(script)
    assert len(script.read_text().splitlines()) <= MOST_LINES
    losses = []
    for seed in range(3):
        dataset = config.dataset.model_copy(update={"split_seed": seed})
        record = start_run(config.model_copy(update={"seed": seed, "dataset": dataset}), tmp_path / str(seed))
        assert record.best is not None
        losses.append(float(record.best.value))
    spread = max(losses) - min(losses)
    told = run(script)
    assert min(losses) - spread - 0.05 <= best_metric(told) <= max(losses) + spread + 0.05
    assert len(re.findall(r"[\d.]+", told.splitlines()[-2].partition("by target [")[2].partition("]")[0])) == 4


def test_of_several_targets_is_judged_by_their_loss(tmp_path: Path) -> None:
    script = write_short_script(write_trees(tmp_path, "checkpoints.monitor=val/kind/accuracy"), "script.py")
    assert "* val/kind/accuracy, which the run is judged by: here it is the Loss" in script.text
    assert "if val_loss < best:" in script.text


@pytest.mark.slow
def test_resumes_where_it_was_stopped(tmp_path: Path) -> None:
    whole = write(tiny("loop.epochs=2", "precision.device=cpu", "schedule.kind=constant"), tmp_path / "whole")
    part = tmp_path / "part" / "script.py"
    part.parent.mkdir()
    assert "in range(first, 2):" in whole.read_text()
    part.write_text(whole.read_text().replace("in range(first, 2):", "in range(first, 1):"))
    (part.parent / "script_data.npz").write_bytes((whole.parent / "script_data.npz").read_bytes())
    run(whole)
    run(part)
    part.write_text(whole.read_text())
    run(part, "--resume")
    ends = [torch.load(script.with_name("script-last.pt"), weights_only=True) for script in (whole, part)]
    assert all(torch.equal(ends[0]["model"][name], ends[1]["model"][name]) for name in ends[0]["model"])


@pytest.mark.slow
def test_trains_on_images_with_everything_on(tmp_path: Path) -> None:
    config = tiny_images(write_idx(tmp_path / "idx"), "loop.epochs=8", "precision.device=cpu")
    script = write(config, tmp_path / "out")
    assert not complaints(script)
    record = start_run(config, tmp_path / "runs")
    assert record.best is not None
    assert abs(best_metric(run(script)) - float(record.best.value)) < 0.15


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            "schedule.kind=linear",
            "LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=EPOCHS * len(train_loader))",
        ),
        ("schedule.kind=plateau", "ReduceLROnPlateau("),
        ("schedule.kind=wsd", "lr_scheduler.LambdaLR("),
        ("schedule.every=epoch", "OneCycleLR(optimizer, max_lr=0.01, total_steps=EPOCHS)"),
        ("optimizer.kind=muon", "torch.optim.Muon(matrices"),
        ("optimizer.kind=sgd", "torch.optim.SGD("),
        ("precision.compute=fp16", "torch.amp.GradScaler("),
        ("precision.compute=fp16", "scaler.step(optimizer)"),  # leaves out a step whose gradients are not finite
        ("loop.early_stopping_patience=3", "if waited == 3:"),
        ("loader.sampling=balanced", "WeightedRandomSampler("),
        ("precision.threads=1", "torch.set_num_threads(1)"),
        ("loop.swa_start=0.75", "* loop.swa_start = 0.75"),
        ("optimizer.layer_decay=0.9", "* optimizer.layer_decay = 0.9"),
    ],
)
def test_says_a_setting_or_lists_it(setting: str, words: str, tmp_path: Path) -> None:
    changed = tiny(setting) if "schedule.kind" not in setting else _with_schedule(setting)
    script = write_short_script(changed, "script.py")
    assert words in script.text
    (tmp_path / "script.py").write_text(script.text)
    assert not complaints(tmp_path / "script.py")


def _with_schedule(setting: str) -> RunConfig:
    config = tiny()
    return config.model_copy(update={"schedule": tiny_schedule(setting.partition("=")[2])})


def tiny_schedule(kind: str) -> object:
    return alternatives("schedule")[kind]()


def test_arrays_may_be_called_as_settings_are(tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    np.savez(tmp_path / "data.npz", DATA=inputs, SEED=(inputs[:, 0] > 0).astype(np.int64))
    named = ("dataset.inputs=DATA", "dataset.targets=SEED", "name=EPOCHS")
    config = tiny("dataset.kind=npz", f"dataset.path={tmp_path / 'data.npz'}", *named)
    text = write_short_script(config, "script.py").text
    assert text.startswith('"""EPOCHS: ')
    assert 'in ("DATA", "SEED"))' in text


def test_a_script_that_was_worked_on_stays_beside_the_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, kept = tmp_path / "spiral.py", tmp_path / "spiral.py.bak"
    words = ["export", "preset:spiral", "--to", "tutorial", "--out", str(out)]
    for _ in range(2):
        assert main(words) == 0
    assert not kept.exists()  # the same text again
    mine = out.read_text() + "# mine\n"
    out.write_text(mine)
    assert main(words) == 0
    assert kept.read_text() == mine
    assert "# mine" not in out.read_text()
    assert "The script that was there is spiral.py.bak now." in capsys.readouterr().err


def test_refuses_by_name_what_it_cannot_say() -> None:
    config = tiny()
    weights = config.model_copy(update={"model": _torchvision_with_weights()})
    with pytest.raises(InputError, match=r"^model\.weights"):
        write_short_script(weights, "script.py")


def test_has_the_columns_of_the_run_and_refuses_dates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = [f"{i * 41 % 400};{i * 37 % 151};{i * 7 % 120}" for i in range(120)]  # by its name, by chance; a rank
    lines = [
        f"{i};7;Ä {i};{'äöü'[i % 3]};{i * 3 % 11},5;{each};2024-05-{i % 28 + 1:02};{i % 2}"
        for i, each in enumerate(named)
    ]
    table = tmp_path / "t.csv"
    table.write_bytes("\n".join(["id;same;who;maß;size;shopId;ticket;rank;day;y", *lines]).encode("cp1252"))
    sections = ("dataset.kind=table", f"dataset.path={table}", 'dataset.keep_columns=["same"]', "model.kind=tabular")
    config = tiny(*sections, "loop.epochs=1", "precision.device=cpu")
    with pytest.raises(
        InputError, match=r"^dataset\.features: column 'day' holds dates or times, which the short script"
    ) as refused:
        write(config, tmp_path)
    assert isinstance(config.dataset, TableSection)
    assert preview_table(config.dataset).unread == str(refused.value)  # what the window says beside its forms
    config = tiny(*sections, "loop.epochs=1", "precision.device=cpu", 'dataset.ignored=["day"]')
    script = write(config, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    names = runpy.run_path(str(script))
    assert tuple(names["features"]) == open_source(config.dataset).columns == ("same", "maß", "size", "rank")
    assert names["numbers"][:, 1].tolist() == [i * 3 % 11 + 0.5 for i in range(120)]
    with pytest.raises(InputError, match=r"^dataset\.high_cardinality: the short script hashes no texts"):
        write_short_script(tiny(*sections, "dataset.high_cardinality=hash"), "script.py")


def test_refuses_the_task_that_it_has_no_template_for() -> None:
    with pytest.raises(InputError, match=r"^objective\.kind: the short script does not say embedding"):
        write_short_script(tiny("objective.kind=embedding"), "script.py")


def test_refuses_several_targets_of_images(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("file,shade,level\n0.png,light,0.5\n")
    where = ("dataset.kind=image_table", f"dataset.path={tmp_path / 'labels.csv'}", "dataset.task=tasks")
    named = ('dataset.targets=["shade", "level"]', "objective.kind=multi_task", "model.kind=small_cnn")
    config = tiny(*where, *named, "model.hidden=8")
    with pytest.raises(InputError, match=r"^dataset\.kind: the short script reads several targets from a table only"):
        write_short_script(config, "script.py")


def test_its_templates_have_450_lines_together() -> None:
    texts = [path.read_text() for path in (Path(tutorial.__file__).parent / "templates").glob("*.jinja")]
    assert sum(len(text.splitlines()) for text in texts) <= 450


def test_refuses_to_keep_some_of_the_classes(tmp_path: Path) -> None:
    config = tiny(
        "dataset.kind=image_folder", f"dataset.path={tmp_path}", "dataset.classes=a, b", "model.kind=small_cnn"
    )
    with pytest.raises(InputError, match=r"^dataset\.classes: the short script reads all classes"):
        write_short_script(config, "script.py")


def _torchvision_with_weights() -> object:
    return TorchvisionModel(weights="weights.pth")


def test_is_made_without_torch() -> None:
    code = (
        "import sys; from training.presets import load_preset; from training.tutorial.script import write_short_script\n"
        "write_short_script(load_preset('sample', []), 'script.py'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_writes_a_preset_from_the_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "training", "export", "preset:spiral", "--to", "tutorial"]
    told = subprocess.run([*command, "--out", str(tmp_path / "short.py")], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["short.py", "short_data.npz"]
    assert len((tmp_path / "short.py").read_text().splitlines()) <= 150


def test_a_preset_has_no_weights_to_export(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "training", "export", "preset:spiral", "--to", "script"]
    told = subprocess.run([*command, "--out", str(tmp_path / "train.py")], capture_output=True, text=True)
    assert told.returncode == 2
    assert told.stderr.startswith("preset:spiral: a configuration holds no weights yet")
    assert "--to tutorial" in told.stderr
    assert not list(tmp_path.iterdir())


def test_the_smallest_has_65_lines_from_top_to_bottom() -> None:
    script = write_short_script(load_preset("spiral", []), "script.py")
    assert script.own <= 65
    assert len(script.text.splitlines()) <= 68  # with its network
    assert "def " not in script.text
    workers = write_short_script(load_preset("sample", []), "script.py")
    assert workers.text.endswith('if __name__ == "__main__":\n    main()\n')


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(preset_names()) - {"distillation"}))
def test_no_preset_has_more_than_150_lines(name: str, tmp_path: Path) -> None:
    config = load_preset(name, make_data(name, tmp_path), trust=True)
    assert write_short_script(config, "script.py").own <= MOST_LINES


@pytest.mark.slow  # its teacher is trained first
def test_distillation_has_not_more_than_150_lines(tmp_path: Path) -> None:
    config = load_preset("distillation", make_data("distillation", tmp_path))
    assert write_short_script(config, "script.py").own <= MOST_LINES


def write_masks(folder: Path) -> Path:
    """Ten images of 16 x 16 with a bright square, and masks of it."""
    draws = np.random.default_rng(0)
    for part in ("images", "masks"):
        (folder / part).mkdir(parents=True)
    for number in range(10):
        mask = np.zeros((16, 16), np.uint8)
        mask[number % 8 : number % 8 + 8, 4:12] = 1
        image = draws.integers(0, 90, (16, 16, 3), np.uint8) + 120 * mask[..., None]
        Image.fromarray(image).save(folder / "images" / f"{number}.png")
        Image.fromarray(mask).save(folder / "masks" / f"{number}.png")
    return folder


@pytest.mark.slow
def test_one_logit_for_two_classes_is_dice_and_binary_cross_entropy(tmp_path: Path) -> None:
    cut = ["dataset.flip=false", "dataset.resized_crop_scale=1.0", "loop.max_steps=2", "schedule.kind=constant"]
    small = ["model.depth=1", "model.width=4", "objective.loss=dice_bce", "objective.dice_weight=0.3", "loop.epochs=2"]
    given = [f"dataset.path={write_masks(tmp_path / 'data')}", "precision.device=cpu", "precision.compute=bf16"]
    config = load_preset("segmentation", [*given, *cut, *small])
    script = write(config, tmp_path / "out")
    assert not complaints(script)
    run(script)
    told: dict[str, Any] = runpy.run_path(str(script))
    made = torch.load(script.with_name("script-last.pt"), weights_only=True)["model"]
    assert [len(weight) for weight in made.values() if weight.ndim == 4][-1] == 1  # one logit
    logits, masks = torch.randn(3, 1, 5, 7), torch.randint(0, 2, (3, 5, 7))
    masks[0, :2] = 255
    known = masks.where(masks != 255, -100)
    dice = dice_loss(logits, known, sigmoid_probabilities, 1.0) / 3
    pixels = pixel_binary_cross_entropy(logits, known) / (known != -100).sum()
    found = told["dice_loss"](functional.pad(logits, (0, 0, 0, 0, 1, 0)), masks)
    torch.testing.assert_close(found, 0.3 * dice + 0.7 * pixels)
