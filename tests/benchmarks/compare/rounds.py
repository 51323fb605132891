"""Measurements in turn: each contestant once a round, in an order that moves on from round to round."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.machine import load

PEERS = {"lightning": "lightning", "accelerate": "accelerate", "hf-trainer": "transformers", "fastai": "fastai"}
"""Contestants of other makers, and the package that each needs."""
CONTESTANTS = ("ours", "ours-own", "textbook", "floor", *PEERS)
LIMIT_SECONDS = 1800.0

Say = Callable[[str], None]
Round = dict[str, dict[str, Any]]


class Failed(Exception):
    """A measurement that did not come to its end; the text says why."""


@dataclass(frozen=True)
class Place:
    """Where contestants run: the interpreter of the other makers' packages, and switches for those who write a loop."""

    peers_python: str = sys.executable
    switches: tuple[str, ...] = ()
    module: str = "tests.benchmarks.compare.contestants"
    """What is run with the contestant's name and the folder of its job."""

    def absent(self, peers: Sequence[str]) -> list[str]:
        """Those whose package the interpreter does not find."""
        code = "import sys, importlib.util as u; print(*[n for n in sys.argv[1:] if u.find_spec(n) is None])"
        command = [self.peers_python, "-c", code, *(PEERS[peer] for peer in peers)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        missing = done.stdout.split()
        return [peer for peer in peers if PEERS[peer] in missing]

    def measure(self, contestant: str, folder: Path) -> dict[str, Any]:
        """One measurement in a process of its own, with the machine's load before it. Raises Failed."""
        python = self.peers_python if contestant in PEERS else sys.executable
        command = [python, "-m", self.module, contestant, str(folder), *self.switches]
        before = load()
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"took longer than {LIMIT_SECONDS:.0f} seconds") from None
        if done.returncode:
            raise Failed((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        record: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return {**record, "load": before}


def in_turn(names: Sequence[str], number: int) -> list[str]:
    """The order of round ``number``: whoever came first comes last in the next."""
    first = number % max(1, len(names))
    return [*names[first:], *names[:first]]


def run_rounds(
    place: Place,
    folder: Path,
    names: Sequence[str],
    rounds: int,
    say: Say,
    keep: Callable[[list[Round], dict[str, str]], None],
) -> None:
    """Measure; ``keep(rounds so far, {contestant: why it was left out})`` is called after each round.

    A contestant that fails is left out from then on.
    """
    done: list[Round] = []
    left_out: dict[str, str] = {}
    for number in range(rounds):
        results: Round = {}
        for name in in_turn(names, number):
            if name in left_out:
                continue
            try:
                results[name] = place.measure(name, folder)
            except Failed as reason:
                left_out[name] = str(reason)
                say(f"  {name} is left out: {reason}")
                continue
            record = results[name]
            say(
                f"  round {number + 1}  {name:<15}{record['seconds']:9.2f} s   loss {record['loss']:.4f}   "
                f"accuracy {record['accuracy']:.4f}   load before {record['load']:.2f}"
            )
        done.append(results)
        keep(done, left_out)
