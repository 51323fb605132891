"""Two processes of one thread against one process of two, each training the same configuration by the command line.

    python -m tests.benchmarks.ranks [--rounds 3] [--ranks 2]

The ratio of their samples a second (the record's own, training alone), and what the start of several processes takes more: from the command
to the first step. On a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from training.streams import say

CASES = {
    "cnn": """
        [dataset]
        kind = "shapes"
        samples = 6000
        [model]
        kind = "small_cnn"
        [loop]
        batch_size = 128
        epochs = 100
        max_steps = 250
        """,
    "gpt": """
        [dataset]
        kind = "text"
        path = "{text}"
        context = 128
        [model]
        kind = "gpt"
        layers = 4
        heads = 4
        width = 256
        [objective]
        kind = "language_model"
        [loop]
        batch_size = 16
        epochs = 100
        max_steps = 60
        """,
}


def main() -> None:
    """Tell one line for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=2)
    arguments = parser.parse_args()
    count = arguments.ranks
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "text.txt").write_text("To be, or not to be, that is the question.\n" * 20_000, encoding="utf-8")
        for case, text in CASES.items():
            config = place / f"{case}.toml"
            config.write_text(text.format(text=place / "text.txt"), encoding="utf-8")
            speeds, starts = [], []
            for number in range(arguments.rounds):
                alone = [*_train(config, place / f"{case}-{number}-one", "--set", f"precision.threads={count}")]
                words = ("--ranks", str(count), "--set", "precision.threads=1")
                several = [*_train(config, place / f"{case}-{number}-several", *words)]
                speeds.append(several[0] / alone[0])
                starts.append(several[1] - alone[1])
            each = ", ".join(f"{speed:.2f}" for speed in speeds)
            say(
                f"{case}: {count} ranks of one thread train {statistics.median(speeds):.2f} ({each}) times as fast as one process of {count} "
                f"threads; their start takes {statistics.median(starts):.1f} s more"
            )


def _train(config: Path, workspace: Path, *words: str) -> tuple[float, float]:
    """Samples a second, and seconds from the command to the first step that was written down."""
    command = [sys.executable, "-m", "training", "run", str(config), "--workspace", str(workspace), "--json", *words]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while process.poll() is None and not any(path.stat().st_size for path in workspace.glob("runs/*/series.bin")):
            time.sleep(0.02)
        first = time.monotonic() - began
        output, _ = process.communicate()
    return float(json.loads(output.strip().splitlines()[-1])["samples_per_second"]), first


if __name__ == "__main__":
    main()
