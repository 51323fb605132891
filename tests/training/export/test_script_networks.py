"""Scripts of networks that others wrote, and of those that begin with known weights."""

from __future__ import annotations

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import torchvision
from safetensors.torch import save_file

from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.tiny import tiny, tiny_images, write_idx
from training.config import consent
from training.errors import InputError, TrainingError
from training.export import script
from training.export.bundle import load_bundle

NETWORK = '''"""A network of one's own."""

from __future__ import annotations

import math
import torch.nn.functional as F
from torch import Tensor, nn

SLOPE = math.sqrt(0.01)


class Own(nn.Module):
    def __init__(self, features: int, width: int, classes: int) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(features, width), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.dropout(F.leaky_relu(self.body(x), SLOPE), 0.1, self.training))


def build(features: int, classes: int, width: int = 8) -> nn.Module:
    """The network."""
    return Own(features, width, classes)


if __name__ == "__main__":
    raise SystemExit("only to be looked at")
'''
ONE_STEP = (
    "schedule.warmup=0",
    "loop.max_steps=1",
    "loop.epochs=1",
    "loop.batch_size=8",
    "loop.accumulation=1",
    "loop.ema_decay=none",
)


def repeats(checkpoint: Path, tmp_path: Path) -> str:
    """The text of the script, which does what the run did."""
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
    return file.read_text(encoding="utf-8")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    return is_agreed(NETWORK, tmp_path, monkeypatch)


def is_agreed(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    file = folder / "network.py"
    file.write_text(text, encoding="utf-8")
    digest = sha256(file.read_bytes()).hexdigest()
    monkeypatch.setattr(consent, "_store", lambda: folder / "trusted.json")
    consent.agree(digest, str(file))
    return CPU, "model.kind=user_file", f"model.path={file}", f"model.trusted={digest}"


def test_own_network_with_the_weights_of_another_run(own: tuple[str, ...], train: Train, tmp_path: Path) -> None:
    width = "model.arguments.width=12"
    first = train(tiny(*own, width))
    repeats(first, tmp_path)
    assert NETWORK.strip() in (tmp_path / "network_of_train.py").read_text(encoding="utf-8")
    second = train(tiny(*own, width, f"model.weights={first}", "dataset.turns=1.0"))
    other = tmp_path / "second"
    assert "load_file(WEIGHTS)" in repeats(second, other)
    bundle = load_bundle(second)
    right = (other / "train.py").read_text(encoding="utf-8")
    beside = script.render_beside(bundle, "train.py")
    with pytest.raises(TrainingError, match="The script's known weights would differ"):
        script.prove_script(bundle, right.replace("FRESH = []", "FRESH = ['body.bias']"), beside)


def test_own_network_with_names_that_a_script_has_too(
    tmp_path: Path, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "from torch import relu as permutation\n\n\ndef normal(x):\n    return x"
    settings = is_agreed(f"{NETWORK.replace('SLOPE', 'SEED')}\n\n{lines}\n", tmp_path, monkeypatch)
    export(train(tiny(*settings, "loop.max_steps=1")), tmp_path / "train.py")


@pytest.mark.parametrize(
    "line", ["import random", "from random import choice", "import numpy.random", "import numpy as np"]
)
def test_own_network_with_other_random_numbers_than_torchs(
    tmp_path: Path, train: Train, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    use = "\nDRAWN = np.random.rand\n" if line.endswith("np") else ""
    first = "from torch import Tensor, nn\n"
    settings = is_agreed(NETWORK.replace(first, f"{first}{line}\n{use}"), tmp_path, monkeypatch)
    with pytest.raises(
        InputError, match=r"model\.path: the file draws with Python's or NumPy's random numbers, which a"
    ):
        export(train(tiny(*settings, "loop.max_steps=1")), tmp_path / "train.py")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["torchvision", "timm"])
def test_zoo_with_the_weights_of_a_file(form: str, train: Train, tmp_path: Path) -> None:
    if form == "timm" and find_spec("timm") is None:
        pytest.skip("needs timm")
    torch.manual_seed(3)
    if form == "torchvision":
        body = torchvision.models.resnet18(num_classes=7).state_dict()
        path = tmp_path / "weights.pth"
        torch.save({"state_dict": {f"module.{name}": tensor for name, tensor in body.items()}}, path)
        name = "resnet18"
    else:
        import timm

        path, name = tmp_path / "weights.safetensors", "resnet10t"
        save_file(timm.create_model(name, num_classes=1000).state_dict(), path)
    folder = write_idx(tmp_path / "data", samples=24, size=32)
    settings = (f"model.kind={form}", f"model.name={name}", f"model.weights={path}", "optimizer.freeze=all_but_head")
    text = repeats(train(tiny_images(folder, CPU, *settings, *ONE_STEP)), tmp_path)
    assert (": adapt_channels}" in text) == (form == "torchvision")


def test_layer_that_whitens_is_made_from_the_training_images(train: Train, tmp_path: Path) -> None:
    folder = write_idx(tmp_path / "data", samples=60, size=12)
    whitened = ("model={kind='whitened_cnn', channels=[4, 4, 8]}", "schedule.warmup=0", "loop.epochs=2")
    repeats(train(tiny_images(folder, CPU, *whitened)), tmp_path)
