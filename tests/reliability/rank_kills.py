"""Kills one run of several processes again and again, whichever of them, and compares it to the bit with one that nobody touched.

python -m tests.reliability.rank_kills --kills 50 --ranks 2
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.training.ranks.conftest import CONFIG, NETWORK, Ranks, digest, find_processes, finish, start
from training.runs.folder import RunFolder
from training.runs.records.ranks import read_ranks
from training.runs.records.series import read_series
from training.streams import say
from training.system.process import birth

LONGEST = 60.0  # seconds until all processes of a killed run are gone


def main() -> int:
    """Returns 1 where a process stayed or a bit differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    draw, count = random.Random(arguments.seed), arguments.ranks
    settings = (f"loop.max_steps={8 * arguments.kills + 20}", "loop.epochs=10000", "checkpoints.every_steps=4")
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "config.toml"
        config.write_text(CONFIG.format(network=NETWORK), encoding="utf-8")
        uncut, cut = Ranks(config, Path(name) / "uncut"), Ranks(config, Path(name) / "cut")
        whole = uncut.run(count, *settings)
        process, reached, faults = cut.begin(count, *settings, "model.arguments.pause=0.01"), 0, 0
        victims: dict[str, int] = {}
        for number in range(arguments.kills):
            folder = _await_ranks(cut, process, reached + draw.randint(2, 9))
            faults += _kill(process, folder, draw, victims, number)
            reached = _check_steps(folder)
            process = start(cut.command("resume", str(folder), "--trust", "--json", "--ranks", str(count)))
        record = finish(process)
        same = digest(record) == digest(whole)
        steps = read_series(Path(record["folder"]) / "series.bin")["step"].tolist()
        one_curve = steps == list(range(1, len(steps) + 1))
        told = ", ".join(f"{victim}: {times}" for victim, times in sorted(victims.items()))
        say(
            f"{arguments.kills} kills ({told}), {faults} with a process left, same bits: {same}, one curve: {one_curve}"
        )
        return int(bool(faults) or not same or not one_curve)


def _await_ranks(cut: Ranks, process: subprocess.Popen[str], step: int) -> Path:
    """The run's folder, once the processes of this very attempt train and the step is reached."""
    while process.poll() is None:
        folder = cut.await_step(step)
        record = read_ranks(folder)
        if record is not None and all(birth(each.process) for each in record.ranks):
            return folder
        time.sleep(0.05)
    raise RuntimeError(str(finish(process)["said"]))


def _kill(
    process: subprocess.Popen[str], folder: Path, draw: random.Random, victims: dict[str, int], number: int
) -> int:
    """Kill one of the processes; returns 1 where another one is still there a minute later."""
    everyone = find_processes(process, folder)
    victim = draw.choice(sorted(everyone))
    victims[victim] = victims.get(victim, 0) + 1
    began = time.monotonic()
    everyone[victim].kill()
    finish(process)
    _, alive = psutil.wait_procs(list(everyone.values()), timeout=LONGEST)
    status = RunFolder(folder).status()
    say(
        f"{number + 1}: killed {victim} at step {status.step}, all gone after {time.monotonic() - began:.1f} s, {status.status}"
    )
    return int(bool(alive))


def _check_steps(folder: Path) -> int:
    """The step that the run goes on from."""
    return max((int(path.name.rpartition("-")[2]) for path in (folder / "checkpoints").glob("step-*")), default=0)


if __name__ == "__main__":
    sys.exit(main())
