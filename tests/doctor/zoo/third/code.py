"""Networks of people's own: how they begin, how large they are, what they do with samples and numbers; and a slow Dataset."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_network, by_settings, one_of
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.third.activations import either
from tests.doctor.zoo.third.networks import DEEP, LENET
from tests.doctor.zoo.third.pictures import CONV1D, VIBRATIONS, leaves, letters, recipes, vibrations
from tests.doctor.zoo.third.tables import arm, articles, changed, concrete, hearts, heating, minerals


def scaled_apart(folder: Path, seed: int, source: str, network: str) -> Settings:
    """The network scales each recording by itself."""
    return vibrations(folder, 3200, seed, source, network) | {"dataset.normalize": False, "loop.epochs": 8}


CONSTANT = edit(
    DEEP,
    (
        "        self.act = nn.ReLU()\n",
        "        self.act = nn.ReLU()\n        for parameter in self.parameters():\n            nn.init.constant_(parameter, 0.05)\n",
    ),
    ("40, 4)", "40, 1)"),
)
ROAR = edit(
    LENET,
    (
        "    def forward",
        "        for module in self.net:\n            if isinstance(module, (nn.Conv2d, nn.Linear)):\n"
        "                nn.init.normal_(module.weight, 0.0, 1.0)\n\n    def forward",
    ),
)
BORN_DEAD = edit(
    DEEP,
    (
        "        self.act = nn.ReLU()\n",
        "        self.act = nn.ReLU()\n        for layer in [self.first, *self.hidden]:\n"
        "            nn.init.normal_(layer.weight, std=0.01)\n            nn.init.constant_(layer.bias, -0.5)\n",
    ),
    ("40, 4)", "40, 1)"),
)
ATTENTION = """import torch
from torch import nn


class PatchListener(nn.Module):
    def __init__(self, features, classes, width=32):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.place = nn.Parameter(torch.randn(features // 4, width) * 0.02)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, width))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        patches = self.embed(x.view(len(x), -1, 4)) + self.place
        mixed, _ = self.attention(patches, patches, patches)
        return self.head(self.mlp(mixed).mean(1))


def build(features: int, classes: int):
    return PatchListener(features, classes)
"""
CAUSAL = """import torch
from torch import nn
from torch.nn import functional as F


class CausalConvs(nn.Module):
    def __init__(self, vocabulary, width=48):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.convs = nn.ModuleList([nn.Conv1d(width, width, 5) for _ in range(3)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.embed(tokens)
        for conv, norm in zip(self.convs, self.norms):
            padded = F.pad(norm(x).transpose(1, 2), (4, 0))
            x = x + F.gelu(conv(padded)).transpose(1, 2)
        return self.head(x)


def build(vocabulary: int):
    return CausalConvs(vocabulary)
"""
NOISY = """import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, 48), nn.ReLU())
        self.mean = nn.Linear(48, 16)
        self.decoder = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, outputs))
        self.spread, self.noisy = 0.7, True

    def forward(self, x):
        hidden = self.encoder(x)
        latent = self.mean(hidden)
        if self.training:
            latent = latent * (1 + self.spread * torch.randn_like(latent))
        return self.decoder(latent)


def build(features: int, classes: int):
    return Bottleneck(features, classes)
"""
LOUDNESS = edit(
    CONV1D,
    (
        "x = self.features(x.unsqueeze(1))",
        "x = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)\n        x = self.features(x.unsqueeze(1))",
    ),
)
SILENCE = edit(
    VIBRATIONS,
    ('"saw", "pulse"]', '"saw", "pulse", "off"]'),
    (
        '            self.kinds = file[f"{split}_kinds"]\n',
        '            self.kinds = file[f"{split}_kinds"]\n        self.values[::25] = self.values[::25, :1]  # the motor was off\n        self.kinds[::25] = 4\n',
    ),
)
POWERS = edit(
    DEEP,
    (
        "        return self.last(x)",
        "        weights = torch.exp(30 * self.gate(x))\n        weights = weights / weights.sum(1, keepdim=True)\n        return self.last(x * weights)",
    ),
    ("        self.act = nn.ReLU()\n", "        self.act = nn.ReLU()\n        self.gate = nn.Linear(width, width)\n"),
    ("40, 4)", "24, 1)"),
)
STABLE = edit(
    POWERS,
    (
        "        weights = torch.exp(30 * self.gate(x))\n        weights = weights / weights.sum(1, keepdim=True)\n",
        "        weights = torch.softmax(30 * self.gate(x), dim=1)\n",
    ),
)

CASES = (
    # How weights begin.
    Case(
        "all_weights_a_twentieth",
        "initialization",
        "To get the same run each time I set all weights to 0.05. All units of a layer do the same.",
        "all weights of a layer are alike, and stay so",
        by_network(partial(minerals, count=2500, seed=91), CONSTANT, edit(DEEP, ("40, 4)", "40, 1)"))),
        ("symmetric initialization",),
        (Fix("begin with random weights", names=("constant_", "init", "random", "symmetr")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "normal_means_one",
        "initialization",
        "I initialize by a normal distribution, as one should. The loss begins at some thousands.",
        "weights with a standard deviation of 1, in layers of hundreds of inputs",
        by_network(changed(partial(letters, each=250, seed=92), {"optimizer.lr": 1e-3}), ROAR, LENET),
        ("initialization too large",),
        (Fix("smaller weights, such as Kaiming's", names=("normal_", "init", "std", "kaiming", "xavier")),),
        Harm("loss", 0.3),
    ),
    Case(
        "born_with_a_bias",
        "initialization",
        "Small weights and a bias of -0.5, for sparse activations. Sparse they are.",
        "no unit is ever above zero, so no gradient comes through",
        by_network(partial(heating, count=2600, seed=93), BORN_DEAD, edit(DEEP, ("40, 4)", "40, 1)"))),
        ("dead initialization",),
        (Fix("begin with biases of zero", names=("bias", "init", "dead")),),
        Harm("r2", 0.5),
    ),
    # How large.
    Case(
        "a_line_for_an_arm",
        "layers",
        "No hidden layer, to begin with the simplest thing. The arm misses by half its length.",
        "a linear model of sines and cosines",
        by_settings(partial(arm, count=2700, seed=94), {"model.hidden": []}),
        ("missing layers",),
        (Fix("hidden layers", {"model.hidden": lambda value: bool(value) and min(value) >= 12}),),
        Harm("r2", 0.1),
    ),
    Case(
        "deep_is_better",
        "layers",
        "I read that deep networks are better, so mine has 36 layers. All articles are tagged alike.",
        "36 plain layers for a table of twelve columns",
        by_settings(
            changed(partial(articles, count=2600, seed=96), {"model.hidden": [24] * 2}), {"model.hidden": [24] * 36}
        ),
        ("superfluous layers",),
        (
            Fix(
                "fewer layers", {"model.hidden": lambda value: isinstance(value, list | tuple) and 1 <= len(value) <= 6}
            ),
            Fix("a way past the layers", {"model.residual": one_of(True)}),
        ),
        Harm("f1", 0.15),
    ),
    # Regularization.
    Case(
        "nineteen_of_twenty_dropped",
        "regularization",
        "It overfitted once, so I set dropout to 0.95.",
        "a dropout of 0.95 before the logits of a small network",
        by_settings(
            changed(partial(leaves, each=420, seed=97), {"loop.epochs": 8, "dataset.flip": True}),
            {"model.dropout": 0.95},
        ),
        ("regularization too strong",),
        (Fix("less dropout", {"model.dropout": between(0.0, 0.4)}),),
        Harm("loss", 0.2),
    ),
    Case(
        "against_overfitting_that_is_not",
        "regularization",
        "Dropout, decay, mixup and label smoothing: all that helps against overfitting. Now it does not even fit.",
        "dropout of 0.6, decay of 1, mixup and smoothing together, on a network that never overfitted",
        by_settings(
            partial(letters, each=280, seed=99, kinds=7),
            {
                "model.dropout": 0.6,
                "optimizer.weight_decay": 1.0,
                "dataset.mixup_alpha": 1.0,
                "objective.label_smoothing": 0.3,
            },
        ),
        ("redundant regularization", "regularization too strong"),
        (
            Fix(
                "one of them, mildly",
                {
                    "model.dropout": between(0.0, 0.3),
                    "dataset.mixup_alpha": between(0.0, 0.3),
                    "objective.label_smoothing": between(0.0, 0.1),
                },
            ),
            Fix("fewer of them", names=("dropout", "mixup", "smoothing", "decay", "regulariz")),
        ),
        Harm("loss", 0.2),
    ),
    # What a network does with samples.
    Case(
        "ears_under_no_grad",
        "own network",
        "The features are computed under no_grad to save memory, as in an example for transfer. It learns, but little.",
        "convolutions under torch.no_grad, so they stay as they began",
        either(
            partial(
                vibrations,
                seed=100,
                network=edit(
                    CONV1D,
                    (
                        "        x = self.features(x.unsqueeze(1))",
                        "        with torch.no_grad():\n            x = self.features(x.unsqueeze(1))",
                    ),
                ),
            ),
            partial(vibrations, seed=100),
        ),
        ("parameters without gradient", "frozen layers"),
        (Fix("no no_grad in forward", names=("no_grad", "features", "gradient")),),
        Harm("accuracy", 0.04),
    ),
    Case(
        "attention_to_the_neighbors",
        "own network",
        "A small transformer for vibrations. The same recording gets other answers in other batches.",
        "MultiheadAttention without batch_first takes the batch for the sequence, and mixes samples",
        either(
            partial(vibrations, count=3600, seed=101, network=edit(ATTENTION, (", batch_first=True", ""))),
            partial(vibrations, count=3600, seed=101, network=ATTENTION),
        ),
        ("samples mixed inside a batch",),
        (Fix("batch_first=True", names=("batch_first", "MultiheadAttention", "attention", "transpose")),),
        Harm("loss", 0.05),
    ),
    Case(
        "convolutions_that_look_ahead",
        "own network",
        "A language model of convolutions with padding on both sides, as for images. Its loss is better than any I have seen.",
        "each position sees the letters after it",
        by_network(
            partial(recipes, count=1000, seed=102),
            edit(CAUSAL, ("(4, 0)", "(2, 2)")),
            CAUSAL,
        ),
        ("language model sees the future",),
        (Fix("pad on the left alone", names=("pad", "causal", "convs", "future")),),
        Harm(
            "honesty",
            0.3,
            lambda trial: trial.metric("loss"),
            "validation loss, which cannot honestly be so low",
        ),
    ),
    Case(
        "draws_while_it_is_tested",
        "own network",
        "A latent variable, drawn anew each time. Two evaluations of one checkpoint differ.",
        "the latent is multiplied by noise in evaluation, too",
        by_network(
            partial(concrete, count=2500, seed=103),
            edit(
                NOISY,
                (
                    "        if self.training:\n            latent = latent * (1",
                    "        if self.noisy:\n            latent = latent * (1",
                ),
            ),
            NOISY,
        ),
        ("randomness in evaluation",),
        (Fix("no noise unless training", names=("randn_like", "training", "latent", "noise", "random")),),
        Harm("r2", 0.02),
    ),
    # Numbers, and time.
    Case(
        "scaled_by_its_own_silence",
        "numeric",
        "Each recording is divided by its own standard deviation. Where the motor is off, the line is flat, and then nothing works any more.",
        "zero divided by zero for recordings without any change",
        either(
            partial(
                scaled_apart,
                seed=104,
                source=SILENCE,
                network=edit(LOUDNESS, ("(x.std(1, keepdim=True) + 1e-5)", "x.std(1, keepdim=True)")),
            ),
            partial(scaled_apart, seed=104, source=SILENCE, network=LOUDNESS),
        ),
        ("module produces non-finite values", "non-finite values"),
        (Fix("add an epsilon", names=("std", "eps", "forward", "network.py", "NaN", "nan", "divi")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "exponents_of_sharp_gates",
        "numeric",
        "Gates by my own softmax, made sharp by a factor of 30. After some epochs everything is NaN.",
        "exp of numbers above 88, without the largest subtracted",
        by_network(
            changed(partial(hearts, count=16000, seed=105), {"optimizer.lr": 2e-3, "loop.epochs": 10}), POWERS, STABLE
        ),
        ("overflow", "module produces non-finite values"),
        (Fix("torch.softmax, or subtract the largest", names=("exp", "softmax", "gate", "overflow")),),
        Harm("loss", 0.2),
    ),
    Case(
        "unpacks_for_each_sample",
        "machine",
        "An epoch takes far longer than that of my colleague. The processor is busy, but not with training.",
        "each sample opens and unpacks the whole archive",
        either(
            changed(
                partial(
                    vibrations,
                    count=1600,
                    seed=106,
                    source=edit(
                        VIBRATIONS,
                        (
                            "    def __init__(self, split):\n",
                            "    def __init__(self, split):\n        self.split = split\n",
                        ),
                        (
                            "        return torch.from_numpy(self.values[index]), int(self.kinds[index])",
                            '        with np.load(FILE) as file:\n            values = file[f"{self.split}_values"]\n'
                            "        return torch.from_numpy(values[index]), int(self.kinds[index])",
                        ),
                    ),
                ),
                {"dataset.random_samples": True, "loader.workers": 0, "loop.epochs": 8},
            ),
            changed(
                partial(vibrations, count=1600, seed=106),
                {"dataset.random_samples": True, "loader.workers": 0, "loop.epochs": 8},
            ),
        ),
        ("slow loader",),
        (Fix("unpack once, in __init__", names=("vibrations.py", "__getitem__", "np.load", "__init__", "load")),),
        Harm("samples", 3.0, "speed"),
    ),
)
