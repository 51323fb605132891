"""Networks that are right in an unusual way."""

from __future__ import annotations

LISTENER = '''"""A GRU that judges a recording by its last state."""

from torch import nn


class Listener(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.gru = nn.GRU(6, 32, batch_first=True)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        steps = x.reshape(len(x), -1, 6)
        _, last = self.gru(steps)
        return self.head(last[-1])


def build(classes: int):
    return Listener(classes)
'''

SEQUENCE_FIRST = '''"""A transformer with the time first, as torch has it by default."""

import torch
from torch import nn


class TimeFirst(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.read = nn.Linear(6, 32)
        self.place = nn.Parameter(0.1 * torch.randn(features // 6, 1, 32))
        self.layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        steps = x.reshape(len(x), -1, 6).transpose(0, 1)
        seen = self.layer(self.read(steps) + self.place)
        return self.head(seen.mean(0))


def build(features: int, classes: int):
    return TimeFirst(features, classes)
'''

FOURIER = '''"""Random Fourier features (Rahimi and Recht, 2007) and a linear layer."""

import torch
from torch import nn


class Fourier(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("directions", 1.5 * torch.randn(features, 200))
        self.register_buffer("phases", 6.2832 * torch.rand(200))
        self.head = nn.Linear(200, classes)

    def forward(self, x):
        return self.head(torch.cos(x @ self.directions + self.phases))


def build(features: int, classes: int):
    return Fourier(features, classes)
'''

REZERO = '''"""Residual blocks that begin as nothing (ReZero)."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.share = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return x + self.share * self.inner(x)


def build(features: int, classes: int, width: int = 32):
    return nn.Sequential(nn.Linear(features, width), *(Block(width) for _ in range(12)), nn.Linear(width, classes))
'''
