"""What only a GPU can show, as ratios and shares measured in one run.

    python -m tests.benchmarks.gpu --data FOLDER [--only resnet50,no-sync,cifar10,streamed] [--rounds 5]
        [--out build/benchmarks/gpu] [--device cuda] [--small]

FOLDER holds ``cifar10-jpg.tar.xz``; the others need no data. Writes ``gpu.md`` and ``gpu.json`` into the folder of --out,
anew after each part. ``--device cpu --small`` tries all of it out in minutes; its figures mean nothing. See
tests/benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.machine import commit, machine_facts, versions
from tests.benchmarks.gpu import cifar, no_sync, resnet, streamed
from tests.benchmarks.gpu.part import Order, Part
from tests.benchmarks.gpu.sizes import FULL, SMALL

PARTS = {
    "resnet50": resnet.measure,
    "no-sync": no_sync.measure,
    "cifar10": cifar.measure,
    "streamed": streamed.measure,
}
PACKAGES = ("torch", "torchvision", "triton", "numpy", "pillow")


def main() -> None:
    arguments = _arguments()
    device = _device(arguments.device)
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    order = Order(
        size=SMALL if arguments.small else FULL,
        device=arguments.device,
        data=arguments.data,
        place=out / "material",
        rounds=arguments.rounds,
        say=lambda line: print(line, flush=True),
    )
    facts = {
        "began": time.strftime("%Y-%m-%d %H:%M:%S"),
        "command": sys.argv[1:],
        "commit": commit(Path(__file__).parent),
        "machine": machine_facts(),
        "device": device,
        "versions": versions(PACKAGES),
    }
    done: dict[str, Part] = {}
    for name in arguments.only:
        print(f"\n{name}", flush=True)
        done[name] = PARTS[name](order)
        write(out, done, facts, arguments.small)
    print(f"\n{(out / 'gpu.md').read_text()}\nWritten to {out}.")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="holds cifar10-jpg.tar.xz")
    parser.add_argument("--only", type=_parts, default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/gpu"))
    parser.add_argument("--device", default="cuda", help='"cuda", "cuda:1", or "cpu" to try the code out')
    parser.add_argument("--small", action="store_true", help="tiny sizes: to try the code out")
    return parser.parse_args()


def _parts(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(PARTS)}")
    return text.split(",")


def _device(name: str) -> str:
    """What the device is called. Asked by a process of its own: this one stays free of torch."""
    code = (
        "import sys; from training.engine.device import choose_device, describe_device; "
        "from training.errors import ConfigError\n"
        "try: print(describe_device(choose_device(sys.argv[1])))\n"
        "except ConfigError as error: raise SystemExit(f'--device {error.problems[0].message}')"
    )
    done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=False)
    if done.returncode:
        if name.startswith("cuda"):
            raise SystemExit(
                f"torch finds no {name} here, and these figures are a GPU's: run this on a machine with one, or try the "
                "code out with --device cpu --small."
            )
        raise SystemExit(done.stderr.strip())
    return done.stdout.strip()


def write(out: Path, done: Mapping[str, Part], facts: Mapping[str, Any], small: bool) -> None:
    """The two files, as far as the parts have come."""
    machine = facts["machine"]
    head = [
        "# On a GPU",
        "",
        f"{facts['device']}; {machine['processor']}, {machine['cores']} cores, {machine['memory_gb']:g} GB; "
        f"{machine['system']}; Python {machine['python']}; "
        + ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
        + f"; commit {facts['commit']}",
        "",
    ]
    if small:
        head += ["**Tiny sizes, to try the code out: these figures mean nothing.**", ""]
    (out / "gpu.md").write_text("\n".join([*head, "\n".join(part.text(judged=not small) for part in done.values())]))
    record = {**facts, "small": small, "parts": {name: part.record for name, part in done.items()}}
    (out / "gpu.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
