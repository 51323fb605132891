"""How networks begin, what they lack or have too much of, and mistakes in people's own."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_network, by_settings
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.fifth.data import bikes, concrete, loans, wines
from tests.doctor.zoo.fifth.networks import CNN, CONV1D, LETTERS, MLP, NET, READER
from tests.doctor.zoo.fifth.pictures import digits, notices, waves

# Initialization: the last lines of build, which set weights.

_BUILD = "    return Net(features, outputs)\n"


def _begun(*lines: str) -> str:
    """NET, whose build runs ``lines`` for each layer."""
    body = "".join(f"            {line}\n" for line in lines)
    return edit(
        NET,
        (
            _BUILD,
            "    net = Net(features, outputs)\n    for layer in net.modules():\n        if isinstance(layer, nn.Linear):\n"
            f"{body}    return net\n",
        ),
    )


_HE = _begun('nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")', "nn.init.zeros_(layer.bias)")

_TANH = '''"""A deep network of tanh."""

from torch import nn


def build(features: int, outputs: int, width: int = 40, depth: int = 5) -> nn.Module:
    layers: list[nn.Module] = [nn.Linear(features, width), nn.Tanh()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.Tanh()]
    net = nn.Sequential(*layers, nn.Linear(width, outputs))
    for layer in net:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
    return net
'''

_SGD: Settings = {"optimizer.kind": "sgd", "optimizer.lr": 0.05}

INITIALIZATION = (
    Case(
        "rentals_all_weights_alike",
        "initialization",
        "To make my runs repeatable I begin with the same number in all weights. It learns a bit and then no more, however wide I make it.",
        "All weights of a layer are 0.05: its units remain copies of one another.",
        by_network(
            bikes,
            edit(
                _HE,
                ('nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")', "nn.init.constant_(layer.weight, 0.05)"),
            ),
            _HE,
        ),
        ("symmetric initialization",),
        (Fix("Random weights.", names=("constant_", "0.05", "network.py", "Net", "fc1", "fc2", "out")),),
        Harm("r2", 0.15),
    ),
    Case(
        "strength_negative_bias",
        "initialization",
        "The bias is a threshold in biology, so mine is -8. Most of my units never fire.",
        "Biases of -8 before ReLUs whose inputs are standardized: nothing gets through.",
        by_network(
            concrete,
            edit(_HE, ("nn.init.zeros_(layer.bias)", "nn.init.constant_(layer.bias, -8.0)")),
            _HE,
        ),
        ("dead initialization",),
        (Fix("Biases of zero.", names=("bias", "network.py", "Net", "fc1", "fc2")),),
        Harm("r2", 0.3),
    ),
    Case(
        "digits_wide_normal",
        "initialization",
        "nn.init.normal_ without arguments, as I found it. The first loss is in the thousands, and the end is worse than with torch's own.",
        "Weights with std 1: scores of thousands at the start, in which the network is stuck.",
        by_network(
            digits,
            edit(
                CNN,
                (
                    "    return Classifier(channels, classes)",
                    "    net = Classifier(channels, classes)\n    for weight in net.parameters():\n        nn.init.normal_(weight)\n    return net",
                ),
            ),
            CNN,
        ),
        ("initialization too large",),
        (
            Fix(
                "torch's own weights, or kaiming_normal_.",
                names=("normal_", "network.py", "Classifier", "conv1", "conv2", "conv3", "fc", "head"),
            ),
        ),
        Harm("loss", 0.5),
    ),
    Case(
        "loans_tiny_weights",
        "initialization",
        "Small random weights are what the book says: std 0.001. In shallow nets that works, in my five layers nothing happens for the whole run.",
        "Weights with std 0.001 in five layers of tanh: signal and gradient vanish.",
        by_network(
            lambda folder: loans(folder) | _SGD,
            edit(_TANH, ("nn.init.xavier_normal_(layer.weight)", "nn.init.normal_(layer.weight, std=0.001)")),
            _TANH,
        ),
        ("initialization too small",),
        (Fix("xavier_normal_ or kaiming_normal_.", names=("normal_", "std", "network.py")),),
        Harm("loss", 0.15),
    ),
)

_ONE_LAYER = '''"""As simple as can be."""

from torch import nn


def build(features: int, outputs: int) -> nn.Module:
    return nn.Linear(features, outputs)
'''

LAYERS = (
    Case(
        "eight_grapes_two_neurons",
        "layers",
        "A small network cannot overfit. With eight cultivars it now mixes up those that are easy to tell.",
        "A hidden layer of two units in front of eight classes of which each has its own direction.",
        by_settings(
            lambda folder: wines(folder, count=2000, cultivars=8) | {"model.hidden": [48, 48], "optimizer.lr": 5e-3},
            {"model.hidden": [2, 2]},
        ),
        ("too few neurons",),
        (Fix("More units.", {"model.hidden": lambda value: bool(value) and min(value) >= 8}),),
        Harm("accuracy", 0.12),
    ),
    Case(
        "rentals_one_layer",
        "layers",
        "Every hour of the day has its own demand, and my one linear layer draws a straight line through two rush hours.",
        "The own network is a single linear layer: no hidden one, so that it can only draw a straight line.",
        by_network(bikes, _ONE_LAYER, MLP),
        ("missing layers", "too few neurons"),
        (Fix("Hidden layers with an activation.", names=("layer", "hidden", "network.py", "Linear")),),
        Harm("r2", 0.15),
    ),
    Case(
        "wine_twenty_four_layers",
        "layers",
        "Deep learning should be deep. 24 layers, and all bottles are the same to it.",
        "24 plain hidden layers for a table of eight columns, through which the signal is lost.",
        by_settings(lambda folder: wines(folder) | _SGD | {"loop.epochs": 10}, {"model.hidden": [32] * 24}),
        ("superfluous layers",),
        (Fix("Fewer layers.", {"model.hidden": lambda value: len(value) <= 6}),),
        Harm("accuracy", 0.3),
    ),
)

_DETACHED = edit(
    CONV1D,
    ("        found = self.encoder(x.unsqueeze(1))\n", "        found = self.encoder(x.unsqueeze(1)).detach()\n"),
)
_DROPPED = edit(
    MLP,
    ("from torch import nn", "import torch\nfrom torch import nn\nfrom torch.nn import functional"),
    (
        "def build(features: int, outputs: int, width: int = 48) -> nn.Module:\n    return nn.Sequential(",
        "class Dropped(nn.Module):\n    def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
        "        return functional.dropout(x, 0.5, training=self.training)\n\n\n"
        "def build(features: int, outputs: int, width: int = 48) -> nn.Module:\n    return nn.Sequential(",
    ),
    ("        nn.ReLU(),", "        nn.ReLU(),\n        Dropped(),"),
)


def _read_waves(folder: Path) -> Settings:
    return waves(folder) | {"loop.epochs": 14, "optimizer.lr": 5e-3}


OWN = (
    Case(
        "pump_detached_encoder",
        "own network",
        "I detach the features to save memory. The head learns something, but far less than on the same features before.",
        "detach() between the convolutions and the head: the convolutions get no gradient.",
        by_network(waves, _DETACHED, CONV1D),
        ("parameters without gradient", "frozen layers"),
        (Fix("Take detach() away.", names=("detach", "encoder", "network.py", "Signal")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "pump_batch_as_sequence",
        "own network",
        "A GRU reads the pieces of a signal one after another. Validation depends on the batch size, which nobody could explain to me.",
        "nn.GRU without batch_first takes the batch for the sequence: each signal reads its neighbors, and of itself the last piece alone.",
        by_network(_read_waves, edit(READER, (", batch_first=True)", ")")), READER),
        ("samples mixed inside a batch",),
        (Fix("batch_first=True.", names=("batch_first", "GRU", "gru", "network.py", "Reader")),),
        Harm("loss", 0.1),
    ),
    Case(
        "announcer_reads_ahead",
        "own network",
        "My recurrent network, which reads in both directions, has a perplexity of 1.01, better than any paper. What it writes is nonsense.",
        "A bidirectional GRU: the way back hands each letter the one that it is to tell.",
        by_network(notices, edit(LETTERS, ("both: bool = False", "both: bool = True")), LETTERS),
        ("language model sees the future",),
        (Fix("bidirectional=False.", names=("bidirectional", "GRU", "gru", "network.py", "Letters")),),
        Harm(
            "perplexity", 0.15, by=lambda trial: trial.metric("perplexity"), words="val/perplexity, too good to be true"
        ),
    ),
    Case(
        "wine_dice_at_validation",
        "own network",
        "Two evaluations of the very same checkpoint give me two accuracies. Training looks normal.",
        "functional.dropout without training=self.training drops out in evaluation, too.",
        by_network(
            lambda folder: wines(folder, count=2000, cultivars=8) | {"loop.epochs": 20},
            edit(_DROPPED, ("0.5, training=self.training)", "0.5)")),
            _DROPPED,
        ),
        ("randomness in evaluation",),
        (Fix("training=self.training, or nn.Dropout.", names=("dropout", "training", "network.py", "Dropped")),),
        Harm("loss", 0.05),
    ),
)

CASES = (*INITIALIZATION, *LAYERS, *OWN)
