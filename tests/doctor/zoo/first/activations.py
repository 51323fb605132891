"""Activations in a wrong place, in networks of people's own, as most of the questions that are asked about networks that do not learn."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_network, by_settings, one_of
from tests.doctor.zoo.draws import customers, flowers, houses, shapes, spiral, tagged
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.first.networks import CNN, DEEP, MLP


def shapes_by_sgd(folder: Path) -> Settings:
    return shapes(folder) | {"optimizer.kind": "sgd", "optimizer.lr": 0.02, "optimizer.momentum": 0.9}


def circles(_folder: Path) -> Settings:
    return {
        "dataset.kind": "circles",
        "dataset.samples": 800,
        "model.kind": "mlp",
        "objective.kind": "classification",
        "optimizer.kind": "adamw",
        "optimizer.lr": 5e-3,
        "schedule.kind": "constant",
        "loop.epochs": 15,
        "loop.batch_size": 32,
        "loop.decision_boundary": "off",
    }


def wider_houses(folder: Path) -> Settings:
    return houses(folder) | {"objective.loss": "huber"}


def many_flowers(folder: Path) -> Settings:
    return flowers(folder, kinds=8) | {"loop.epochs": 15}


def short_spiral(folder: Path) -> Settings:
    return spiral(folder) | {"optimizer.lr": 3e-3}


CASES = (
    Case(
        "softmax_last_in_cnn",
        "activation",
        "My CNN sorts pictures of four shapes. The loss goes down to about 0.9 and then just stays there, whatever I try. I put a softmax at "
        "the end because I need probabilities.",
        "nn.Softmax after the last layer, and cross-entropy applies softmax again",
        by_network(shapes_by_sgd, edit(CNN, ("return self.head(x)", "return F.softmax(self.head(x), dim=1)")), CNN),
        ("softmax before a loss on logits",),
        (Fix("return the logits, without softmax", names=("softmax",)),),
        Harm("loss", 0.3),
    ),
    Case(
        "sigmoid_twice_in_churn",
        "activation",
        "Binary classification of customers, one output, sigmoid at the end as in every tutorial. It says yes for every single customer.",
        "torch.sigmoid at the end, and the binary cross-entropy applies sigmoid again",
        by_network(customers, edit(MLP, ("return self.out(x)", "return torch.sigmoid(self.out(x))")), MLP),
        ("sigmoid before a loss on logits",),
        (Fix("return the logit, without sigmoid", names=("sigmoid",)),),
        Harm("f1", 0.1),
    ),
    Case(
        "relu_last_in_prices",
        "activation",
        "House prices cannot be negative, so my network ends with a ReLU. R2 stays poor, and cheap houses all get the same price.",
        "ReLU after the last layer, while the targets are standardized and half of them negative",
        by_network(houses, edit(MLP, ("return self.out(x)", "return F.relu(self.out(x))")), MLP),
        ("ReLU at the end of a regression",),
        (Fix("no activation after the last layer", names=("relu", "ReLU")),),
        Harm("r2", 0.1),
    ),
    Case(
        "no_activation_in_circles",
        "activation",
        "Three linear layers of 64 units and it still gets only half of the circles right. How can a net this big not learn a ring?",
        "no activation between the linear layers, so that the network is a linear one",
        by_network(
            circles,
            edit(MLP, ("F.relu(self.fc1(x))", "self.fc1(x)"), ("F.relu(self.fc2(x))", "self.fc2(x)")),
            MLP,
        ),
        ("no activation between layers",),
        (Fix("an activation between the linear layers", names=("activation", "non-linear", "ReLU")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "deep_sigmoids_on_spiral",
        "activation",
        "I made the network deeper to learn the spiral better, and now it learns nothing at all: the loss sits at 1.0986 = ln 3.",
        "eight layers of sigmoid, through which the gradient vanishes",
        by_network(spiral, edit(DEEP, ("nn.ReLU()", "nn.Sigmoid()")), DEEP),
        ("saturating activation",),
        (Fix("ReLU or another activation that does not saturate, or fewer layers", names=("sigmoid", "Sigmoid")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "relu_on_logits_of_flowers",
        "activation",
        "Eight species, and a few of them are never predicted although they have as many rows as the others.",
        "ReLU after the last layer of a classifier: logits below zero get no gradient",
        by_network(many_flowers, edit(MLP, ("return self.out(x)", "return F.relu(self.out(x))")), MLP),
        ("ReLU before the logits",),
        (Fix("no activation after the last layer", names=("relu", "ReLU")),),
        Harm("loss", 0.1),
    ),
    Case(
        "sigmoid_last_in_prices",
        "activation",
        "I scaled everything to 0..1 in my old Keras script and took the network over with its sigmoid output. Now expensive houses are all "
        "predicted too cheap.",
        "sigmoid after the last layer of a regression on standardized targets",
        by_network(wider_houses, edit(MLP, ("return self.out(x)", "return torch.sigmoid(self.out(x))")), MLP),
        ("bounded output",),
        (Fix("no activation after the last layer", names=("sigmoid", "Sigmoid")),),
        Harm("r2", 0.1),
    ),
    Case(
        "softmax_on_tags",
        "activation",
        "A photo can be round, framed and dark at once. My model finds one tag per photo at most, and often none.",
        "softmax over labels that do not exclude each other, before binary cross-entropy on logits",
        by_network(tagged, edit(CNN, ("return self.head(x)", "return torch.softmax(self.head(x), dim=1)")), CNN),
        ("softmax before a loss on logits",),
        (Fix("return the logits, without softmax", names=("softmax",)),),
        Harm("f1", 0.1),
    ),
    Case(
        "softmax_between_layers",
        "activation",
        "I read that softmax is the activation for classification, so I used it in all layers. It trains very slowly and stays behind a "
        "simple model.",
        "softmax as the activation of the hidden layers",
        by_network(
            short_spiral,
            edit(
                MLP,
                ("F.relu(self.fc1(x))", "F.softmax(self.fc1(x), dim=1)"),
                ("F.relu(self.fc2(x))", "F.softmax(self.fc2(x), dim=1)"),
            ),
            MLP,
        ),
        ("saturating activation",),
        (Fix("ReLU between the layers", names=("softmax",)),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "tanh_in_thirty_layers",
        "activation",
        "Thirty layers with tanh should be able to learn anything, shouldn't they? Accuracy is that of guessing.",
        "thirty layers of tanh without normalization or residual connections",
        by_settings(
            lambda folder: spiral(folder) | {"loop.epochs": 20},
            {"model.hidden": [24] * 30, "model.activation": "tanh"},
        ),
        ("saturating activation", "superfluous layers"),
        (
            Fix("far fewer layers", {"model.hidden": lambda value: 1 <= len(value) <= 8}),
            Fix("normalization in between", {"model.norm": one_of("batch", "layer", "group")}),
        ),
        Harm("accuracy", 0.2),
    ),
)
