"""Folders of JPEG files, made by a process of its own where they are not there yet.

    python -m tests.benchmarks.gpu.images cifar|photos DATA PLACE TRAIN VALIDATION

Prints the folder. DATA holds ``cifar10-jpg.tar.xz``; photographs are drawn and need none.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.benchmarks.compare.jobs import Job
from tests.benchmarks.gpu.part import Order

MODULE = "tests.benchmarks.gpu.images"


def folder_of(order: Order, material: str, samples: tuple[int, int]) -> Path:
    """The folder with ``train`` and ``val`` of so many images. The process that measures stays free of torch."""
    places = [str(order.data.resolve()), str(order.place)]
    command = [sys.executable, "-m", MODULE, material, *places, *map(str, samples)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return Path(done.stdout.strip().splitlines()[-1])


def main() -> None:
    from tests.benchmarks.compare.material import dataset_of

    material, data, place, train, validation = sys.argv[1:]
    job = Job(material, "", "cifar" if material == "cifar" else "photos", {}, samples=(int(train), int(validation)))
    Path(place).mkdir(parents=True, exist_ok=True)
    print(dataset_of(job, Path(data), Path(place))["path"])


if __name__ == "__main__":
    main()
