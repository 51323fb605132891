"""What it costs a run to be followed by trackers: ``python -m tests.benchmarks.tracking --mnist FOLDER``.

The MNIST preset on one thread, with ``--track tensorboard``. Told are

* the thread's CPU time that it takes to begin the process that sends the run: the loop's thread does nothing else for it;
* single steps in turn, with that process stopped (SIGSTOP) and at work (SIGCONT), in pairs: what the two take from each other's core,
  caches and memory, once while the process starts (it loads its libraries) and once while it follows the run. The median of
  the pairs' differences over the median step, with its 95 % interval by the bootstrap, of the thread's CPU time and of the time
  that passes. On a machine whose cores are all at work it is what sharing them costs;
* with ``--instructions N``, how many instructions the loop's thread carries out in N whole steps from the second on, with batches of 16,
  as callgrind counts them, with and without: other programs and other threads change nothing of that. Needs valgrind, x86_64 and
  some minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.live_checks import find_interval


def run_once(
    place: Path, tracked: bool, overrides: list[str], counter: tuple[str, ...] = (), steps: str = ""
) -> subprocess.CompletedProcess[str]:
    """One run in a process of its own, which measures itself."""
    own = {"HOME": str(place), "XDG_CONFIG_HOME": str(place / "config"), "PYTHONHASHSEED": "0"}
    words = ["-m", "tests.benchmarks.tracked_run", steps, "mnist", str(place), "tensorboard" if tracked else ""]
    command = [*counter, sys.executable, *words, *overrides]
    done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done


def count_instructions(steps: int, tracked: bool, overrides: list[str]) -> int:
    """Of the loop's thread in ``steps`` steps."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        # Without address randomization, or hashes of addresses would take other ways.
        valgrind = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={place}/callgrind", "--instr-atstart=no")
        counter = ("setarch", "-R", *valgrind, "--collect-atstart=no")
        told = run_once(Path(place), tracked, [*overrides, "loop.batch_size=16"], counter, str(steps)).stderr
    found = re.search(r"Collected : (\d+)", told)
    assert found is not None, told
    return int(found[1])


def tell_turns(name: str, steps: list[tuple[float, float]], cpu: float) -> None:
    """Print what the pairs of one phase say; ``cpu`` seconds were the other process's."""
    both = np.array(steps[: len(steps) // 4 * 4]).reshape(-1, 2, 2)  # pair, turn, clock
    both[1::2] = both[1::2, ::-1]  # the process at work first
    if len(both) < 3:
        print(f"{name}: too few steps")
        return
    words = []
    for clock, title in enumerate(("CPU time", "elapsed time")):
        differences, usual = both[:, 0, clock] - both[:, 1, clock], float(np.median(both[:, 1, clock]))
        low, high = find_interval((differences / usual).tolist())
        words.append(f"{np.median(differences) / usual:+.2%} ({low:+.2%} to {high:+.2%}) of a step's {title}")
    usual = float(np.median(both[:, 1, 1])) * 1e3
    print(f"{name}: {', '.join(words)}; {len(both):,} pairs of {usual:.1f} ms; the other process took {cpu:.2f} s")


def tell_run(overrides: list[str]) -> None:
    """Print what one run found."""
    with tempfile.TemporaryDirectory() as place:
        done = run_once(Path(place), True, overrides)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        wait = [sys.executable, "-m", "training", "track", found["folder"], "--to", "tensorboard"]
        subprocess.run(wait, env=os.environ | {"HOME": place}, stderr=subprocess.DEVNULL, check=True)
    begin, share = found["begin"], found["begin"] / found["cpu"]
    print(
        f"beginning the process: {begin * 1e3:.1f} ms of the thread's CPU time, {share:.4%} of this run of {found['steps']:,} steps"
    )
    before = 0.0
    for phase, steps in found["turns"].items():
        after = found["others"].get(phase, before)
        tell_turns(phase, steps, after - before)
        before = after


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--mnist", required=True, help="folder with train-images-idx3-ubyte and the three that belong to it"
    )
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--instructions", type=int, default=0, metavar="N", help="count them for N steps")
    arguments = parser.parse_args()
    overrides = [f"dataset.path={arguments.mnist}", f"loop.epochs={arguments.epochs}", "precision.threads=1"]
    print(f"{time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    if steps := arguments.instructions:
        without, with_ = (count_instructions(steps, tracked, overrides) for tracked in (False, True))
        print(f"instructions in {steps} steps: {without:,} without, {with_:,} with: {with_ / without - 1:+.4%}")
    else:
        tell_run(overrides)


if __name__ == "__main__":
    main()
