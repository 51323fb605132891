"""How many labels that were flipped come first: ``python -m tests.benchmarks.suspicious_labels --mnist FOLDER`` or ``--cifar10 FOLDER``.

Nothing is timed. A share of the images is drawn, 2 % of its labels are replaced by another class each, and a run of ``small_cnn`` is
trained on them as they are. Told are precision and recall of as many of the first suspicious labels as were flipped, of the training part by k
folds and of the validation part by the run itself, and the same of the ranking by loss alone of the run that trained on them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.cli import main as run_command
from training.config import parse_config
from training.engine.runs.run import start_run
from training.evaluation import evaluate_checkpoint
from training.laboratory.plan import write_share
from training.predictions import Evaluation
from training.predictions.suspicious import SuspiciousLabels, find_suspicious_labels, read_found
from training.runs.folder import RunFolder
from training.runs.workspace import find_checkpoint

FLIPPED = 0.02
_LABELS = "train-labels-idx1-ubyte"
_HEADER = 8


def flip(folder: Path, seed: int) -> set[int]:
    """Give 2 % of the training images another label; returns their numbers, which those of the data are."""
    path, rng = folder / _LABELS, np.random.default_rng(seed)
    content = bytearray(path.read_bytes())
    labels = np.frombuffer(content, np.uint8, offset=_HEADER)
    chosen = rng.choice(len(labels), round(FLIPPED * len(labels)), replace=False)
    labels[chosen] = (labels[chosen] + rng.integers(1, 10, len(chosen), dtype=np.uint8)) % 10
    path.write_bytes(content)
    return set(chosen.tolist())


def copy_flipped(source: Path, share: float, into: Path, seed: int) -> set[str]:
    """Copy ``share`` of the images of each class folder of ``source``, 2 % of them into the folder of another class; returns the names
    of those."""
    classes = sorted(path for path in source.iterdir() if path.is_dir())
    files = [(number, path) for number, place in enumerate(classes) for path in _first(place, share)]
    rng = np.random.default_rng(seed)
    wrong = dict.fromkeys(rng.choice(len(files), round(FLIPPED * len(files)), replace=False).tolist())
    names = set()
    for place in classes:
        (into / place.name).mkdir(parents=True)
    for number, (own, path) in enumerate(files):
        given = (own + int(rng.integers(1, len(classes)))) % len(classes) if number in wrong else own
        name = f"{classes[given].name}/{classes[own].name}-{path.name}"
        shutil.copyfile(path, into / name)
        if number in wrong:
            names.add(name)
    return names


def _first(folder: Path, share: float) -> list[Path]:
    paths = sorted(folder.iterdir())
    return paths[: round(share * len(paths))]


def tell(title: str, ranked: list[int], wrong: set[int], samples: int) -> None:
    """Of as many of the first as were flipped, and of the first 2 %."""
    for words, count in (("as many as were flipped", len(wrong)), ("the first 2 %", round(FLIPPED * samples))):
        first = ranked[:count]
        hits = len(wrong.intersection(first))
        print(
            f"{title}, {words}: {len(first)} samples, {hits} of {len(wrong)} flipped among them; precision "
            f"{hits / max(len(first), 1):.3f}, recall {hits / max(len(wrong), 1):.3f}",
            flush=True,
        )


def measure(
    dataset: dict[str, Any], wrong: set[int] | set[str], epochs: int, folds: int, seed: int, workspace: Path
) -> None:
    config = parse_config(
        {
            "name": "flipped",
            "seed": seed,
            "dataset": dataset,
            "model": {"kind": "small_cnn"},
            "loop": {"epochs": epochs, "batch_size": 64},
        }
    )
    with contextlib.redirect_stderr(Path(os.devnull).open("w")):
        run = RunFolder(Path(start_run(config, workspace).folder))
        checkpoint, _ = find_checkpoint(str(run.path), workspace)
        held_out = evaluate_checkpoint(checkpoint)
        validation = find_suspicious_labels(held_out)
        trained = evaluate_checkpoint(checkpoint, "train")
    if run_command(["labels", str(run.path), "--on", "train", "--folds", str(folds)]):
        raise SystemExit("the folds were not trained")
    training = read_found(run)
    assert training is not None
    print(f"\nseed {seed}: best checkpoint {checkpoint.name}")
    numbers: NDArray[np.int64] = np.asarray(trained.column("index"))
    part = _find_wrong(trained, wrong)
    _tell_found(f"training part by {folds} folds", training, part)
    _tell_found("validation part by the run", validation, _find_wrong(held_out, wrong))
    by_loss = numbers[np.argsort(-np.asarray(trained.column("loss")), kind="stable")].tolist()
    tell("for comparison, training part by its loss in the run that trained on it", by_loss, part, len(numbers))


def _find_wrong(evaluation: Evaluation, wrong: set[int] | set[str]) -> set[int]:
    """Of the samples of an evaluation those that were flipped, by number or by name."""
    numbers = np.asarray(evaluation.column("index")).tolist()
    return {number for number, name in zip(numbers, evaluation.names, strict=True) if number in wrong or name in wrong}


def _tell_found(title: str, found: SuspiciousLabels, wrong: set[int]) -> None:
    print(f"{title}: {len(found.found)} suspicious among {found.samples}")
    tell(title, [each.number for each in found.found], wrong, found.samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = parser.add_mutually_exclusive_group(required=True)
    data.add_argument("--mnist", type=Path, metavar="FOLDER", help="of the four idx files")
    data.add_argument("--cifar10", type=Path, metavar="FOLDER", help="of the training images, a folder a class")
    parser.add_argument(
        "--share", type=float, default=0.1, help="of the images (0.1: 6,000 of MNIST's training images)"
    )
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, wrong = Path(folder), set[Any]()
        if given.mnist is not None:
            share = write_share(given.mnist, given.share, place)
            dataset, wrong = {"kind": "idx", "path": str(share), "validation": "split"}, flip(share, given.seed)
        else:
            images = place / "images"
            dataset = {"kind": "image_folder", "path": str(images)}
            wrong = copy_flipped(given.cifar10, given.share, images, given.seed)
        measure(dataset, wrong, given.epochs, given.folds, given.seed, place / "workspace")


if __name__ == "__main__":
    main()
