"""Networks of people's own, each sound, to be broken by ``edit``."""

from __future__ import annotations

SEQUENCE = """import torch.nn as nn


def build(features: int, classes: int, width: int = 48):
    return nn.Sequential(
        nn.Linear(features, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, classes),
    )
"""

DEEP = """import torch
from torch import nn


class DeepModel(nn.Module):
    def __init__(self, n_in, n_out, width, depth):
        super().__init__()
        self.first = nn.Linear(n_in, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.last = nn.Linear(width, n_out)
        self.act = nn.ReLU()

    def forward(self, x):
        x = self.act(self.first(x))
        for layer in self.hidden:
            x = self.act(layer(x))
        return self.last(x)


def build(features: int, classes: int):
    return DeepModel(features, classes, 40, 4)
"""

LENET = """import torch
from torch import nn


class LeNet(nn.Module):
    def __init__(self, channels, classes, image_size):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(channels, 8, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * (image_size // 4) ** 2, 64),
            nn.ReLU(),
            nn.Linear(64, classes),
        )

    def forward(self, images):
        return self.net(images)


def build(channels: int, classes: int, image_size: int):
    return LeNet(channels, classes, image_size)
"""

PIXELS = """import torch
from torch import nn


class TinySegmenter(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=2, dilation=2),
            nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1),
            nn.ReLU(),
        )
        self.classify = nn.Conv2d(12, classes, 1)

    def forward(self, x):
        scores = self.classify(self.body(x))
        return scores


def build(channels: int, classes: int):
    return TinySegmenter(channels, classes)
"""

GRU = """import torch
from torch import nn


class CharRNN(nn.Module):
    def __init__(self, vocab_size, embed=24, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed)
        self.rnn = nn.GRU(embed, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, vocab_size)

    def forward(self, tokens):
        out, _ = self.rnn(self.embed(tokens))
        return self.fc(out)


def build(vocabulary: int):
    return CharRNN(vocabulary)
"""
