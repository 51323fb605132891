"""The samples that ours and the loops written by hand train on.

    python -m tests.benchmarks.gpu.material full|small DEVICE PLACE

Prints the folder of the job.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.benchmarks.compare.material import make
from tests.benchmarks.gpu.resnet import job
from tests.benchmarks.gpu.sizes import FULL, SMALL


def main() -> None:
    size, device, place = sys.argv[1:]
    print(make(job(FULL if size == "full" else SMALL, device), Path(), Path(place).resolve()))


if __name__ == "__main__":
    main()
