"""A network and its loss are asked before a step: what is planted is named with its module, what is healthy hears nothing, the run stays as it was."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.data.own_files import small_run, written
from training.config import RunConfig
from training.doctor.probes import probe_findings
from training.doctor.quick import warn_before_start
from training.engine.assemble import assemble
from training.events import Finding
from training.own_code.user_rng import user_rng_state

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n\n"
FIRST = "nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), "
LAYERS = "self.a, self.b, self.c = nn.Linear(features, 32), nn.Linear(32, 32), nn.Linear(32, outputs)"
PLAIN = "return self.c(F.relu(self.b(F.relu(self.a(x)))))"


def stack(layers: str) -> str:
    return f"{HEAD}def build(features: int, outputs: int):\n    return nn.Sequential({layers})\n"


def net(forward: str, init: str = "") -> str:
    return (
        f"{HEAD}class Net(nn.Module):\n    def __init__(self, features, outputs):\n        super().__init__()\n        {LAYERS}\n"
        f"        {init}\n\n    def forward(self, x):\n        {forward}\n\n\n"
        "def build(features: int, outputs: int):\n    return Net(features, outputs)\n"
    )


def drawn(init: str) -> str:
    return net(PLAIN, f"[({init}) for m in (self.a, self.b, self.c)]")


def loss(answer: str) -> str:
    return f"{HEAD}def build(outputs: int):\n    return {answer}\n"


FAULTS = {
    stack(FIRST + "nn.Linear(32, outputs), nn.Softmax(1)"): ("model.ends_in_softmax", "5", "Softmax"),
    net("return F.softmax(self.c(F.relu(self.b(self.a(x)))), 1)"): ("model.ends_in_softmax", "", "forward of Net"),
    stack(FIRST + "nn.Linear(32, outputs), nn.Sigmoid()"): ("model.ends_in_sigmoid", "5", "Sigmoid"),
    stack(FIRST + "nn.Linear(32, outputs), nn.ReLU()"): ("model.ends_in_relu", "5", "ReLU"),
    stack(FIRST + "nn.Linear(32, outputs), nn.Tanh()"): ("model.range", "5", "Tanh"),
    stack(FIRST + "nn.Linear(32, outputs), nn.GELU()"): ("model.ends_in_relu", "5", "GELU"),
    net("return F.linear(F.normalize(self.b(F.relu(self.a(x)))), F.normalize(self.c.weight))"): (
        "model.range", "", "cosines",
    ),
    stack("nn.Linear(features, 32), nn.Sigmoid(), " + "nn.Linear(32, 32), nn.Sigmoid(), " * 2 + "nn.Linear(32, outputs)"): (
        "model.saturating", "1", "3 sigmoids",
    ),
    stack("nn.Linear(features, 32), nn.BatchNorm1d(32), nn.Linear(32, outputs)"): ("model.linear", "", "activation"),
    net("return self.c(F.dropout(F.relu(self.b(self.a(x)))))"): ("eval.random", "", "draws random numbers"),
    net("return self.c(F.relu(self.b(F.relu(self.a(x)).cumsum(0) / 9)))"): ("model.mixes_samples", "", "forward of Net"),
    net("return self.c(F.relu(self.b(F.softmax(self.a(x), dim=1))))"): ("model.saturating", "", "32 outputs add up to 1"),
    net("return self.c(F.relu(self.b(self.a(x))).detach())"): ("model.not_trained", "a", "cut off"),
    net("return self.c(F.relu(self.a(x)))"): ("model.not_trained", "b", "never uses b"),
    net("return self.c(F.relu(self.layers[0](self.a(x))))", "self.layers = [nn.Linear(32, 32)]; del self.b"): (
        "model.not_trained", "layers", "do not belong",
    ),
    net(PLAIN, "self.b.requires_grad_(False)"): ("model.not_trained", "b", "frozen"),
    drawn("nn.init.zeros_(m.weight), nn.init.zeros_(m.bias)"): ("init.symmetric", "a", "same weights (0)"),
    drawn("nn.init.constant_(m.weight, 0.1)"): ("init.symmetric", "a", "same weights (0.1)"),
    drawn("nn.init.normal_(m.weight, std=3.0)"): ("init.scale", "b", "too large"),
    drawn("nn.init.normal_(m.weight, std=1e-4)"): ("init.scale", "c", "too small"),
    stack("nn.Linear(features, 32), nn.ReLU(), " + "nn.Linear(32, 32), nn.ReLU(), " * 30 + "nn.Linear(32, outputs)"): (
        "model.too_deep", "0", "of the last of 32 layers",
    ),
    stack("nn.Linear(features, 32), nn.ReLU(), " + "nn.Linear(32, 32), nn.ReLU(), " * 6 + "nn.Linear(32, outputs)").replace(
        "    return ", "    net = "
    ) + "    [nn.init.normal_(m.weight, std=0.01) for m in net if isinstance(m, nn.Linear)]\n    return net\n": (
        "init.scale", "", "too small",
    ),
    drawn("nn.init.constant_(m.bias, -10.0)"): ("init.dead", "", "begin at -10"),
    stack("nn.Linear(features, 32), " + "nn.Sigmoid(), nn.Linear(32, 32), " * 8 + "nn.Linear(32, outputs)"): (
        "model.saturating", "0", "Sigmoid",
    ),
}  # fmt: skip
HEALTHY = (
    stack(FIRST + "nn.Linear(32, outputs)"),
    stack(FIRST + "nn.Linear(32, outputs), nn.LogSoftmax(1)"),
    stack("nn.Linear(features, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Dropout(), nn.Linear(32, outputs)"),
    stack("nn.Linear(features, outputs)"),
    net("return 20 * F.linear(F.normalize(self.b(F.relu(self.a(x)))), F.normalize(self.c.weight))"),
    stack("nn.Linear(features, 32), nn.Sigmoid(), nn.Linear(32, outputs)"),
    stack(FIRST + "nn.LayerNorm(32), nn.Linear(32, outputs)"),
    f"{HEAD}class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a, self.b = nn.Linear(32, 32), nn.Linear(32, 32)\n"
    "        nn.init.zeros_(self.b.weight), nn.init.zeros_(self.b.bias)\n\n    def forward(self, x):\n        return x + self.b(F.relu(self.a(x)))\n\n\n"
    "def build(features: int, outputs: int):\n    return nn.Sequential(nn.Linear(features, 32), Block(), Block(), nn.Linear(32, outputs))\n",
    net("return self.c(F.relu(self.b(F.softmax(self.a(x), dim=1) * 32 * self.a(x))))"),
    net(PLAIN, "nn.init.zeros_(self.c.weight), nn.init.zeros_(self.c.bias)"),
    net(PLAIN, "self.scale = nn.Parameter(torch.ones(2), requires_grad=False)"),
)
LOSSES = {
    "nn.CrossEntropyLoss(reduction='sum')": ["loss.sum"],
    "lambda o, t: F.cross_entropy(o, t) / len(o)": ["loss.sum"],
    "nn.NLLLoss()": ["loss.sign"],
    "lambda o, t: -F.cross_entropy(o, t)": ["loss.sign"],
    "lambda o, t: (o ** 2).mean()": ["loss.blind"],
    "lambda o, t: F.cross_entropy(o, (t + 1) % o.shape[1])": ["loss.blind"],
    "lambda o, t: F.cross_entropy(o.softmax(1), t)": ["model.ends_in_softmax"],
    "nn.CrossEntropyLoss(label_smoothing=0.1)": [],
    "nn.MultiMarginLoss()": [],
    "lambda o, t: ((o.softmax(1) - F.one_hot(t, o.shape[1])) ** 2).mean()": [],
    "lambda o, t: ((o - F.one_hot(t, o.shape[1])) ** 2).mean()": [],
}
SPIRAL = {"kind": "spiral", "samples": 150}


def probed(config: RunConfig, least: Collection[str] = ("warning", "error")) -> list[Finding]:
    session = assemble(config, lambda text, fraction: None)
    before = {name: value.clone() for name, value in session.model.state_dict().items()}
    random_state = (
        torch.get_rng_state(),
        user_rng_state(),
        random.getstate(),
        np.random.get_state(legacy=False)["state"]["key"].tolist(),
    )
    with session.data:
        found = [item for item in probe_findings(session) if item.level in least]
    assert torch.equal(torch.get_rng_state(), random_state[0])
    assert (user_rng_state(), random.getstate()) == random_state[1:3]
    assert all(torch.equal(value, before[name]) for name, value in session.model.state_dict().items())
    assert session.model.training
    assert all(weight.grad is None for weight in session.model.parameters())
    return found


def codes(found: Sequence[Finding]) -> list[str]:
    return [item.code for item in found]


@pytest.mark.parametrize(("text", "told"), FAULTS.items(), ids=[f"{told[0]}-{told[2]}" for told in FAULTS.values()])
def test_a_fault_of_a_persons_own_network_is_named(tmp_path: Path, text: str, told: tuple[str, str, str]) -> None:
    found = probed(small_run(SPIRAL, model=written(tmp_path, text, "user_file")))
    code, place, words = told
    [finding] = [item for item in found if item.code == code]
    assert not place or finding.place == place
    assert words in finding.title
    assert finding.advice
    assert {*codes(found)} - {code} <= {"init.dead"}


def test_healthy_networks_hear_nothing(tmp_path: Path) -> None:
    for text in HEALTHY:
        assert codes(probed(small_run(SPIRAL, model=written(tmp_path, text, "user_file")))) == [], text


@pytest.mark.parametrize(("answer", "told"), LOSSES.items())
def test_a_loss_of_a_persons_own_is_asked_what_it_rewards(tmp_path: Path, answer: str, told: list[str]) -> None:
    objective = written(tmp_path, loss(answer), "user_loss", task="classification")
    assert codes(probed(small_run(SPIRAL, objective=objective))) == told


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("F.soft_margin_loss(o, t)", ["loss.blind"]),
        ("F.soft_margin_loss(o, 2 * t - 1)", []),
        ("F.cross_entropy(o, t.float())", ["loss.blind"]),
        ("F.binary_cross_entropy_with_logits(o, t.float())", []),
    ],
)
def test_a_loss_of_labels_that_does_not_ask_about_each(tmp_path: Path, answer: str, told: list[str]) -> None:
    numbers = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", x=numbers.normal(size=(120, 4)).astype(np.float32), y=numbers.integers(0, 2, (120, 3)))
    objective = written(tmp_path, loss(f"lambda o, t: {answer}"), "user_loss", task="multi_label")
    data = {"kind": "npz", "path": str(tmp_path / "x.npz"), "task": "labels"}
    assert codes(probed(small_run(data, objective=objective))) == told


def values(tmp_path: Path, ending: str, **objective: Any) -> list[Finding]:
    generator = np.random.default_rng(0)
    rows = "".join(f"{a},{b},{50 + 9 * a}\n" for a, b in generator.normal(size=(120, 2)))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    data = {"kind": "table", "path": str(tmp_path / "t.csv"), "targets": ["y"]}
    model = written(tmp_path, stack(FIRST + f"nn.Linear(32, outputs){ending}"), "user_file")
    return probed(small_run(data, model=model, objective={"kind": "regression", **objective}))


def test_layers_without_activation_beside_categories(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = "".join(f"{a},{'uvw'[n % 3]},{a + b}\n" for n, (a, b) in enumerate(generator.normal(size=(120, 2))))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    data = {"kind": "table", "path": str(tmp_path / "t.csv"), "targets": ["y"]}
    objective = {"kind": "regression"}
    straight = written(tmp_path, stack("nn.Linear(features, 32), nn.Linear(32, outputs)"), "user_file")
    assert codes(probed(small_run(data, model=straight, objective=objective))) == ["model.linear"]
    bent = written(tmp_path, stack("nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, outputs)"), "user_file")
    assert codes(probed(small_run(data, model=bent, objective=objective))) == []


def test_values_beyond_what_a_network_can_answer(tmp_path: Path) -> None:
    assert values(tmp_path, "") == []
    assert codes(values(tmp_path, ", nn.ReLU()")) == ["model.ends_in_relu"]
    assert codes(values(tmp_path, ", nn.Tanh()")) == ["model.range"]
    assert "model.ends_in_relu" not in codes(
        values(tmp_path, ", nn.ReLU()", standardise=False)
    )  # which can answer them all
    data = {"kind": "table", "path": str(tmp_path / "t.csv"), "targets": ["y"]}
    positive = f"{HEAD}def build(features: int, outputs: int):\n    net = nn.Sequential({FIRST}nn.Linear(32, outputs), nn.ReLU())\n"
    positive += "    nn.init.constant_(net[4].bias, 1.0)\n    return net\n"  # what ReLU gets is all that it answers
    model = written(tmp_path, positive, "user_file")
    assert "model.ends_in_relu" in codes(probed(small_run(data, model=model, objective={"kind": "regression"})))
    broken = written(tmp_path, loss("lambda o, t: ((o - t.squeeze(1)) ** 2).mean()"), "user_loss", task="regression")
    [pairs] = probed(small_run(data, objective=broken))
    assert (pairs.code, pairs.level) == ("loss.blind", "error")
    assert "torch makes (n, n)" in pairs.advice


TEXT_NET = (
    HEAD
    + """class Net(nn.Module):
    def __init__(self, vocabulary, context, outputs):
        super().__init__()
        self.names = nn.Embedding(vocabulary, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.last = nn.Linear(16, outputs)

    def forward(self, tokens):
        x = self.names(tokens)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if CAUSAL else None
        return self.last(x + self.attention(x, x, x, attn_mask=mask, need_weights=False)[0])


def build(vocabulary: int, context: int, outputs: int):
    return Net(vocabulary, context, outputs)
"""
)


@pytest.mark.parametrize("causal", [True, False])
def test_a_language_model_that_sees_the_future(tmp_path: Path, causal: bool) -> None:
    (tmp_path / "a.txt").write_text("the quick brown fox jumps over the lazy dog. " * 40)
    model = written(tmp_path, TEXT_NET.replace("CAUSAL", str(causal)), "user_file")
    data = {"kind": "text", "path": str(tmp_path / "a.txt"), "context": 16}
    found = probed(small_run(data, model=model, objective={"kind": "language_model"}))
    assert [(item.code, item.place) for item in found] == ([] if causal else [("model.sees_future", "attention")])


def test_the_look_before_a_start_asks_a_copy(tmp_path: Path) -> None:
    """A person's own attributes and random numbers are what they were, and a fault is told."""
    text = net(
        "self.calls += 1\n        return F.softmax(self.c(x.new_tensor(np.random.rand()) + self.b(self.a(x))), 1)",
        "self.calls = 0",
    )
    session = assemble(
        small_run(SPIRAL, model=written(tmp_path, "import numpy as np\n" + text, "user_file")),
        lambda text, fraction: None,
    )
    calls, state = session.model.calls, user_rng_state()
    with session.data:
        assert "model.ends_in_softmax" in codes(warn_before_start(session))
    assert (session.model.calls, user_rng_state()) == (calls, state)


def test_inputs_that_make_the_first_loss_large_are_its_cause(tmp_path: Path) -> None:
    text = """import torch
from torch.utils.data import TensorDataset


def build(split: str):
    inputs = torch.randn(80, 4, generator=torch.Generator().manual_seed(0)) * 90 + 500
    return TensorDataset(inputs, torch.arange(80) % 4)
"""
    found = [item for item in probed(small_run(written(tmp_path, text, normalize=False))) if item.code == "loss.start"]
    assert [(item.place, dict(item.fix)) for item in found] == [("inputs", {"dataset.normalize": True})]


def test_one_layer_in_several_places_is_a_note(tmp_path: Path) -> None:
    repeated = stack("nn.Linear(features, 32), *[nn.Linear(32, 32)] * 2, nn.ReLU(), nn.Linear(32, outputs)")
    [told] = probed(small_run(SPIRAL, model=written(tmp_path, repeated, "user_file")), ["info"])
    assert (told.code, told.place) == ("model.repeated_layer", "1")
    assert told.title.startswith("1, 2 are one and the same layer")
    own = repeated.replace("*[nn.Linear(32, 32)] * 2", "nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)")
    assert probed(small_run(SPIRAL, model=written(tmp_path, own, "user_file")), ["info"]) == []
