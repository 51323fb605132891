"""Own networks: how their weights begin, what is missing, and what does not do what it was meant to."""

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
)
from tests.doctor.zoo.case import Case, Fix, Harm, by_network, by_settings
from tests.doctor.zoo.draws import WORDS
from tests.doctor.zoo.trial import Trial, command

BUILT = "    return nn.Sequential("
NAMED = MLP.replace(BUILT, "    network = nn.Sequential(") + "    {after}\n    return network\n"


def begins(after: str) -> str:
    """The network, whose weights are changed by ``after`` before it is returned."""
    return NAMED.replace("{after}", after.replace("\n", "\n    "))


EACH = "for layer in network:\n    if isinstance(layer, nn.Linear):\n        "
SOUND = begins("pass")
MODULE = """import torch
from torch import nn


class Network(nn.Module):
    def __init__(self, features: int, classes: int):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(features, 48), nn.Linear(48, 48), nn.Linear(48, classes)

    def forward(self, inputs):
        hidden = torch.relu(self.first(inputs))
        hidden = torch.relu(self.second(hidden))
        return self.head(hidden)


def build(features: int, classes: int):
    return Network(features, classes)
"""
HIDDEN = "        hidden = torch.relu(self.second(hidden))\n"


def share_of_words(trial: Trial) -> float:
    """Of what it writes: how much are words of the text that it learned."""
    code, record, said = command(
        ["generate", str(trial.run), "--prompt", "the old king ", "--tokens", "400", "--json", "--trust"], trial.folder
    )
    if code:
        raise RuntimeError(said)
    words = str(record["text"]).replace(".", " ").split()
    return sum(word in WORDS for word in words) / max(len(words), 1)


CASES = (
    Case(
        "moons_symmetric",
        "initialization",
        "I set all weights myself, to be reproducible.",
        "All weights of a layer are the same, so that its units stay the same.",
        by_network(points("moons"), begins(EACH + "nn.init.constant_(layer.weight, 0.1)"), SOUND),
        ("symmetric initialization",),
        (Fix("Draw the weights at random.", names=("weight", "init", "network.py", "Linear")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "pumps_zero",
        "initialization",
        "All weights begin at zero.",
        "Zero weights: nothing but the last bias can change.",
        by_network(pumps, begins(EACH + "nn.init.zeros_(layer.weight)\n        nn.init.zeros_(layer.bias)"), SOUND),
        ("symmetric initialization", "dead initialization"),
        (Fix("Draw the weights at random.", names=("weight", "init", "network.py", "Linear")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "circles_dead",
        "initialization",
        "Bias of my own choice.",
        "Biases of -20 before ReLU: no hidden unit is ever active.",
        by_network(points("circles"), begins("nn.init.constant_(network[0].bias, -20.0)"), SOUND),
        ("dead initialization",),
        (Fix("Biases of zero.", names=("bias", "dead", "network.py", "ReLU", "0")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "figures_dead",
        "initialization",
        "A CNN whose second convolution is silent.",
        "Biases of -20 before ReLU: no channel is ever active.",
        by_network(
            figures,
            CNN.replace(BUILT, "    network = nn.Sequential(")
            + "    nn.init.constant_(network[3].bias, -20.0)\n    return network\n",
            CNN,
        ),
        ("dead initialization",),
        (Fix("Biases of zero.", names=("bias", "dead", "network.py", "ReLU", "3")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "pumps_large",
        "initialization",
        "Weights drawn from a standard normal distribution.",
        "Weights with a std of 3: the first loss is in the hundreds.",
        by_network(pumps, begins(EACH + "nn.init.normal_(layer.weight, std=3.0)"), SOUND),
        ("initialization too large",),
        (Fix("The usual initialization.", names=("weight", "init", "network.py", "Linear")),),
        Harm("loss", 0.2),
    ),
    Case(
        "figures_head_large",
        "initialization",
        "A head with weights of its own.",
        "The last layer's weights have a std of 200: the first loss is far above that of guessing.",
        by_network(
            figures,
            CNN.replace(BUILT, "    network = nn.Sequential(")
            + "    nn.init.normal_(network[-1].weight, std=200.0)\n    return network\n",
            CNN,
        ),
        ("initialization too large",),
        (Fix("The usual initialization.", names=("weight", "init", "network.py", "head", "last")),),
        Harm("loss", 0.2),
    ),
    Case(
        "spiral_small",
        "initialization",
        "Small weights, that it may begin gently.",
        "Weights with a std of 0.00001 in four layers: no signal comes through.",
        by_network(
            changed(points("spiral"), {"optimizer.kind": "sgd", "optimizer.lr": 0.1}),
            begins(EACH + "nn.init.normal_(layer.weight, std=1e-5)\n        nn.init.zeros_(layer.bias)"),
            SOUND,
        ),
        ("initialization too small",),
        (Fix("The usual initialization.", names=("weight", "init", "network.py", "Linear")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "spiral_few_units",
        "layers",
        "A small network, that it may not overfit.",
        "Two hidden units cannot bend three arms.",
        by_settings(points("spiral", **{"optimizer.lr": 1e-2}), {"model.hidden": [2]}),
        ("too few neurons", "missing layers"),
        (Fix("More units.", {"model.hidden": lambda value: max(value, default=0) >= 12}),),
        Harm("accuracy", 0.15),
    ),
    Case(
        "circles_no_layer",
        "layers",
        "The simplest network that there is.",
        "No hidden layer: a straight line between two rings.",
        by_network(points("circles"), MLP.split(BUILT)[0] + "    return nn.Linear(features, classes)\n", MLP),
        ("missing layers", "no activation between layers"),
        (Fix("A hidden layer.", names=("layer", "hidden", "network.py", "activation")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "figures_too_deep",
        "layers",
        "More layers are better: forty.",
        "Forty linear layers with ReLU and no norm before the head: nothing comes through.",
        by_network(
            figures,
            swapped(
                CNN,
                (
                    "nn.Linear(48, classes)",
                    "*[part for _ in range(40) for part in (nn.Linear(48, 48), nn.ReLU())], nn.Linear(48, classes)",
                ),
            ),
            CNN,
        ),
        ("superfluous layers", "initialization too small"),
        (Fix("Fewer layers.", names=("layers", "network.py", "norm", "residual", "init")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "moons_detached",
        "own network",
        "I wanted to log the hidden values.",
        "hidden.detach() cuts the first layer off from the gradient.",
        by_network(
            changed(points("moons"), {"optimizer.lr": 1e-3, "loop.epochs": 10}),
            swapped(MODULE, ("torch.relu(self.first(inputs))", "torch.relu(self.first(inputs)).detach()")),
            MODULE,
        ),
        ("parameters without gradient",),
        (Fix("Leave detach out.", names=("first", "detach")),),
        Harm("loss", 0.01),
    ),
    Case(
        "circles_hidden_in_list",
        "own network",
        "Layers in a plain list.",
        "Layers in a Python list are no part of the network and are never trained.",
        by_network(
            changed(points("circles"), {"loop.epochs": 8}),
            swapped(
                MODULE,
                (
                    "self.first, self.second, self.head = nn.Linear(features, 48), nn.Linear(48, 48), nn.Linear(48, classes)",
                    "self.body, self.head = [nn.Linear(features, 2)], nn.Linear(2, classes)",
                ),
                (
                    "        hidden = torch.relu(self.first(inputs))\n" + HIDDEN,
                    "        hidden = torch.relu(self.body[0](inputs))\n",
                ),
            ),
            MODULE,
        ),
        ("parameters without gradient", "too few neurons"),
        (Fix("nn.ModuleList.", names=("ModuleList", "list", "body", "network.py")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "figures_frozen_by_hand",
        "own network",
        "A backbone with requires_grad off, of an older experiment.",
        "The convolutions are random and never trained.",
        by_network(
            figures,
            CNN.replace(BUILT, "    network = nn.Sequential(")
            + "    for part in network[:6]:\n        part.requires_grad_(False)\n    return network\n",
            CNN,
        ),
        ("parameters without gradient", "frozen layers"),
        (Fix("Train them.", names=("requires_grad", "network.py", "0", "3")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "pumps_mixed",
        "own network",
        "I normalize inside the network.",
        "Each batch is centered by its own mean in evaluation, too: an answer depends on the others of its batch.",
        by_network(
            changed(pumps, {"loop.validation_batch_size": 2}),
            swapped(MODULE, (HIDDEN, HIDDEN + "        hidden = (hidden - hidden.mean(0)) / (hidden.std(0) + 1e-3)\n")),
            MODULE,
        ),
        ("samples mixed inside a batch",),
        (Fix("BatchNorm, or the mean over features.", names=("batch", "network.py", "mean")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "tales_future",
        "own network",
        "My language model is almost perfect after an epoch.",
        "No causal mask: each place sees the letter that it is to guess.",
        by_network(tales, swapped(LANGUAGE, ("self.layers(hidden, mask=mask)", "self.layers(hidden)")), LANGUAGE),
        ("language model sees the future",),
        (Fix("A causal mask.", names=("mask", "future", "causal", "layers")),),
        Harm("", 0.3, by=share_of_words, words="share of words in the text that it writes"),
    ),
    Case(
        "pumps_random_evaluation",
        "own network",
        "Dropout by hand, each time I evaluate I get another number.",
        "functional.dropout without self.training draws in evaluation, too.",
        by_network(
            pumps,
            swapped(MODULE, (HIDDEN, HIDDEN + "        hidden = nn.functional.dropout(hidden, 0.8)\n")),
            swapped(MODULE, (HIDDEN, HIDDEN + "        hidden = nn.functional.dropout(hidden, 0.2, self.training)\n")),
        ),
        ("randomness in evaluation",),
        (Fix("Dropout by self.training.", names=("dropout", "random", "network.py", "eval")),),
        Harm("loss", 0.05),
    ),
    Case(
        "wines_root",
        "numeric",
        "A feature by the root of another.",
        "The root of a negative number is NaN, and its gradient, too.",
        by_network(
            wines,
            swapped(MODULE, (HIDDEN, HIDDEN + "        hidden = hidden + torch.log(self.second(hidden) + 0.6)\n")),
            swapped(
                MODULE, (HIDDEN, HIDDEN + "        hidden = hidden + torch.log(self.second(hidden).abs() + 0.6)\n")
            ),
        ),
        ("module produces non-finite values",),
        (Fix("Log of what is above zero.", names=("log", "network.py", "second", "network")),),
        Harm("r2", 0.1),
    ),
    Case(
        "pumps_exp",
        "numeric",
        "Attention with exp written out.",
        "exp of large numbers overflows: infinity divided by infinity.",
        by_network(
            pumps,
            swapped(
                MODULE,
                (
                    HIDDEN,
                    HIDDEN
                    + "        weight = torch.exp(40 * hidden)\n        hidden = hidden * weight / weight.sum(1, keepdim=True)\n",
                ),
            ),
            swapped(MODULE, (HIDDEN, HIDDEN + "        hidden = hidden * torch.softmax(4 * hidden, 1)\n")),
        ),
        ("overflow", "module produces non-finite values"),
        (Fix("softmax.", names=("exp", "network.py", "network", "softmax", "overflow")),),
        Harm("accuracy", 0.1),
    ),
)
