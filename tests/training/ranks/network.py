"""A smooth network of a person's own for runs in several processes: ties of ReLU and max pooling would blow rounding up.

It writes a digest of each sample that it is trained on beside ``log``, does on some rank what a test asks of it, and pauses for so many
seconds in each pass.
"""

import hashlib
import os
import time
from pathlib import Path

import torch
from torch import nn

RANK = int(os.environ.get("RANK", "0"))


class Smooth(nn.Module):
    causal: torch.Tensor

    def __init__(self, channels: int, classes: int, double: bool, log: str, fault: str, pause: float) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv2d(channels, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.GELU(), nn.Dropout(0.2)),
            *(nn.Conv2d(8, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()),
            *(nn.Dropout(0.3), nn.Linear(64, classes)),
        )
        self.register_buffer("mask", torch.ones(3, dtype=torch.bool))  # of no mean
        self.register_buffer("causal", torch.full((3, 3), -torch.inf))  # of no difference
        self.kind = torch.float64 if double else torch.float32
        self.to(self.kind)
        self.log, self.fault, self.pause = log, fault, pause
        if fault == "build" and RANK == 1:
            raise KeyError("there is no such layer")
        self.passes = 0

    def float(self) -> "Smooth":
        """Stays what it is: the program would make it float32."""
        return self

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if self.training and self.log:
            digests = [hashlib.sha256(image.contiguous().numpy().tobytes()).hexdigest() for image in images]
            with Path(f"{self.log}.{RANK}").open("a") as stream:
                stream.write("".join(f"{digest}\n" for digest in digests))
        if self.training:
            self.passes += 1
        if self.fault == "memory" and self.training and RANK == 1 and len(images) > 3:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")
        if self.fault == "error" and self.training and RANK == 1 and self.passes > 20:
            raise ZeroDivisionError("there is no such share")
        time.sleep(self.pause)
        if not self.causal.isinf().all():
            raise ValueError("a constant has changed")
        return self.body(images.to(self.kind))


def build(
    channels: int, classes: int, double: bool = False, log: str = "", fault: str = "", pause: float = 0.0
) -> nn.Module:
    return Smooth(channels, classes, double, log, fault, pause)
