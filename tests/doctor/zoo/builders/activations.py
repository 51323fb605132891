"""What stands at the end of a network, and between its layers."""

from __future__ import annotations

from tests.doctor.zoo.builders.bases import (
    CNN,
    LANGUAGE,
    MLP,
    changed,
    figures,
    points,
    pumps,
    swapped,
    tales,
    wines,
    yields,
)
from tests.doctor.zoo.case import Case, Fix, Harm, by_network, by_settings
from tests.doctor.zoo.draws import tagged

END, FLAT_END = "nn.Linear(48, classes),", "nn.Linear(48, classes), "
DEEP = MLP.replace(
    "nn.Linear(48, 48), nn.ReLU(),", "*[part for _ in range(7) for part in (nn.Linear(48, 48), nn.ReLU())],"
)
TAGS = swapped(CNN, ("24 * 16", "24 * 25"))


def ends_in(network: str, module: str) -> str:
    return swapped(network, (END, f"{FLAT_END}{module},"))


CASES = (
    Case(
        "moons_softmax",
        "activation",
        "My network of moons answers probabilities.",
        "The network ends in Softmax, and cross-entropy takes logits.",
        by_network(points("moons"), ends_in(MLP, "nn.Softmax(dim=1)"), MLP),
        ("softmax before a loss on logits",),
        (Fix("Leave the Softmax out.", names=("softmax", "Softmax", "network.py")),),
        Harm("loss", 0.15),
    ),
    Case(
        "figures_softmax",
        "activation",
        "An image network from a Keras tutorial.",
        "The network ends in Softmax, and cross-entropy takes logits.",
        by_network(figures, ends_in(CNN, "nn.Softmax(dim=1)"), CNN),
        ("softmax before a loss on logits",),
        (Fix("Leave the Softmax out.", names=("softmax", "Softmax", "network.py")),),
        Harm("loss", 0.15),
    ),
    Case(
        "tales_softmax",
        "activation",
        "A language model of my own that answers probabilities of letters.",
        "The network ends in a softmax, and cross-entropy takes logits.",
        by_network(
            tales, swapped(LANGUAGE, ("return self.head(hidden)", "return self.head(hidden).softmax(-1)")), LANGUAGE
        ),
        ("softmax before a loss on logits",),
        (Fix("Leave the softmax out.", names=("softmax", "Softmax", "network.py", "Letters")),),
        Harm("loss", 0.3),
    ),
    Case(
        "yields_sigmoid",
        "activation",
        "Good or not: my network answers a probability.",
        "The network ends in Sigmoid, and binary cross-entropy takes logits.",
        by_network(yields, ends_in(MLP, "nn.Sigmoid()"), MLP),
        ("sigmoid before a loss on logits",),
        (Fix("Leave the Sigmoid out.", names=("sigmoid", "Sigmoid", "network.py")),),
        Harm("loss", 0.1),
    ),
    Case(
        "photos_sigmoid",
        "activation",
        "Three yes-or-no labels for each photo.",
        "The network ends in Sigmoid, and binary cross-entropy takes logits.",
        by_network(changed(tagged, {"loop.epochs": 8}), ends_in(TAGS, "nn.Sigmoid()"), TAGS),
        ("sigmoid before a loss on logits",),
        (Fix("Leave the Sigmoid out.", names=("sigmoid", "Sigmoid", "network.py")),),
        Harm("loss", 0.1),
    ),
    Case(
        "wines_relu_end",
        "activation",
        "A price is never negative, so my network ends in ReLU.",
        "ReLU at the end: the standardized target is negative for half of the samples.",
        by_network(wines, ends_in(MLP, "nn.ReLU()"), MLP),
        ("ReLU at the end of a regression",),
        (Fix("Leave the last ReLU out.", names=("ReLU", "relu", "network.py")),),
        Harm("r2", 0.1),
    ),
    Case(
        "pumps_relu_logits",
        "activation",
        "Each Linear of my network has its ReLU.",
        "ReLU before the logits, with a rate at which some classes' logits die.",
        by_network(changed(pumps, {"optimizer.lr": 1e-2}), ends_in(MLP, "nn.ReLU()"), MLP),
        ("ReLU before the logits",),
        (Fix("Leave the last ReLU out.", names=("ReLU", "relu", "network.py")),),
        Harm("loss", 0.03),
    ),
    Case(
        "wines_tanh_end",
        "activation",
        "My network for prices ends in Tanh, as in the book.",
        "Answers stay within -1 and 1, and standardized prices reach beyond.",
        by_network(wines, ends_in(MLP, "nn.Tanh()"), MLP),
        ("bounded output",),
        (Fix("Leave the Tanh out.", names=("Tanh", "tanh", "network.py")),),
        Harm("r2", 0.04),
    ),
    Case(
        "circles_linear",
        "activation",
        "A network of three layers cannot tell two rings apart.",
        "No activation between the layers.",
        by_network(points("circles"), MLP.replace(" nn.ReLU(),", ""), MLP),
        ("no activation between layers",),
        (Fix("Put ReLU between the layers.", names=("activation", "ReLU", "network.py")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "figures_linear",
        "activation",
        "Convolutions, pooled by their mean, and no more than 60 %.",
        "No activation between the layers.",
        by_network(
            figures,
            CNN.replace(" nn.ReLU(),", "").replace("MaxPool2d", "AvgPool2d"),
            CNN.replace("MaxPool2d", "AvgPool2d"),
        ),
        ("no activation between layers",),
        (Fix("Put ReLU between the layers.", names=("activation", "ReLU", "network.py")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "circles_deep_sigmoid",
        "activation",
        "Nine layers with Sigmoid learn nothing at all.",
        "Deep layers of Sigmoid: the gradient vanishes.",
        by_network(points("circles"), DEEP.replace("nn.ReLU()", "nn.Sigmoid()"), DEEP),
        ("saturating activation",),
        (Fix("ReLU in place of Sigmoid.", names=("Sigmoid", "sigmoid", "network.py")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "spiral_deep_tanh",
        "activation",
        "Tanh, and inputs that I left large.",
        "Weights so large that all units of Tanh are at their ends.",
        by_settings(
            changed(points("spiral"), {"model.hidden": [48] * 3, "loop.epochs": 25, "optimizer.lr": 5e-3}),
            {"model.activation": "tanh", "optimizer.lr": 0.3, "loop.clip_norm": 100.0},
        ),
        ("saturating activation", "learning rate too high"),
        (Fix("A rate that Adam can use.", {"optimizer.lr": lambda value: 3e-4 <= value <= 0.03}),),
        Harm("accuracy", 0.1),
    ),
)
