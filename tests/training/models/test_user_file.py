"""A person's own network: run after consent alone, checked, kept with the run, its faults told by line."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training.commands import json_line
from training.cli import main
from training.config import RunConfig, load_config
from training.config.consent import agree
from training.config.files import dump_config
from training.config.sections.user_file import UserFile
from training.doctor.preflight import preflight
from training.engine.runs.run import resume_run, start_run
from training.errors import ConfigError, InputError, TrainingError
from training.export import export_checkpoint
from training.facts import DataFacts
from training.models import make_model

FACTS = DataFacts("image", (1, 8, 8), "class", ("a", "b", "c"))
NETWORK = '''
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Plan:
    width: int


class Network(nn.Module):
    def __init__(self, inputs: int, plan: Plan, outputs: int, fail_at: int):
        super().__init__()
        self.fail_at, self.calls = fail_at, 0
        self.first, self.last = nn.Linear(inputs, plan.width), nn.Linear(plan.width, outputs)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        self.calls += self.training
        if self.calls > self.fail_at:
            raise ValueError("enough of it")
        return self.last(self.dropout(torch.relu(self.first(x.flatten(1)))))


def build(features: int, classes: int, width: int = 8, fail_at: int = 1000):
    """A plain network."""
    return Network(features, Plan(width), classes, fail_at)
'''


def written(folder: Path, text: str, consent: bool = True) -> UserFile:
    path = folder / "network.py"
    path.write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    if consent:
        agree(digest, str(path))
    return UserFile(path=str(path), trusted=digest)


def small_run(model: UserFile, **arguments: int) -> RunConfig:
    data = {
        "dataset": {"kind": "spiral", "samples": 60},
        "model": {**model.model_dump(), "arguments": arguments},
        "loop": {"batch_size": 12, "epochs": 1, "accumulation": 1, "ema_decay": 0.9},
        "checkpoints": {"every_steps": 2},
        "precision": {"device": "cpu"},
    }
    return RunConfig.model_validate(data)


def test_the_whole_way_without_the_original(tmp_path: Path) -> None:
    model = written(tmp_path, NETWORK)
    record = start_run(small_run(model, width=5), tmp_path / "runs")
    assert record.status == "completed", record.reason
    run, last = Path(record.folder), Path(str(record.last_checkpoint))
    assert (run / "network.py").read_text(encoding="utf-8") == NETWORK
    whole = (last / "model.safetensors").read_bytes()
    (tmp_path / "network.py").unlink()
    resumed = resume_run(str(run / "checkpoints" / "step-00000002"), tmp_path / "runs")
    assert resumed.status == "completed"
    assert (last / "model.safetensors").read_bytes() == whole
    branched = resume_run(str(run), tmp_path / "runs", ["loop.epochs=2"])
    assert branched.status == "completed"
    assert (Path(branched.folder) / "network.py").read_text(encoding="utf-8") == NETWORK
    assert export_checkpoint(last, "safetensors", tmp_path / "out").max_difference < 1e-5
    (run / "network.py").write_text(NETWORK + "# changed\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"network\.py"):
        resume_run(str(run / "checkpoints" / "step-00000002"), tmp_path / "runs")


TIED = """
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self, features: int, classes: int):
        super().__init__()
        self.first, self.middle, self.again = nn.Linear(features, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        self.again.weight = self.middle.weight
        self.last = nn.Linear(6, classes)

    def forward(self, x):
        return self.last(torch.relu(self.again(torch.relu(self.middle(torch.relu(self.first(x)))))))


def build(features: int, classes: int):
    return Tied(features, classes)
"""


def test_weights_that_share_memory_are_exported_under_each_name(tmp_path: Path) -> None:
    config = small_run(written(tmp_path, TIED))
    config = config.model_copy(update={"loop": config.loop.model_copy(update={"max_steps": 2})})
    last = Path(str(start_run(config, tmp_path / "runs").last_checkpoint))
    assert export_checkpoint(last, "safetensors", tmp_path / "out").max_difference < 1e-5
    exported, averaged = load_file(tmp_path / "out" / "model.safetensors"), load_file(last / "ema.safetensors")
    assert exported.keys() == load_file(last / "model.safetensors").keys()
    assert all(torch.equal(exported[name], averaged[name]) for name in averaged)
    assert torch.equal(exported["again.weight"], averaged["middle.weight"])


def test_nothing_is_run_without_consent(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    text = f"open({str(trace)!r}, 'w')\n{NETWORK}"
    model = written(tmp_path, text, consent=False)
    with pytest.raises(ConfigError, match=r"model\.trusted: nobody has agreed on this computer to run network\.py"):
        make_model(model, FACTS, 3, 0)
    with pytest.raises(ConfigError, match=r"model\.trusted: needs your consent: read network\.py"):
        make_model(model.model_copy(update={"trusted": None}), FACTS, 3, 0)
    assert not trace.exists()
    agree(str(model.trusted), "network.py")
    with pytest.raises(InputError, match="build asks for features, which images do not have"):
        make_model(model, FACTS, 3, 0)
    (tmp_path / "network.py").write_text(text + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="has changed since you agreed to run it"):
        make_model(model, FACTS, 3, 0)


HEAD = "import torch\nfrom torch import nn\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "def build(classes):\n    return 1 / 0\n",
            r"line 4: cannot build the network: ZeroDivisionError: division by zero",
        ),
        ("x = undefined\ndef build(classes): ...\n", r"line 3: cannot be run: NameError: name 'undefined'"),
        ("import sys\ndef build(classes):\n    sys.exit(3)\n", "line 5: cannot build the network: SystemExit: 3"),
        ("def build(classes):\n    return 5\n", r"build returns a int, no torch\.nn\.Module"),
        ("def build(classes):\n    return nn.ReLU()\n", "has no weights to train"),
        (
            "def build(classes):\n    return nn.Conv2d(1, 3, 1)\n",
            "answers a tensor of 2 x 3 x 8 x 8, but a tensor of 2 x 3",
        ),
        (
            "class Lost(nn.Conv2d):\n    def forward(self, x):\n        return super().forward(x).squeeze()\n"
            "def build(classes):\n    return nn.Sequential(Lost(1, 3, 8), nn.Identity())\n",
            r"network\.py: for 1 sample the network answers a tensor of 3, but a tensor of 1 x 3 is wanted; .* \(squeeze\(\)",
        ),
        (
            "class Lost(nn.Conv2d):\n    def forward(self, x):\n        return super().forward(x).squeeze()\n"
            "def build(classes):\n    return nn.Sequential(Lost(1, 3, 8), nn.Flatten())\n",
            r"the network cannot take a single sample: its layer 1 \(Flatten\), which gets a tensor of 3: IndexError",
        ),
        (
            "def build(classes):\n    return nn.Sequential(nn.Flatten(), nn.Linear(100, classes))\n",
            r"network\.py: the network cannot take samples of shape 1 x 8 x 8: its layer 1 \(Linear\) expects 100 numbers, "
            r"but gets 64 \(a tensor of 2 x 64\)\. Correct the file",
        ),
        ("def build(classes):\n    return nn.Conv2d(3, 3, 8)\n", "the Conv2d expects 3 channels, but gets 1 "),
        (
            "def build(classes):\n    return nn.Sequential(nn.Flatten(), nn.Bilinear(64, 64, 3))\n",
            "its layer 1 \\(Bilinear\\), which gets a tensor of 2 x 64: TypeError",
        ),
        (
            "class Own(nn.Linear):\n    def forward(self, x):\n        return x @ self.weight\n"
            "def build(classes):\n    return nn.Sequential(nn.Flatten(), Own(5, 3))\n",
            r"line 5: the network cannot take samples of shape 1 x 8 x 8: RuntimeError",
        ),
        (
            "def build(classes):\n    return nn.Sequential(nn.Flatten(), nn.LazyLinear(classes))\n",
            "1 is a LazyLinear, whose size is not known before it has seen samples; use Linear",
        ),
        ("def build(classes, context): ...\n", "build asks for context, which images do not have"),
    ],
)
def test_faults_are_told_by_line_and_reason(tmp_path: Path, text: str, sentence: str) -> None:
    model = written(tmp_path, HEAD + text)
    with pytest.raises(InputError, match=sentence):
        make_model(model, FACTS, 3, 0)


LOOKS = """
import torch
from torch import nn


class Looks(nn.Module):
    def __init__(self, features: int, classes: int):
        super().__init__()
        self.norm, self.last, self.mask = nn.BatchNorm1d(features), nn.Linear(features, classes), None

    def forward(self, x):
        if self.mask is None:
            self.mask = torch.ones(x.shape[1], device=x.device)
        x = self.norm(x) * self.mask
        return self.last(x * 2 if x.mean() > 0.1 else x * int(1 + x.abs().sum().item() % 2))


def build(features: int, classes: int, wrong: int = 0):
    return Looks(features, classes + wrong)
"""


def test_a_network_may_look_at_its_numbers(tmp_path: Path) -> None:
    vectors = DataFacts("vector", (2,), "class", ("a", "b"))
    model = make_model(written(tmp_path, LOOKS), vectors, 2, 0)
    assert model.mask is None  # what a trial leaves behind would be on its device
    assert int(dict(model.named_buffers())["norm.num_batches_tracked"]) == 0
    assert model(torch.ones(3, 2)).shape == (3, 2)
    wrong = written(tmp_path, LOOKS).model_copy(update={"arguments": {"wrong": 1}})
    with pytest.raises(
        InputError, match=r"network\.py: for 2 samples the network answers a tensor of 2 x 3, but a tensor"
    ):
        make_model(wrong, vectors, 2, 0)


COMPLEX = """
import torch
from torch import nn


class Turned(nn.Module):
    def __init__(self, features: int, classes: int, trained: bool):
        super().__init__()
        self.turn = nn.Parameter(torch.ones(features, dtype=torch.complex64), requires_grad=trained)
        self.last = nn.Linear(features, classes)

    def forward(self, x):
        return self.last((x * self.turn).real)


def build(features: int, classes: int, trained: bool = False):
    return Turned(features, classes, trained)
"""


def test_complex_weights_may_be_there_but_not_be_trained(tmp_path: Path) -> None:
    network = written(tmp_path, COMPLEX)
    assert not [found.title for found in preflight(small_run(network), tmp_path) if found.level == "error"]
    last = Path(str(start_run(small_run(network), tmp_path / "runs").last_checkpoint))
    assert resume_run(str(last.parent / "step-00000002"), tmp_path / "runs").status == "completed"
    (refusal,) = preflight(small_run(network, trained=True), tmp_path)
    assert "network.py: the weights turn are complex, and a run that trains such could not be resumed" in refusal.title


def test_batch_norm_is_tried_with_a_single_sample_too(tmp_path: Path) -> None:
    text = "def build(features, classes):\n    return nn.Sequential(nn.BatchNorm1d(features), nn.Linear(features, classes))\n"
    model = make_model(written(tmp_path, HEAD + text), DataFacts("vector", (2,), "class", ("a", "b")), 2, 0)
    assert all(part.training for part in model.modules())
    assert int(dict(model.named_buffers())["0.num_batches_tracked"]) == 0
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


DRAWS = """
import random

import numpy as np
import torch
from torch import nn


class Draws(nn.Module):
    def __init__(self, features: int, classes: int):
        super().__init__()
        self.first, self.last = nn.Linear(features, 8), nn.Linear(8, classes)
        with torch.no_grad():
            self.last.weight.mul_(random.random() + np.random.rand())

    def forward(self, x):
        return self.last(torch.relu(self.first(x)) * (0.5 + random.random()) * (0.5 + np.random.rand()))


def build(features: int, classes: int):
    return Draws(features, classes)
"""


def test_what_own_code_draws_by_python_and_numpy_is_the_same_on_a_resume(tmp_path: Path) -> None:
    config = small_run(written(tmp_path, DRAWS))
    runs = [start_run(config, tmp_path / "runs") for _ in range(2)]
    one, other = (Path(str(record.last_checkpoint)) for record in runs)
    whole, validated = (one / "model.safetensors").read_bytes(), runs[0].metrics
    assert (other / "model.safetensors").read_bytes() == whole
    assert runs[1].metrics == validated
    resumed = resume_run(str(other.parent / "step-00000002"), tmp_path / "runs")
    assert (other / "model.safetensors").read_bytes() == whole
    assert resumed.metrics == validated


def test_a_fault_in_the_middle_of_a_run_names_the_line(tmp_path: Path) -> None:
    record = start_run(small_run(written(tmp_path, NETWORK), fail_at=2), tmp_path / "runs")
    assert record.status == "failed"
    line = next(number for number, text in enumerate(NETWORK.split("\n"), 1) if "raise ValueError" in text)
    assert str(record.reason).endswith(f"network.py, line {line}: ValueError: enough of it.")


@pytest.mark.parametrize("part", ["training", "validation"])
def test_an_answer_of_another_form_later_on_is_told_with_the_file(tmp_path: Path, part: str) -> None:
    asks = "self.calls > 2" if part == "training" else "self.calls and not self.training"
    text = NETWORK.replace("return self.last", "answer = self.last")
    text = text.replace("\n\n\ndef build", f"\n        return answer[:, :2] if {asks} else answer\n\n\ndef build")
    record = start_run(small_run(written(tmp_path, text)), tmp_path / "runs")
    assert record.status == "failed"
    assert "network.py: for 12 samples the network answers a tensor of 12 x 2, but a tensor of 12 x 3" in str(
        record.reason
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"widht": 3}, r"model\.arguments\.widht: build\(\.\.\.\) has no such parameter; known are: width, fail_at"),
        ({"width": 1.5}, r"model\.arguments\.width: must be a whole number, but is 1\.5"),
        ({"width": True}, r"model\.arguments\.width: must be a whole number, but is True"),
        ({"classes": 3}, r"model\.arguments\.classes: is filled in from the data"),
    ],
)
def test_wrong_arguments(tmp_path: Path, arguments: dict[str, float], sentence: str) -> None:
    model = written(tmp_path, NETWORK).model_copy(update={"arguments": arguments})
    with pytest.raises(ConfigError, match=sentence):
        make_model(model, FACTS, 3, 0)


def test_a_network_that_its_arguments_break_is_told_with_them(tmp_path: Path) -> None:
    text = "def build(classes, width=64):\n    return nn.Sequential(nn.Flatten(), nn.Linear(width, classes))\n"
    model = written(tmp_path, HEAD + text)
    make_model(model, FACTS, 3, 0)
    with pytest.raises(InputError) as refused:
        make_model(model.model_copy(update={"arguments": {"width": 100}}), FACTS, 3, 0)
    assert str(refused.value).endswith("Correct the file. Or correct what it was given: width = 100.")


def test_weights_are_a_function_of_the_seed(tmp_path: Path) -> None:
    vectors = DataFacts("vector", (2,), "class", ("a", "b"))
    models = [make_model(written(tmp_path, NETWORK), vectors, 2, seed) for seed in (1, 1, 2)]
    one, same, other = (torch.cat([p.flatten() for p in model.parameters()]) for model in models)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_the_configuration_comes_back_from_its_file(tmp_path: Path) -> None:
    config = small_run(written(tmp_path, NETWORK), width=5)
    (tmp_path / "config.toml").write_text(dump_config(config), encoding="utf-8")
    assert load_config(tmp_path / "config.toml") == config
    other = load_config(tmp_path / "config.toml", ["model.arguments.width=7", "model.arguments.fail_at=9"])
    assert isinstance(other.model, UserFile)
    assert other.model.arguments == {"width": 7, "fail_at": 9}


def test_the_command_line_asks_for_trust(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "network.py").write_text(NETWORK, encoding="utf-8")
    (tmp_path / "run.toml").write_text(
        '[dataset]\nkind = "spiral"\nsamples = 60\n[model]\nkind = "user_file"\npath = "network.py"\n'
        '[loop]\nmax_steps = 2\n[schedule]\nkind = "constant"\n[precision]\ndevice = "cpu"\n',
        encoding="utf-8",
    )
    arguments = ("run", str(tmp_path / "run.toml"), "--workspace", str(tmp_path / "ws"), "--json")
    assert main(arguments) == 2
    assert "--trust" in capsys.readouterr().err
    assert not (tmp_path / "ws" / "runs").exists() or not any((tmp_path / "ws" / "runs").iterdir())
    assert main([*arguments, "--trust"]) == 0
    assert json_line(capsys)["status"] == "completed"
    assert main(["check", *arguments[1:]]) == 2  # the configuration still names no digest


def test_failures_of_the_run_folder_are_no_traceback(tmp_path: Path) -> None:
    model = written(tmp_path, NETWORK)
    with pytest.raises(TrainingError, match="cannot be read"):
        make_model(model.model_copy(update={"path": str(tmp_path / "gone.py")}), FACTS, 3, 0)
