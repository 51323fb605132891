"""People's own networks and Datasets that do something else than it seems, that overflow, or that are slow."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_network, one_of
from tests.doctor.zoo.judged import data
from tests.doctor.zoo.judged.networks import CONV, DENSE, LETTERS, WAVES, swap
from tests.doctor.zoo.trial import Trial, command

ATTENTION = '''"""Each number of a sample is a token, and tokens look at each other."""

import torch
from torch import nn


class Attentive(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(features, 24))
        self.place = nn.Parameter(torch.randn(features, 24))
        self.look = nn.MultiheadAttention(24, 2, batch_first=True)
        self.head = nn.Sequential(nn.Linear(24 * features, 48), nn.ReLU(), nn.Linear(48, classes))

    def forward(self, x):
        tokens = x.unsqueeze(2) * self.scale + self.place
        seen, _ = self.look(tokens, tokens, tokens, need_weights=False)
        return self.head(seen.flatten(1))


def build(features: int, classes: int):
    return Attentive(features, classes)
'''

ENERGY = '''"""Convolutions over a recording, and how far it is from a reference."""

import torch
import torch.nn.functional as F
from torch import nn


class Energetic(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.reference = nn.Parameter(torch.zeros(features))
        self.conv1 = nn.Conv1d(1, 16, 7, padding=3)
        self.conv2 = nn.Conv1d(16, 24, 5, padding=2)
        self.out = nn.Linear(25, outputs)

    def forward(self, x):
        distance = torch.sqrt(((x - self.reference) ** 2).sum(1, keepdim=True)EPSILON)
        x = F.max_pool1d(F.relu(self.conv1(x.unsqueeze(1))), 2)
        x = F.relu(self.conv2(x)).mean(2)
        return self.out(torch.cat([x, distance], 1))


def build(features: int, classes: int):
    return Energetic(features, classes)
'''


def with_silence(folder: Path) -> Settings:
    """Some recordings are silent."""
    settings = data.signals(folder)
    with np.load(folder / "recordings.npz") as archive:
        parts = {name: archive[name] for name in archive.files}
    for part in ("train", "validation"):
        silent = np.random.default_rng(4).random(len(parts[f"x_{part}"])) < 0.03
        parts[f"x_{part}"][silent], parts[f"y_{part}"][silent] = 0.0, 1
    np.savez(folder / "recordings.npz", **parts)
    return settings | {"dataset.normalize": False}


def sensible_words(trial: Trial) -> float:
    """The share of words in a text that the network writes which the diary has."""
    assert trial.run is not None
    words = ["generate", str(trial.run), "--tokens", "300", "--temperature", "0.5", "--json", "--trust"]
    code, record, said = command(words, trial.folder)
    if code:
        raise RuntimeError(f"{trial.folder}: {said}")
    known = {word.strip(".") for word in data.draw_diary(1500).split()}
    written = str(record["text"]).replace(".", " ").split()
    return sum(word in known for word in written) / max(len(written), 1)


SPECTRA = '''"""Spectra of recordings."""

import cmath
import math

import numpy as np
import torch
from torch.utils.data import Dataset


def spectrum(values):
    count = len(values)
    waves = [sum(v * cmath.exp(-2j * math.pi * k * n / count) for n, v in enumerate(values)) for k in range(count // 2)]
    return torch.tensor([abs(wave) for wave in waves])


class Spectra(Dataset):
    def __init__(self, part):
        archive = np.load("ARCHIVE")
        self.values, self.kinds = archive["x_" + part].tolist(), archive["y_" + part]
        INIT

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        return ITEM, int(self.kinds[index])


def build(split: str):
    return Spectra(split)
'''


def spectra(folder: Path, faulty: bool) -> Settings:
    init = (
        "pass"
        if faulty
        else "self.spectra = torch.from_numpy(np.abs(np.fft.rfft(archive['x_' + part]))[:, :24]).float()"
    )
    item = "spectrum(self.values[index])" if faulty else "self.spectra[index]"
    settings = data.signals(folder, count=800, text=SPECTRA.replace("INIT", init).replace("ITEM", item))
    kept = {name: value for name, value in settings.items() if not name.startswith("model.")}
    return kept | {
        "dataset.random_samples": True,
        "loader.workers": 0,
        "model.kind": "mlp",
        "model.hidden": [64],
        "loop.epochs": 8,
    }


SOFTPLUS = swap(
    DENSE,
    ("x = F.relu(self.fc1(x))", "x = F.softplus(self.fc1(x), beta=50.0)"),
    ("x = F.relu(self.fc2(x))", "x = F.softplus(self.fc2(x), beta=50.0)"),
)

CASES = (
    Case(
        "features_without_gradient",
        "own network",
        "I copied the lines that compute features from an example of transfer learning.",
        "torch.no_grad() around layers with random weights",
        by_network(
            data.signals,
            swap(
                WAVES,
                (
                    "        x = F.max_pool1d(F.relu(self.conv1(x)), 2)\n        x = F.relu(self.conv2(x))\n",
                    "        with torch.no_grad():\n            x = F.max_pool1d(F.relu(self.conv1(x)), 2)\n"
                    "            x = F.relu(self.conv2(x))\n",
                ),
            ),
            WAVES,
        ),
        ("parameters without gradient", "frozen layers"),
        (Fix("leave out no_grad", names=("no_grad", "conv1", "conv2", "network.py", "Waves")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "tokens_look_at_other_samples",
        "own network",
        "Attention over the eight measurements of a grain. Alone, a grain is judged otherwise than among others.",
        "MultiheadAttention without batch_first",
        by_network(data.grains, swap(ATTENTION, (", batch_first=True", "")), ATTENTION),
        ("samples mixed inside a batch",),
        (
            Fix(
                "batch_first", names=("batch_first", "look", "MultiheadAttention", "network.py", "Attentive", "forward")
            ),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "reads_from_both_sides",
        "own network",
        "A bidirectional GRU is better than one that reads from the left alone: the loss is close to nothing.",
        "a bidirectional GRU as language model",
        by_network(
            data.diary,
            swap(
                LETTERS,
                ("nn.GRU(24, width, batch_first=True)", "nn.GRU(24, width, batch_first=True, bidirectional=True)"),
                ("nn.Linear(width, vocabulary)", "nn.Linear(2 * width, vocabulary)"),
            ),
            LETTERS,
        ),
        ("language model sees the future",),
        (Fix("read from the left", names=("bidirectional", "gru", "GRU", "network.py", "Letters")),),
        Harm("", 0.3, sensible_words, "words of its text that the diary has"),
    ),
    Case(
        "noise_at_all_times",
        "own network",
        "Noise on the features makes my network robust, I thought.",
        "noise is added in evaluation, too",
        by_network(
            data.glyphs,
            swap(
                CONV, ("return self.fc2(x)", "x = x + 2.0 * x.std() * torch.randn_like(x)\n        return self.fc2(x)")
            ),
            swap(
                CONV,
                (
                    "return self.fc2(x)",
                    "if self.training:\n            x = x + 0.5 * x.detach().std() * torch.randn_like(x)\n        return self.fc2(x)",
                ),
            ),
        ),
        ("randomness in evaluation", "samples mixed inside a batch"),
        (Fix("noise in training alone", names=("randn_like", "training", "network.py", "forward", "LeNet")),),
        Harm("accuracy", 0.02),
    ),
    Case(
        "softplus_by_hand",
        "numeric",
        "A sharp softplus in place of ReLU, as the formula in the paper has it.",
        "log(1 + exp(50 x)) / 50, which overflows",
        by_network(
            data.grains,
            SOFTPLUS.replace(
                "F.softplus(self.fc1(x), beta=50.0)", "torch.log(1 + torch.exp(50 * self.fc1(x))) / 50"
            ).replace("F.softplus(self.fc2(x), beta=50.0)", "torch.log(1 + torch.exp(50 * self.fc2(x))) / 50"),
            SOFTPLUS,
        ),
        ("overflow", "module produces non-finite values"),
        (Fix("torch's softplus, or ReLU", names=("exp", "softplus", "network.py", "Net", "forward", "fc1")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "distance_of_silence",
        "numeric",
        "Training stops at once, and only since I have added the distance from a reference.",
        "the square root of 0, whose gradient is infinite",
        by_network(with_silence, ENERGY.replace("EPSILON", ""), ENERGY.replace("EPSILON", " + 1e-6")),
        ("module produces non-finite values", "overflow"),
        (
            Fix(
                "a small number inside the root",
                names=("sqrt", "distance", "reference", "network.py", "Energetic", "forward"),
            ),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "spectra_by_hand",
        "machine",
        "An epoch takes ages, though network and data are small.",
        "a Fourier transform in plain Python for each sample of each epoch",
        spectra,
        ("slow loader",),
        (
            Fix("compute them once", names=("numbers.py", "recordings.py", "__getitem__", "spectrum", "Dataset")),
            Fix("keep them", {"dataset.random_samples": one_of(False)}),
        ),
        Harm("", 3.0, "speed"),
    ),
)
