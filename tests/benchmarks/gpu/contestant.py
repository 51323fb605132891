"""One measurement of the ResNet in a process of its own.

    python -m tests.benchmarks.gpu.contestant ours|hand|hand-autotuned|hand-graphs FOLDER_OF_THE_JOB

Prints {"seconds", "loss", "accuracy", "steps"} as its last line.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.contestants import ours
from tests.benchmarks.gpu.resnet import HAND
from training.system.process import tune_process


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    if name == "ours":  # its engine is a process of its own: this one only starts it and stays small
        record: dict[str, Any] = ours.run(folder)
    else:
        tune_process()  # before torch is loaded
        loop = importlib.import_module("tests.benchmarks.gpu.hand")
        record = loop.run(folder, HAND[name])
    print(json.dumps(record))


if __name__ == "__main__":
    main()
