"""Networks as persons write them, with and without their mistakes."""

from __future__ import annotations


def perceptron(*layers: str, parameters: str = "features: int, outputs: int", after: str = "") -> str:
    """A file with a Sequential of ``layers``; ``after`` stands between its making and its return."""
    body = "".join(f"        {layer},\n" for layer in layers)
    return (
        f"import torch\nfrom torch import nn\n\n\ndef build({parameters}):\n"
        f"    network = nn.Sequential(\n{body}    )\n{after}    return network\n"
    )


def linear(wide: int, activation: str = "nn.ReLU()", deep: int = 2, last: str = "") -> tuple[str, ...]:
    """The layers of a perceptron with ``deep`` hidden ones."""
    layers = [f"nn.Linear(features, {wide})", activation]
    for _ in range(deep - 1):
        layers += [f"nn.Linear({wide}, {wide})", activation]
    layers += [f"nn.Linear({wide}, outputs)", last]
    return tuple(layer for layer in layers if layer)


def convolutions(activation: str = "nn.ReLU()", last: str = "", after: str = "") -> str:
    """Of recordings (1, length)."""
    layers = [
        "nn.Conv1d(1, 16, 7, padding=3)",
        activation,
        "nn.Conv1d(16, 32, 5, padding=2, stride=2)",
        activation,
        "nn.AdaptiveAvgPool1d(4)",
        "nn.Flatten()",
        "nn.Linear(128, classes)",
        last,
    ]
    return perceptron(*(layer for layer in layers if layer), parameters="classes: int", after=after)


def pictures(last: str = "", body: str = "", activation: str = "torch.relu") -> str:
    """Of pictures; ``body`` stands before the head is asked."""
    return f"""import torch
from torch import nn


class PieceNet(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.first = nn.Conv2d(channels, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.squeeze = nn.AdaptiveMaxPool2d(3)
        self.hidden = nn.Linear(32 * 9, 48)
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        x = self.pool({activation}(self.first(x)))
        x = self.squeeze({activation}(self.second(x)))
        x = {activation}(self.hidden(x.flatten(1)))
{body}        x = self.head(x)
        return {last or "x"}


def build(channels: int, classes: int):
    return PieceNet(channels, classes)
"""
