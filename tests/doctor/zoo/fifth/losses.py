"""Losses that say something else than what their people want, and numbers that overflow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_network, by_settings, one_of
from tests.doctor.zoo.draws import write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.fifth.data import draw_bikes, loans, wines
from tests.doctor.zoo.fifth.networks import ATTENTION, CONV1D, own
from tests.doctor.zoo.fifth.pictures import digits, waves

LOSS = '''"""Cross entropy by hand."""

import torch
from torch.nn import functional


def build(classes: int):
    def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        log_probabilities = functional.log_softmax(outputs, dim=1)
        chosen = log_probabilities[torch.arange(len(targets)), targets]
        return -chosen.mean()

    return loss
'''


def by_loss(
    base: Callable[[Path], Settings], faulty: str, sound: str, task: str = "classification"
) -> Callable[[Path, bool], Settings]:
    """A fault in the person's own loss."""

    def write(folder: Path, fault: bool) -> Settings:
        (folder / "loss.py").write_text(faulty if fault else sound)
        kept = {name: value for name, value in base(folder).items() if not name.startswith("objective.")}
        return kept | {"objective.kind": "user_loss", "objective.path": "loss.py", "objective.task": task}

    return write


def _numbered(folder: Path) -> Settings:
    """Cultivars by SGD."""
    return wines(folder, cultivars=6) | {"optimizer.kind": "sgd", "optimizer.lr": 0.05, "schedule.kind": "one_cycle"}


def _typos(folder: Path, fault: bool) -> Settings:
    """Rentals of which (or not) a few are twenty times too large; fresh rows are right."""
    write_table(folder / "fresh.csv", draw_bikes(600, seed=91))
    columns = draw_bikes(3000, seed=6)
    if fault:
        draws = np.random.default_rng(3)
        wrong = draws.random(3000) < 0.02
        columns["rentals"] = np.where(wrong, (columns["rentals"] + 10) * 20, columns["rentals"])
    write_table(folder / "bikes.csv", columns)
    return {
        "dataset.kind": "table",
        "dataset.path": "bikes.csv",
        "dataset.targets": ["rentals"],
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "regression",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        "optimizer.kind": "adamw",
        "optimizer.lr": 4e-3,
        "schedule.kind": "cosine",
    }


CASES = (
    Case(
        "digits_absolute_differences",
        "loss",
        "My loss is the mean distance between the outputs and the one-hot label. It falls to 0.1 at once, and accuracy stays near guessing.",
        "L1 between the scores and a one-hot label of ten classes: all zeros is nearly as good as it gets.",
        by_loss(
            lambda folder: digits(folder) | {"optimizer.lr": 2e-3},
            edit(
                LOSS,
                (
                    "log_probabilities = functional.log_softmax(outputs, dim=1)",
                    "wanted = functional.one_hot(targets, outputs.shape[1]).float()",
                ),
                ("        chosen = log_probabilities[torch.arange(len(targets)), targets]\n", ""),
                ("-chosen.mean()", "(outputs - wanted).abs().mean()"),
                ("Cross entropy by hand.", "How far from the label."),
            ),
            LOSS,
        ),
        ("wrong loss",),
        (
            Fix("Cross entropy.", {"objective.kind": one_of("classification")}),
            Fix("Cross entropy in the own file.", names=("loss.py", "abs", "cross entropy")),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "pump_lost_the_minus",
        "loss",
        "I wrote the cross entropy from its formula. The loss goes down without end, minus ten thousand already, and accuracy goes down with it.",
        "The own loss is the mean log probability without its minus: the right class is made unlikely.",
        by_loss(
            lambda folder: own(folder, waves(folder), CONV1D),
            edit(LOSS, ("return -chosen.mean()", "return chosen.mean()")),
            LOSS,
        ),
        ("sign of the loss",),
        (
            Fix("Put the minus back.", names=("loss.py", "minus", "sign")),
            Fix("Cross entropy.", {"objective.kind": one_of("classification")}),
        ),
        Harm("accuracy", 0.3),
    ),
    Case(
        "cultivars_summed_loss",
        "loss",
        "The likelihood of a data set is a product, so its logarithm is a sum: I add the loss up. In the lecture plain SGD worked, here it explodes.",
        "The own loss adds a batch up: gradients are 32 times those of the mean.",
        by_loss(
            lambda folder: _numbered(folder) | {"loop.clip_norm": 0.0},
            edit(LOSS, ("-chosen.mean()", "-chosen.sum()")),
            LOSS,
        ),
        ("reduction of the loss", "learning rate too high"),
        (
            Fix("The mean instead of the sum.", names=("loss.py", "sum", "mean")),
            Fix("The usual loss.", {"objective.kind": one_of("classification")}),
            Fix("A rate for sums.", {"optimizer.lr": between(1e-5, 4e-3)}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "defaults_weighted_away",
        "loss",
        "Defaults are rare, so I gave the classes weights by how many there are. It does not find a single default any more.",
        "class_weights are the shares of the classes and not their inverse: the rare class counts least.",
        by_settings(
            lambda folder: {
                name: value for name, value in loans(folder, bias=-1.6).items() if not name.startswith("objective.")
            },
            {"objective.class_weights": [1.0, 0.1]},
        ),
        ("class weights",),
        (
            Fix("No weights.", {"objective.class_weights": one_of([], ())}),
            Fix(
                "The inverse weights.",
                {"objective.class_weights": lambda value: len(value) == 2 and value[1] >= value[0]},
            ),
            Fix("Balanced.", {"objective.balanced": one_of(True), "objective.class_weights": one_of([], ())}),
        ),
        Harm("f1", 0.1),
    ),
    Case(
        "rentals_of_whole_days",
        "loss",
        "Some rows hold the sum of a day and not of an hour, I think; I did not look at each. At night it predicts far too many bicycles.",
        "2 % of the targets are twenty times too large, and squared errors see little else.",
        _typos,
        ("outliers",),
        (
            Fix("A loss that outliers do not rule.", {"objective.loss": one_of("l1", "huber")}),
            Fix("Correct or leave out these rows.", names=("rentals", "bikes.csv", "row")),
        ),
        Harm("mae", 15, by="fresh"),
    ),
)

_SOFTMAX = edit(
    ATTENTION,
    (
        "        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)\n",
        "        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))\n",
    ),
    (
        "        x = self.norm1(x + self.attention(x, x, x, need_weights=False)[0])\n",
        "        x = self.norm1(x + self.attend(x))\n",
    ),
    (
        "        return self.head(x.mean(1))\n",
        "        return self.head(x.mean(1))\n\n"
        "    def attend(self, x: torch.Tensor) -> torch.Tensor:\n"
        "        scores = self.query(x) @ self.key(x).transpose(1, 2)\n"
        "        weights = torch.softmax(scores / 5.66, dim=2)\n"
        "        return weights @ self.value(x)\n",
    ),
)

NUMERIC = (
    Case(
        "pump_softmax_by_hand",
        "numeric",
        "I wrote attention myself to understand it: exp of the scores over their sum. After a while all is NaN.",
        "exp of scores that are neither scaled nor shifted overflows float32.",
        by_network(
            lambda folder: waves(folder) | {"optimizer.lr": 2e-3, "loop.epochs": 12},
            edit(
                _SOFTMAX,
                (
                    "        weights = torch.softmax(scores / 5.66, dim=2)\n",
                    "        powers = torch.exp(20 * scores)  # sharper\n        weights = powers / powers.sum(2, keepdim=True)\n",
                ),
            ),
            _SOFTMAX,
        ),
        ("overflow", "module produces non-finite values"),
        (Fix("torch.softmax of scaled scores.", names=("exp", "attend", "softmax", "network.py", "Pieces")),),
        Harm("accuracy", 0.2),
    ),
)
