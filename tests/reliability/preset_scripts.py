"""The exported script of every preset: does it repeat the run to the bit, with a resume between, and how long is it?

    python -m tests.reliability.preset_scripts [--only NAMES] [--steps 30] [--lines] [--tutorial]

Each preset is trained on small data made on the spot, cut to --steps steps, and exported; its script is stopped after a save,
resumed to its end and compared with the run: series and weights. --lines exports after two steps and only counts lines: of the same
file in another checkout (PYTHONPATH) it gives the lines before a change. Known weights (resnet) are not fetched;
resnet and vit see images of 64 x 64.

--tutorial: the short script of each preset instead, its lines beside the network, what ruff has against it, and its best metric
beside that of the run with three seeds; both are cut to --steps steps.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from tests.training.export.test_script import assert_same_run, train_by_script
from tests.training.tiny import write_idx
from tests.training.tutorial.scripts import best_metric, complaints, run, write
from training.engine.runs.run import start_run
from training.export import export_checkpoint
from training.presets import load_preset, preset_names, preset_text
from training.tutorial.script import write_short_script

NETWORK = """from torch import nn


def build(channels: int, classes: int):
    return nn.Sequential(nn.Conv2d(channels, 8, 3, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, classes))
"""


def write_images(folder: Path, side: int = 48) -> Path:
    """Four classes of thirty."""
    draws = np.random.default_rng(0)
    for number in range(120):
        place = folder / f"class {number % 4}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = draws.integers(0, 128, (side, side, 3), np.uint8)
        pixels[:, :, number % 4 % 3] += 60 + 10 * (number % 4)
        Image.fromarray(pixels).save(place / f"{number:03}.png")
    return folder


def write_labels(folder: Path) -> Path:
    files = sorted(write_images(folder / "images").rglob("*.png"))
    names = ("red", "green", "blue")
    rows = [f"{file.relative_to(folder)},{' '.join(names[: index % 4])}" for index, file in enumerate(files)]
    (folder / "labels.csv").write_text("\n".join(["file,labels", *rows]))
    return folder / "labels.csv"


def write_masks(folder: Path) -> Path:
    draws = np.random.default_rng(0)
    for part in ("images", "masks"):
        (folder / part).mkdir(parents=True)
    for number in range(30):
        classes = np.zeros((64, 64), np.uint8)
        classes[number : number + 24, 8 : 40 + number] = 1 + number % 2
        pixels = draws.integers(0, 100, (64, 64, 3), np.uint8) + 50 * classes[..., None]
        Image.fromarray(pixels).save(folder / "images" / f"{number:02}.png")
        Image.fromarray(classes).save(folder / "masks" / f"{number:02}.png")
    return folder


def write_rows(file: Path, target: str) -> Path:
    draws = np.random.default_rng(0)
    numbers = draws.normal(size=(2000, 3))
    kinds = [("low", "middle", "high")[int(value)] for value in draws.integers(0, 3, 2000)]
    ends = (
        numbers.sum(1)
        if target == "value"
        else [("no", "perhaps", "yes")[int(row.sum() > 0) + (row[0] > 1)] for row in numbers]
    )
    lines = [
        f"{','.join(f'{number:.4f}' for number in row)},{kind},{end}"
        for row, kind, end in zip(numbers, kinds, ends, strict=True)
    ]
    file.write_text("\n".join([f"one,two,three,kind,{target}", *lines]))
    return file


def write_queries(file: Path) -> Path:
    draws = np.random.default_rng(0)
    lines = ["query,first,second,relevance"]
    for query in range(300):
        for row in draws.normal(size=(6, 2)):
            lines.append(f"q{query},{row[0]:.4f},{row[1]:.4f},{int(np.clip(row[0] + 1, 0, 3))}")
    file.write_text("\n".join(lines))
    return file


def overrides(name: str, folder: Path) -> list[str]:
    """What the preset is given beside the number of steps."""
    if name.startswith(("lab-", "mnist")):
        return [f"dataset.path={write_idx(folder / 'idx', 1200, 28)}"]
    if name == "distillation":
        data = f"dataset.path={write_idx(folder / 'idx', 1200, 28)}"
        teacher = start_run(
            load_preset("mnist", [data, "loop.max_steps=5", "precision.device=cpu"]), folder / "teacher"
        )
        return [data, f"objective.teacher={teacher.last_checkpoint}"]
    if name == "gpt":
        (folder / "text.txt").write_text(
            "".join(f"{line}. To be or not to be, that is question {line % 7}.\n" for line in range(4000))
        )
        return [f"dataset.path={folder / 'text.txt'}"]
    if name.startswith("table-"):
        target = "value" if name == "table-values" else "answer"
        return [f"dataset.path={write_rows(folder / 'rows.csv', target)}", f"dataset.targets={target}"]
    if name == "labels":
        return [f"dataset.path={write_labels(folder)}", "dataset.targets=labels"]
    if name == "ranking":
        return [f"dataset.path={write_queries(folder / 'results.csv')}", "dataset.targets=relevance"]
    if name == "segmentation":
        return [f"dataset.path={write_masks(folder / 'masks')}"]
    if name == "own-network":
        (folder / "network.py").write_text(NETWORK)
        return [f"dataset.path={write_images(folder / 'images')}", f"model.path={folder / 'network.py'}"]
    if name == "resnet":
        return [
            f"dataset.path={write_images(folder / 'images')}",
            "model.pretrained=",
            "optimizer.freeze=off",
            "optimizer.unfreeze_epoch=none",
            "dataset.image_size=64",
        ]
    if name == "vit":
        return [f"dataset.path={write_images(folder / 'images')}", "dataset.image_size=64", "loop.batch_size=32"]
    if name in ("pictures", "cifar10"):
        return [f"dataset.path={write_images(folder / 'images')}"]
    return []


def examine(name: str, steps: int, repeat: bool, folder: Path) -> str:
    """Lines of the preset's script, and whether it repeats the run."""
    save = max(1, steps // 2)
    cut = [f"loop.max_steps={steps}", "loop.epochs=1000", f"checkpoints.every_steps={save}", "precision.device=cpu"]
    settings = [*overrides(name, folder), *cut]
    if (warmup := re.search(r"^warmup = (\d+)", preset_text(name), re.MULTILINE)) is not None:
        settings.append(f"schedule.warmup={min(int(warmup[1]), steps // 2)}")
    config = load_preset(name, settings, trust=True)
    checkpoint = Path(str(start_run(config, folder / "runs").last_checkpoint))
    file = folder / "script.py"
    export_checkpoint(checkpoint, "script", file)
    text = f"{name:<18} {len(file.read_text().splitlines()):>5} lines"
    if not repeat:
        return text

    def stopping(replace: Any) -> Any:
        def stop(path: Path, write: Any) -> None:
            replace(path, write)
            if path.name == "last.pt" and torch.load(path, weights_only=True)["progress"]["step"] < steps:
                raise KeyboardInterrupt

        return stop

    try:
        with redirect_stdout(io.StringIO()):
            train_by_script(file, folder / "out", save=stopping)
    except KeyboardInterrupt:
        with redirect_stdout(io.StringIO()):
            train_by_script(file, folder / "out", "--resume")
    else:
        raise AssertionError("the script was not stopped")
    assert_same_run(checkpoint, folder / "out")
    return f"{text}   repeats its {steps} steps to the bit"


def examine_tutorial(name: str, steps: int, folder: Path) -> str:
    """Lines of the preset's short script, and whether it ends as the run does. Raises AssertionError where it does not."""
    cut = [f"loop.max_steps={steps}", "loop.epochs=1000", "checkpoints.every_steps=", "precision.device=cpu"]
    settings = [*overrides(name, folder), *cut]
    if (warmup := re.search(r"^warmup(?:_steps)? = (\d+)", preset_text(name), re.MULTILINE)) is not None:
        settings.append(f"schedule.warmup={min(int(warmup[1]), steps // 2)}")
    config = load_preset(name, settings, trust=True)
    own = write_short_script(config, "script.py").own
    script = write(config, folder / "tutorial")
    found = complaints(script)
    assert not found, found
    assert own <= 150, f"{own} lines"
    best = best_metric(run(script))
    runs = []
    for seed in range(3):
        record = start_run(config.model_copy(update={"seed": seed}), folder / f"runs {seed}")
        assert record.best is not None, record.reason
        runs.append(record.best.value)
    spread = max(0.005, max(runs) - min(runs))  # the script holds out other samples: one of them is more than no spread
    text = f"{name:<18} {own:>5} lines   best {best:.4f}, of the run {', '.join(f'{value:.4f}' for value in runs)}"
    assert min(runs) - spread <= best <= max(runs) + spread, text
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=preset_names())
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--tutorial", action="store_true")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as place:
            try:
                if arguments.tutorial:
                    print(examine_tutorial(name, arguments.steps, Path(place)), flush=True)
                    continue
                print(
                    examine(name, 2 if arguments.lines else arguments.steps, not arguments.lines, Path(place)),
                    flush=True,
                )
            except Exception as error:
                failed += 1
                print(f"{name:<18} FAILED: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
