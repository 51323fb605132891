"""Networks that people wrote themselves, as the text of their files: sound ones, which the cases change."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.case import Settings

MLP = '''"""My first network."""

from torch import nn


def build(features: int, outputs: int, width: int = 48) -> nn.Module:
    return nn.Sequential(
        nn.Linear(features, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, outputs),
    )
'''

NET = '''"""Three layers, by name."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, features: int, outputs: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, 40)
        self.fc2 = nn.Linear(40, 40)
        self.out = nn.Linear(40, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.out(x)


def build(features: int, outputs: int) -> nn.Module:
    return Net(features, outputs)
'''

CNN = '''"""A small network for images."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.conv3 = nn.Conv2d(24, 24, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.average = nn.AdaptiveAvgPool2d(3)
        self.fc = nn.Linear(24 * 9, 48)
        self.head = nn.Linear(48, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.conv3(x))
        x = self.average(x).flatten(1)
        x = torch.relu(self.fc(x))
        return self.head(x)


def build(channels: int, classes: int) -> nn.Module:
    return Classifier(channels, classes)
'''

CONV1D = '''"""Convolutions along a signal."""

import torch
from torch import nn


class Signal(nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 16, 7, stride=2, padding=3),
            nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv1d(32, 32, 3, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Linear(2 * 32, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = self.encoder(x.unsqueeze(1))
        found = torch.cat([found.mean(2), found.amax(2)], dim=1)
        return self.head(found)


def build(features: int, classes: int) -> nn.Module:
    return Signal(features, classes)
'''

ATTENTION = '''"""Attention over pieces of a signal."""

import torch
from torch import nn


class Pieces(nn.Module):
    def __init__(self, features: int, classes: int, piece: int = 8, width: int = 32) -> None:
        super().__init__()
        self.piece = piece
        self.embed = nn.Linear(piece, width)
        self.place = nn.Parameter(0.02 * torch.randn(features // piece, width))
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm1 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))
        self.norm2 = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.view(len(x), -1, self.piece)  # (batch, pieces, piece)
        x = self.embed(x) + self.place
        x = self.norm1(x + self.attention(x, x, x, need_weights=False)[0])
        x = self.norm2(x + self.mlp(x))
        return self.head(x.mean(1))


def build(features: int, classes: int) -> nn.Module:
    return Pieces(features, classes)
'''

WRITER = '''"""A small transformer that writes."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(found.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Writer(nn.Module):
    def __init__(self, vocabulary: int, context: int, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(context, width)
        nn.init.normal_(self.token.weight, std=0.1)
        nn.init.normal_(self.place.weight, std=0.1)
        self.blocks = nn.Sequential(*(Block(width, 2) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.place(places)
        return self.head(self.norm(self.blocks(x)))


def build(vocabulary: int, context: int) -> nn.Module:
    return Writer(vocabulary, context)
'''


READER = '''"""A GRU that reads a signal piece by piece."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, features: int, classes: int, piece: int = 4, width: int = 40) -> None:
        super().__init__()
        self.piece = piece
        self.gru = nn.GRU(piece, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found, _ = self.gru(x.view(len(x), -1, self.piece))
        return self.head(found[:, -1])


def build(features: int, classes: int) -> nn.Module:
    return Reader(features, classes)
'''

LETTERS = '''"""Writes letter by letter."""

import torch
from torch import nn


class Letters(nn.Module):
    def __init__(self, vocabulary: int, width: int = 64, both: bool = False) -> None:
        super().__init__()
        self.letters = nn.Embedding(vocabulary, 24)
        self.gru = nn.GRU(24, width, batch_first=True, bidirectional=both)
        self.head = nn.Linear(width * (2 if both else 1), vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        found, _ = self.gru(self.letters(tokens))
        return self.head(found)


def build(vocabulary: int) -> nn.Module:
    return Letters(vocabulary)
'''


def own(folder: Path, base: Settings, network: str) -> Settings:
    """``base`` with the person's own ``network``."""
    (folder / "network.py").write_text(network)
    kept = {name: value for name, value in base.items() if not name.startswith("model.")}
    return kept | {"model.kind": "user_file", "model.path": "network.py"}
