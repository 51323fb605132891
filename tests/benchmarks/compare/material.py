"""The files and arrays of a job: made once, then the same for all contestants.

    python -m tests.benchmarks.compare.material JOB --data FOLDER --place FOLDER [--share 1]

Prints the folder of the job: ``task.json`` with the configuration of our run, ``arrays.npz`` with every sample as bytes
as our own reading gives it, its class, the numbers of the training and validation samples, and mean and spread.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from tests.benchmarks.compare.jobs import JOBS, Job, run_config, scaled
from training.config import parse_config
from training.data.normalize import measure
from training.data.source import Opening
from training.data.sources import open_source
from training.data.splits import split_source
from training.data.tables.targets import source_facts

PHOTO_SIDE = 160
PHOTO_CLASSES = 4
JPEG_QUALITY = 90


def make(job: Job, data: Path, place: Path) -> Path:
    """The folder of ``job`` under ``place``, filled where it is not yet."""
    config = run_config(job, dataset_of(job, data, place))
    words = json.dumps({"config": config, "warm_up_epochs": job.warm_up_epochs}, indent=1, sort_keys=True)
    folder = place / f"{job.name}-{hashlib.sha256(words.encode()).hexdigest()[:8]}"
    if not (folder / "task.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _write_arrays(config, folder / "arrays.npz")
        (folder / "task.json").write_text(words)  # last: a folder that has it is whole
    return folder


def _write_arrays(config: dict[str, Any], path: Path) -> None:
    """Every sample as our engine reads it, so that nobody trains on other pixels or judges by other images."""
    parsed = parse_config({key: value for key, value in config.items() if key != "precision"})
    source = open_source(parsed.dataset, Opening(keep=lambda size: True))
    splits = split_source(source, parsed.dataset)
    everything = torch.arange(len(source.targets))
    normalization = measure(source.read, splits["train"], source_facts(source))
    root = getattr(source, "root", None)
    np.savez(
        path,
        samples=source.read(everything).numpy(),
        targets=source.targets.numpy(),
        train=splits["train"].numpy(),
        validation=splits["validation"].numpy(),
        mean=np.array(normalization.mean),
        std=np.array(normalization.std),
        classes=len(source.classes),
        files=[] if root is None else [str(root / source.name(int(index))) for index in everything],
    )


def dataset_of(job: Job, data: Path, place: Path) -> dict[str, str]:
    """What to add to ``[dataset]``: the path of files that lie there, after this call."""
    if job.material == "drawn":
        return {}
    if job.material == "mnist":
        return {"path": str(_present(data / "mnist", job))}
    folder = place / f"{job.material}-{job.samples[0]}-{job.samples[1]}"
    if not folder.is_dir():
        unfinished = folder.with_name(folder.name + ".part")
        if job.material == "cifar":
            unpack(_present(data / "cifar10-jpg.tar.xz", job), unfinished, job.samples)
        else:
            draw(unfinished, job.samples)
        unfinished.rename(folder)
    return {"path": str(folder)}


def _present(path: Path, job: Job) -> Path:
    if not path.exists():
        raise SystemExit(f"The job {job.name} needs {path.name} in {path.parent}; name its folder with --data.")
    return path.resolve()


def unpack(archive: Path, folder: Path, samples: tuple[int, int]) -> None:
    """The first images of each of the ten classes of CIFAR-10, in ``train`` and ``val``."""
    parts = {"train": ("train", samples[0] // 10), "test": ("val", samples[1] // 10)}
    taken: dict[tuple[str, str], int] = {}
    with tarfile.open(archive) as stream:
        for member in stream:
            if not member.isfile():
                continue
            part, name, file = Path(member.name).parts[-3:]
            into, most = parts[part]
            taken[part, name] = taken.get((part, name), 0) + 1
            if taken[part, name] <= most:
                content = stream.extractfile(member)
                assert content is not None
                _write(folder / into / name / file, content.read())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def draw(folder: Path, samples: tuple[int, int]) -> None:
    """Images with as much detail as a photograph has; the direction of their stripes is the class."""
    generator = np.random.default_rng(0)
    for part, count in zip(("train", "val"), samples, strict=True):
        for number in range(count):
            path = folder / part / f"direction-{number % PHOTO_CLASSES}" / f"{number:05}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(photo(generator, number % PHOTO_CLASSES)).save(path, quality=JPEG_QUALITY)


def photo(generator: np.random.Generator, label: int) -> NDArray[np.uint8]:
    """uint8 (160, 160, 3): coarse and fine noise as in a photograph, and stripes of a direction in a color."""
    coarse = generator.normal(size=(10, 10, 3)).repeat(PHOTO_SIDE // 10, 0).repeat(PHOTO_SIDE // 10, 1)
    fine = generator.normal(size=(PHOTO_SIDE, PHOTO_SIDE, 3))
    rows, columns = np.mgrid[:PHOTO_SIDE, :PHOTO_SIDE]
    angle = np.pi * (label + 0.5 * generator.normal() * 0.5) / PHOTO_CLASSES
    along = np.cos(angle) * rows + np.sin(angle) * columns
    stripes = np.sin(along / generator.uniform(4.0, 9.0) + generator.uniform(0.0, 6.0))[..., None]
    pixels = 128 + 28 * coarse + 14 * fine + 30 * stripes * generator.uniform(0.3, 1.0, 3)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=sorted(JOBS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0)
    arguments = parser.parse_args()
    print(make(scaled(JOBS[arguments.job], arguments.share), arguments.data, arguments.place.resolve()))


if __name__ == "__main__":
    main()
