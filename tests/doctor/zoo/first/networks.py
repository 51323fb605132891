"""Networks of people's own, as they ask about them: each sound, to be broken by ``edit``."""

from __future__ import annotations

MLP = """import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.fc1 = nn.Linear(features, 64)
        self.fc2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.out(x)


def build(features: int, classes: int):
    return Net(features, classes)
"""

CNN = """import torch
from torch import nn
from torch.nn import functional as F


class ConvNet(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.AdaptiveMaxPool2d(4)
        self.fc = nn.Linear(32 * 16, 64)
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = self.pool(F.relu(self.conv2(x)))
        x = F.relu(self.fc(torch.flatten(x, 1)))
        return self.head(x)


def build(channels: int, classes: int):
    return ConvNet(channels, classes)
"""

DEEP = """from torch import nn


def build(features: int, classes: int, width: int = 32, depth: int = 6):
    layers = [nn.Linear(features, width), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, classes))
"""

TRANSFORMER = """import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class TinyTransformer(nn.Module):
    def __init__(self, vocabulary, context, width, heads):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(2)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        length = x.shape[1]
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool, device=x.device), 1)
        h = self.tokens(x) + self.positions.weight[:length]
        for block in self.blocks:
            h = block(h, mask)
        return self.head(h)


def build(vocabulary: int, context: int, width: int = 32, heads: int = 2):
    return TinyTransformer(vocabulary, context, width, heads)
"""

LISTED = """import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self, features, classes, depth):
        super().__init__()
        self.first = nn.Linear(features, 24)
        self.hidden = [nn.Linear(24, 24) for _ in range(depth)]
        self.out = nn.Linear(24, classes)

    def forward(self, x):
        x = F.relu(self.first(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        return self.out(x)


def build(features: int, classes: int, depth: int = 5):
    return Net(features, classes, depth)
"""
