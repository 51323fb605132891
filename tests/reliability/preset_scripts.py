"""The exported script of every preset: does it repeat the run to the bit, with a resume between, and how long is it?

    python -m tests.reliability.preset_scripts [--only NAMES] [--steps 30] [--lines]
    python -m tests.reliability.preset_scripts --tutorial [--only NAMES] [--steps 200] [--data FOLDER] [--first-seed 0]

Each preset is trained on small data made on the spot, cut to --steps steps, and exported; its script is stopped after a save,
resumed to its end and compared with the run: series and weights. --lines exports after two steps and only counts lines: of the same
file in another checkout (PYTHONPATH) it gives the lines before a change. Known weights (resnet) are not fetched;
resnet and vit see images of 64 x 64.

--tutorial: the short script of each preset instead, see ``preset_tutorials``.
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

import torch

from tests.reliability.preset_data import make_data
from tests.reliability.preset_tutorials import HEAD, examine_tutorial
from tests.training.export.test_script import assert_same_run, train_by_script
from training.engine.runs.run import start_run
from training.export import export_checkpoint
from training.presets import load_preset, preset_names, preset_text


def examine(name: str, steps: int, repeat: bool, folder: Path) -> str:
    """Lines of the preset's script, and whether it repeats the run."""
    save = max(1, steps // 2)
    cut = [f"loop.max_steps={steps}", "loop.epochs=1000", f"checkpoints.every_steps={save}", "precision.device=cpu"]
    settings = [*make_data(name, folder), *cut]
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=preset_names())
    parser.add_argument("--steps", type=int)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--tutorial", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    steps: int = arguments.steps or (200 if arguments.tutorial else 30)
    if arguments.tutorial:
        print(HEAD, flush=True)
    failed = 0
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as place:
            try:
                if arguments.tutorial:
                    row = examine_tutorial(name, steps, arguments.first_seed, arguments.data, Path(place))
                    failed += bool(row.find_faults())
                    print(row, flush=True)
                    continue
                print(examine(name, 2 if arguments.lines else steps, not arguments.lines, Path(place)), flush=True)
            except Exception as error:
                failed += 1
                print(f"{name:<18} FAILED: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
