"""One measurement in a process of its own.

    python -m tests.benchmarks.compare.contestants NAME FOLDER_OF_THE_JOB [--fused] [--workers N]

Prints {"seconds", "loss", "accuracy", "steps"} as its last line. Imports and set-up are left out of the seconds.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

from training.system.process import tune_process

OURS = ("ours", "ours_own")
TUNED = ("floor", "floor_compiled")
"""They run in a process set up as our engine's, so that their ratio to ours is about the loop alone."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    arguments = parser.parse_args()
    name = arguments.name.replace("-", "_")
    if not (arguments.folder / "task.json").is_file():
        raise SystemExit(f"{arguments.folder} holds no task.json; tests.benchmarks.compare.material makes it.")
    if name in OURS:  # its engine is a process of its own: this one only starts it and stays small
        ours = importlib.import_module(f"tests.benchmarks.compare.contestants.{name}")
        record: dict[str, Any] = ours.run(arguments.folder)
    else:
        if name in TUNED:
            tune_process()  # before torch is loaded
        contestant = importlib.import_module(f"tests.benchmarks.compare.contestants.{name}")
        task = importlib.import_module("tests.benchmarks.compare.task")
        work = task.load_task(arguments.folder, arguments.fused, arguments.workers)
        clock = task.Clock(work.warm_up_epochs)
        contestant.train(work, clock)
        record = clock.record()
    print(json.dumps(record))


if __name__ == "__main__":
    main()
