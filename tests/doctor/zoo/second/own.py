"""People's own networks and Datasets that do something else than it seems, that overflow, or that are slow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_network, one_of
from tests.doctor.zoo.second import data, samples
from tests.doctor.zoo.second.networks import CONV, DENSE, LETTERS, WAVES, swap
from tests.doctor.zoo.trial import Trial

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


def with_silence(folder: Path) -> Settings:
    """Of an eighth of the recordings the microphone was off, which the third kind of machine does by itself."""
    settings = data.signals(folder)
    with np.load(folder / "recordings.npz") as archive:
        parts = {name: archive[name] for name in archive.files}
    for part in ("train", "validation"):
        silent = np.random.default_rng(4).random(len(parts[f"x_{part}"])) < 0.12
        parts[f"x_{part}"][silent], parts[f"y_{part}"][silent] = 0.0, 2
    np.savez(folder / "recordings.npz", allow_pickle=False, **parts)
    own: Settings = {"dataset.normalize": False, "loop.epochs": 20, "optimizer.lr": 6e-3}
    return settings | own  # they are around 0 already, and silence stays 0


def foresight(trial: Trial) -> float:
    """How much worse the network tells the letter after a text, of which it sees nothing beyond, than letters inside one: at most 0."""
    assert trial.run is not None
    weights = load_file(sorted(trial.run.glob("checkpoints/*/model.safetensors"))[-1])
    room: dict[str, Any] = {}
    exec((trial.folder / "network.py").read_text(), room)  # the case's own text
    letters = sorted(set(samples.draw_diary(1500)))
    network = room["build"](len(letters) + 1)  # token 0 stands for unknown letters
    network.load_state_dict({name.removeprefix("_model."): weight for name, weight in weights.items()})
    text = torch.tensor([letters.index(letter) + 1 for letter in samples.draw_diary(200, seed=1)])
    windows = text.unfold(0, 33, 7)
    network.eval()
    with torch.no_grad():
        right = network(windows[:, :-1]).argmax(2) == windows[:, 1:]
    return float(right[:, -1].float().mean() - right[:, 16:-1].float().mean())


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
    settings = data.signals(folder, count=1400, text=SPECTRA.replace("INIT", init).replace("ITEM", item))
    kept = {name: value for name, value in settings.items() if not name.startswith("model.")}
    return kept | {
        "dataset.random_samples": True,
        "loader.workers": 0,
        "model.kind": "mlp",
        "model.hidden": [64],
        "loop.epochs": 8,
        "optimizer.lr": 1e-2,
    }


LOUD = swap(
    WAVES,
    ("padding=3)", "padding=3, bias=False)"),
    ("padding=2)", "padding=2, bias=False)"),
    ("x = F.relu(self.conv2(x))", "x = self.conv2(x)"),
    ("self.out(x.mean(2))", "self.out(torch.sqrt((x**2).mean(2) + 1e-4))"),
)
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
        (Fix("leave out no_grad", names=("no_grad", "conv1", "conv2", "network.py")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "tokens_cut_across_samples",
        "own network",
        "Attention over the eight measurements of a grain, with the batch in the middle, as torch wants it.",
        "tokens lie (8, batch, 24) and are cut into samples without being put back",
        by_network(
            data.grains,
            swap(
                ATTENTION,
                (", batch_first=True", ""),
                ("self.scale + self.place", "self.scale + self.place\n        tokens = tokens.transpose(0, 1)"),
                ("seen.flatten(1)", "seen.reshape(len(x), -1)"),
            ),
            ATTENTION,
        ),
        ("samples mixed inside a batch",),
        (Fix("batch_first", names=("batch_first", "look", "MultiheadAttention", "network.py")),),
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
        (Fix("read from the left", names=("bidirectional", "gru", "GRU", "network.py")),),
        Harm("", 0.08, foresight, "accuracy of the letter after a text minus that of letters inside one"),
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
        (Fix("noise in training alone", names=("randn_like", "network.py")),),
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
        (Fix("torch's softplus, or ReLU", names=("softplus", "network.py", "fc1")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "root_mean_square_pooling",
        "numeric",
        "Loudness is the root of the mean square, so I pool my recordings that way. Now training breaks off.",
        "the square root of 0, whose gradient is infinite, for a recording of silence",
        by_network(
            with_silence,
            swap(LOUD, ("mean(2) + 1e-4", "mean(2)")),
            LOUD,
        ),
        ("module produces non-finite values", "overflow"),
        (Fix("a small number inside the root", names=("sqrt", "network.py", "conv2")),),
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
            Fix("compute them once", names=("recordings.py", "__getitem__", "spectrum")),
            Fix("keep them", {"dataset.random_samples": one_of(False)}),
        ),
        Harm("", 3.0, "speed"),
    ),
)
