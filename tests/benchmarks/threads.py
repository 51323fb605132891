"""From which size of a step on a second thread pays: one training step on 1 thread and on more, side by side.

    python -m tests.benchmarks.threads [--threads 2] [--seconds 4]

For networks and batches of growing work (floating-point operations of forward and backward) the least time of many steps
that take turns, and their ratio: what ``training.engine.device.choose_threads`` is calibrated by. To be run on a machine
that does nothing else: a second thread that has to wait for a core loses several times what it gains.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from tests.training.known_facts import sample_facts
from training.config.sections.model import Mlp, SmallCnn
from training.models import make_model
from training.system.process import tune_process

MLPS = (
    (64, 64),
    (128, 64),
    (128, 256),
    (128, 1024),
    (256, 64),
    (256, 256),
    (512, 32),
    (512, 128),
    (1024, 16),
    (1024, 64),
)
CNNS = ((8, 16, 32, 8), (8, 16, 32, 32), (8, 16, 32, 128), (32, 64, 128, 4), (32, 64, 128, 16), (32, 64, 128, 64))


def cases() -> Iterator[tuple[str, nn.Module, Tensor]]:
    """Name, network and inputs."""
    for width, batch in MLPS:
        network = make_model(Mlp(hidden=(width, width)), sample_facts((2,)), 3, 0)
        yield f"mlp {width}, batch {batch}", network, torch.randn(batch, 2)
    for first, second, hidden, batch in CNNS:
        network = make_model(SmallCnn(channels=(first, second), hidden=hidden), sample_facts((1, 28, 28)), 10, 0)
        network = network.to(memory_format=torch.channels_last)
        yield f"cnn {first}, {second}, batch {batch}", network, torch.randn(batch, 1, 28, 28)


def measure(network: nn.Module, inputs: Tensor, threads: int, seconds: float) -> tuple[float, dict[int, float]]:
    """Floating-point operations of a step, and its least seconds by the number of threads."""
    parameters = list(network.parameters())
    optimizer = torch.optim.AdamW(parameters, fused=True)
    targets = torch.zeros(len(inputs), dtype=torch.int64)

    def step() -> None:
        for parameter in parameters:
            parameter.grad = None
        nn.functional.cross_entropy(network(inputs), targets).backward()
        optimizer.step()

    with FlopCounterMode(display=False) as counter:
        step()
    least = {1: float("inf"), threads: float("inf")}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for count in least:
            torch.set_num_threads(count)
            step()
            for _ in range(20):
                began = time.perf_counter()
                step()
                least[count] = min(least[count], time.perf_counter() - began)
    return counter.get_total_flops(), least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each network")
    options = parser.parse_args()
    tune_process()
    for name, network, inputs in cases():
        work, least = measure(network, inputs, options.threads, options.seconds)
        one, more = least[1], least[options.threads]
        weights = sum(parameter.numel() for parameter in network.parameters())
        print(
            f"{name:24}{weights:>10,} parameters{work / 1e6:9.1f} Mflop{1e6 * one:10.0f} us{1e6 * more:10.0f} us"
            f"{more / one:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
