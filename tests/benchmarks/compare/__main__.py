"""Our engine beside the textbook loop, the bare floor and other engines: the same work, interleaved, as ratios.

    python -m tests.benchmarks.compare --data FOLDER [--jobs lab,spiral] [--contestants ours,textbook,floor]
        [--rounds 5] [--peers-python PATH] [--share 1] [--out build/benchmarks]

FOLDER holds ``mnist/`` and ``cifar10-jpg.tar.xz``; jobs on drawn data need none. Writes ``results.md``, ``results.json``
and ``results.png`` into the folder of --out, anew after each round. See tests/benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.image import draw
from tests.benchmarks.compare.jobs import JOBS, Job, scaled
from tests.benchmarks.compare.machine import commit, machine_facts, versions
from tests.benchmarks.compare.results import summary
from tests.benchmarks.compare.rounds import CONTESTANTS, PEERS, Failed, Place, Round, run_rounds
from tests.benchmarks.compare.table import Outcome, table

USUAL = tuple(name for name in JOBS if name != "shapes")
PACKAGES = ("torch", "torchvision", "numpy", "pillow")


def main() -> None:
    arguments = _arguments()
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    switches = [*(["--fused"] if arguments.fused else []), "--workers", str(arguments.workers)]
    place = Place(arguments.peers_python, tuple(switches))
    facts = {
        "began": time.strftime("%Y-%m-%d %H:%M:%S"),
        "command": sys.argv[1:],
        "commit": commit(Path(__file__).parent),
        "machine": machine_facts(),
        "versions": {**versions(PACKAGES), **_peer_versions(arguments.peers_python)},
    }
    wanted = _present(place, arguments.contestants)
    outcomes: list[Outcome] = []
    for name in arguments.jobs:
        job = scaled(JOBS[name], arguments.share)
        print(f"\n{job.name}: {job.title}", flush=True)
        folder = _material(job.name, arguments)
        names = _names(job, wanted)
        left_out: dict[str, str] = {}
        if "ours" in names and folder is not None:
            _prepare_ours(place, folder, job, names, left_out)
        outcomes.append((job, [], left_out))

        def keep(
            rounds: list[Round], failed: dict[str, str], job: Job = job, why: Mapping[str, str] = left_out
        ) -> None:
            outcomes[-1] = (job, list(rounds), {**why, **failed})
            write(out, outcomes, facts)

        run_rounds(place, folder, names, arguments.rounds, _say, keep)
    print(f"\n{(out / 'results.md').read_text()}\nWritten to {out}.")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--jobs", type=_listed(tuple(JOBS)), default=list(USUAL), help=", ".join(JOBS))
    parser.add_argument("--contestants", type=_listed(CONTESTANTS), default=list(CONTESTANTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=Path("data"), help="holds mnist/ and cifar10-jpg.tar.xz")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    parser.add_argument(
        "--peers-python", default=sys.executable, help="interpreter of the environment with the other engines"
    )
    parser.add_argument("--share", type=float, default=1.0, help="of images and epochs: 0.1 to try it out")
    parser.add_argument(
        "--fused", action="store_true", help="the fused optimizer, which is not torch's default, for everybody"
    )
    parser.add_argument("--workers", type=int, default=0, help="DataLoader workers of the textbook and other engines")
    return parser.parse_args()


def _listed(choices: Sequence[str]) -> Any:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        unknown = [name for name in names if name not in choices]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(choices)}")
        return names

    return parse


def _present(place: Place, wanted: Sequence[str]) -> list[str]:
    """``wanted`` without the engines that are not installed, which is said."""
    peers = [name for name in wanted if name in PEERS]
    absent = place.absent(peers) if peers else []
    for name in absent:
        _say(f"{name} is left out: {place.peers_python} has no package {PEERS[name]} (tests/benchmarks/peers.txt).")
    return [name for name in wanted if name not in absent]


def _names(job: Job, wanted: Sequence[str]) -> list[str]:
    return [job.floor if name == "floor" else name for name in wanted]


def _material(name: str, arguments: argparse.Namespace) -> Path:
    """The job's folder, made by a process of its own: this one stays free of torch, so that it weighs on nobody."""
    module = "tests.benchmarks.compare.material"
    places = ["--data", str(arguments.data), "--place", str(arguments.out / "material")]
    command = [sys.executable, "-m", module, name, *places, "--share", str(arguments.share)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return Path(done.stdout.strip().splitlines()[-1])


def _prepare_ours(place: Place, folder: Path, job: Job, names: list[str], left_out: dict[str, str]) -> None:
    """One run of ours that is not measured, where it keeps something for the next: decoded images, compiled code."""
    if not (job.samples[0] or job.warm_up_epochs):
        return
    _say("  a first run of ours, not measured")
    try:
        place.measure("ours", folder)
    except Failed as reason:
        left_out["ours"] = str(reason)
        names.remove("ours")
        _say(f"  ours is left out: {reason}")


def _peer_versions(python: str) -> dict[str, str]:
    code = "import json, sys; from tests.benchmarks.compare.machine import versions; print(json.dumps(versions(sys.argv[1:])))"
    done = subprocess.run([python, "-c", code, *PEERS.values()], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def write(out: Path, outcomes: Sequence[Outcome], facts: Mapping[str, Any]) -> None:
    """The three files, as far as the rounds have come."""
    record = {**facts, "jobs": [summary(*outcome) for outcome in outcomes]}
    (out / "results.json").write_text(json.dumps(record, indent=1) + "\n")
    (out / "results.md").write_text(table(outcomes, facts))
    draw([outcome for outcome in outcomes if outcome[1]], out / "results.png")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
