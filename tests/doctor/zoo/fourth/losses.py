"""Losses, optimizers and batches that do not do what was meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_network, by_settings, one_of
from tests.doctor.zoo.draws import write_table
from tests.doctor.zoo.fourth.data import concrete, draw_concrete, minerals, pieces, songs, swings, trains
from tests.doctor.zoo.fourth.networks import convolutions


def _by_loss(base: Callable[[Path], Settings], task: str, faulty: str, sound: str) -> Callable[[Path, bool], Settings]:
    """A fault in the person's own loss."""

    def write(folder: Path, fault: bool) -> Settings:
        code = f"import torch\nfrom torch.nn import functional\n\n\n{faulty if fault else sound}\n\ndef build():\n    return loss\n"
        (folder / "loss.py").write_text(code)
        kept = {name: value for name, value in base(folder).items() if not name.startswith("objective.")}
        return kept | {"objective.kind": "user_loss", "objective.path": "loss.py", "objective.task": task}

    return write


def _swings(folder: Path, seed: int, count: int = 1500) -> Settings:
    return by_network(lambda place: swings(place, count, seed), "", convolutions())(folder, False)


def _sentinels(folder: Path, faulty: bool) -> Settings:
    settings = concrete(folder, 1800, 15)
    if faulty:
        columns = draw_concrete(1800, 15)
        columns["strength_mpa"][7::60] = 999.0
        write_table(folder / "concrete.csv", columns)
    write_table(folder / "fresh.csv", draw_concrete(600, 16))
    return settings


def _faces(folder: Path) -> Settings:
    return pieces(folder, 160, 18, 41, 6, 30.0) | {
        "objective.kind": "embedding",
        "objective.embedding_size": 16,
        "loop.batch_size": 48,
        "loop.epochs": 8,
    }


CASES = (
    Case(
        "likelihood_to_be_minimized",
        "loss",
        "I maximize the likelihood by hand, yet the labels get worse every epoch.",
        "the log-likelihood is minimized: the minus is missing",
        _by_loss(
            lambda folder: songs(folder, 2200, 11),
            "multi_label",
            "def loss(outputs, targets):\n    sign = 2 * targets.float() - 1\n    return functional.logsigmoid(sign * outputs).clamp(min=-20).mean()\n",
            "def loss(outputs, targets):\n    sign = 2 * targets.float() - 1\n    return -functional.logsigmoid(sign * outputs).clamp(min=-20).mean()\n",
        ),
        ("sign of the loss",),
        (Fix("Put a minus before the log-likelihood.", names=("minus", "negat", "loss.py")),),
        Harm("f1", 0.3),
    ),
    Case(
        "moods_that_compete",
        "loss",
        "Songs with three labels never get three.",
        "softmax cross-entropy for labels that do not exclude each other",
        _by_loss(
            lambda folder: songs(folder, 2200, 12),
            "multi_label",
            "def loss(outputs, targets):\n    return functional.cross_entropy(outputs, targets.float())\n",
            "def loss(outputs, targets):\n    return functional.binary_cross_entropy_with_logits(outputs, targets.float())\n",
        ),
        ("wrong loss",),
        (Fix("Take binary cross-entropy.", names=("binary", "BCE", "sigmoid", "cross_entropy")),),
        Harm("f1", 0.05),
    ),
    Case(
        "divided_by_all_samples",
        "loss",
        "I sum the loss and divide by the size of the data, as the formula has it.",
        "the sum over a batch divided by a hundred thousand, with SGD",
        _by_loss(
            lambda folder: _swings(folder, 24) | {"optimizer.kind": "sgd", "optimizer.lr": 0.05},
            "classification",
            "def loss(outputs, targets):\n    return functional.cross_entropy(outputs, targets, reduction='sum') / 100_000\n",
            "def loss(outputs, targets):\n    return functional.cross_entropy(outputs, targets)\n",
        ),
        ("reduction of the loss",),
        (Fix("Take the mean over the batch.", names=("reduction", "100_000", "average", "loss.py")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "rare_delays_counted_sixtyfold",
        "loss",
        "Few trains are late, so I balanced everything. Now nearly half are said to be late.",
        "positive samples weigh 60 times as much",
        by_settings(
            lambda folder: trains(folder, 3500, 14, -1.2),
            {"objective.pos_weight": 60.0},
        ),
        ("class weights",),
        (
            Fix("Take a smaller weight, or none.", {"objective.pos_weight": one_of(None)}),
            Fix("Take a smaller weight.", {"objective.pos_weight": between(0.3, 8)}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "strength_of_999",
        "loss",
        "The strength is predicted with an error of more than five.",
        "30 rows have 999 for a missing strength, and squares of their errors rule the loss",
        _sentinels,
        ("outliers", "wrong labels"),
        (
            Fix("Take these rows out.", names=("strength_mpa", "999", "concrete.csv")),
            Fix("Take a loss that outliers do not rule.", {"objective.loss": one_of("l1", "huber")}),
        ),
        Harm("mae", 1.5, "fresh"),
    ),
    Case(
        "recordings_by_bare_gradients",
        "optimizer",
        "I wanted to begin with the simplest of optimizers.",
        "SGD without momentum at the rate of Adam",
        by_settings(
            lambda folder: _swings(folder, 21),
            {"optimizer.kind": "sgd", "optimizer.lr": 1e-3, "optimizer.momentum": 0.0, "optimizer.nesterov": False},
        ),
        ("unsuitable optimizer", "optimizer settings", "learning rate too low"),
        (
            Fix(
                "Take Adam.",
                {"optimizer.kind": one_of("adamw", "adam", "nadam", "radam", "rmsprop", "muon", "adafactor")},
            ),
            Fix("Raise the rate.", {"optimizer.kind": one_of("sgd"), "optimizer.lr": between(0.05, 0.5)}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "rmsprop_divided_by_one",
        "optimizer",
        "Somebody said that a larger epsilon makes RMSprop calmer.",
        "eps of 1",
        by_settings(
            lambda folder: minerals(folder, 2200, 16) | {"optimizer.kind": "rmsprop", "optimizer.lr": 2e-3},
            {"optimizer.eps": 1.0},
        ),
        ("optimizer settings",),
        (
            Fix("Lower eps.", {"optimizer.eps": between(0, 1e-3)}),
            Fix("Take another optimizer.", {"optimizer.kind": one_of("sgd")}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "thaws_on_the_last_day",
        "optimizer",
        "The layers below thaw at the ninth epoch.",
        "all but the head are frozen, at random weights, until the last epoch, when the rate is next to nothing",
        by_settings(
            lambda folder: pieces(folder, 200, 18, 43) | {"loop.epochs": 10},
            {"optimizer.freeze": "all_but_head", "optimizer.unfreeze_epoch": 9},
        ),
        ("frozen layers",),
        (
            Fix("Freeze nothing.", {"optimizer.freeze": one_of("off")}),
            Fix("Thaw earlier.", {"optimizer.unfreeze_epoch": between(1, 5)}),
        ),
        Harm("accuracy", 0.15),
    ),
    Case(
        "gradients_clipped_to_dust",
        "optimizer",
        "I set the clipping to a very safe value.",
        "clip_norm of 0.0005, with SGD",
        by_settings(
            lambda folder: (
                concrete(folder, 1500, 17) | {"optimizer.kind": "sgd", "optimizer.lr": 0.03, "loop.clip_norm": 5.0}
            ),
            {"loop.clip_norm": 5e-4},
        ),
        ("optimizer settings",),
        (
            Fix("Clip less, or not.", {"loop.clip_norm": lambda value: value in (None, 0) or between(0.1, 1e9)(value)}),
            Fix(
                "Take Adam, which scales gradients.",
                {"optimizer.kind": one_of("adamw", "adam", "nadam", "radam", "rmsprop")},
            ),
        ),
        Harm("r2", 0.2),
    ),
    Case(
        "two_thousand_minerals_at_once",
        "batch",
        "The machine has memory enough for the whole table, so I use it.",
        "a batch of 2000 of 2000 training rows: a step an epoch",
        by_settings(lambda folder: minerals(folder, 2500, 18, 6), {"loop.batch_size": 2000}),
        ("batch too large",),
        (
            Fix("Take smaller batches.", {"loop.batch_size": between(4, 256)}),
            Fix("Take as many steps in more epochs.", {"loop.epochs": between(200, 10**5)}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "songs_gathered_for_an_epoch",
        "batch",
        "I accumulate gradients, which is said to be better for generalization.",
        "50 batches of 32 make one step",
        by_settings(lambda folder: songs(folder, 2000, 19), {"loop.accumulation": 50}),
        ("batch too large",),
        (
            Fix("Accumulate less.", {"loop.accumulation": between(1, 6)}),
            Fix("Take as many steps in more epochs.", {"loop.epochs": between(200, 10**5)}),
        ),
        Harm("f1", 0.1),
    ),
    Case(
        "nobody_to_compare_with",
        "batch",
        "My embeddings hardly learn who is alike.",
        "batches of two, in which there is hardly ever another of the same class to be compared with",
        by_settings(_faces, {"loop.batch_size": 2}),
        ("batch too small",),
        (Fix("Take larger batches.", {"loop.batch_size": between(16, 512)}),),
        Harm("recall_at_1", 0.1),
    ),
)
