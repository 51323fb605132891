"""Networks as people write them, sound; the cases break one line each."""

from __future__ import annotations

DENSE = '''"""A plain network for numbers."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.fc1 = nn.Linear(features, 64)
        self.fc2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, outputs)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.out(x)


def build(features: int, outputs: int):
    return Net(features, outputs)
'''

CONV = '''"""A small convolutional network."""

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    def __init__(self, channels, side, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * (side // 4) ** 2, 64)
        self.fc2 = nn.Linear(64, outputs)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def build(channels: int, image_size: int, classes: int):
    return LeNet(channels, image_size, classes)
'''

DEEP = '''"""A deep network without normalization."""

import torch
from torch import nn


def init(module):
    if isinstance(module, nn.Linear):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.zeros_(module.bias)


def build(features: int, outputs: int, depth: int = 6):
    layers = [nn.Linear(features, 48), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Linear(48, 48), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Linear(48, outputs))
    network.apply(init)
    return network
'''

PIXELS = '''"""A class for each pixel."""

import torch
from torch import nn


class Pixels(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, 12, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(12, 12, 5, padding=2),
            nn.ReLU(),
        )
        self.head = nn.Conv2d(12, classes, 1)

    def forward(self, x):
        return self.head(self.body(x))


def build(channels: int, classes: int):
    return Pixels(channels, classes)
'''

LETTERS = '''"""A recurrent language model."""

import torch
from torch import nn


class Letters(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 24)
        self.gru = nn.GRU(24, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        states, _ = self.gru(self.embedding(tokens))
        return self.head(states)


def build(vocabulary: int, width: int = 64):
    return Letters(vocabulary, width)
'''

WAVES = '''"""Convolutions over a recording."""

import torch
import torch.nn.functional as F
from torch import nn


class Waves(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 7, padding=3)
        self.conv2 = nn.Conv1d(16, 24, 5, padding=2)
        self.out = nn.Linear(24, outputs)

    def forward(self, x):
        x = x.unsqueeze(1)
        x = F.max_pool1d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        return self.out(x.mean(2))


def build(classes: int):
    return Waves(classes)
'''


def swap(text: str, *pairs: tuple[str, str]) -> str:
    """``text`` with each old line put as its new one; each has to be there."""
    for old, new in pairs:
        if old not in text:
            raise ValueError(f"not in the network: {old}")
        text = text.replace(old, new)
    return text
