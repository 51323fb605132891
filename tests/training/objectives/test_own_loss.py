"""A loss of a person's own: run after consent alone, tried before the run, weighed by samples, carried by scripts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.training.commands import Captured, json_line
from tests.training.data.own_files import small_run, written
from training.cli import main
from training.config import RunConfig
from training.config.files import dump_config
from training.engine.runs.run import resume_run, start_run
from training.errors import InputError
from training.export import export_checkpoint
from training.facts import DataFacts
from training.objectives import make_objective

CPU = torch.device("cpu")
FACTS = DataFacts("vector", (2,), "class", ("a", "b", "c"), samples=9)
FOCAL = """
import torch
from torch import nn
from torch.nn import functional


class Focal(nn.Module):
    def __init__(self, classes, gamma, reduction):
        super().__init__()
        self.gamma, self.reduction = gamma, reduction
        self.register_buffer("weights", torch.ones(classes))

    def forward(self, outputs, targets):
        plain = functional.cross_entropy(outputs, targets, self.weights, reduction="none")
        found = (1 - torch.exp(-plain)) ** self.gamma * plain
        return found.mean() if self.reduction == "mean" else found


def build(classes: int, gamma: float = 2.0, reduction: str = "mean"):
    return Focal(classes, gamma, reduction)
"""
PLAIN = "import torch\n\n\ndef build(classes: int):\n    return ANSWER\n"


def own(folder: Path, text: str, **settings: Any) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    return written(folder, text, "user_loss", **settings)


def run_with(objective: dict[str, Any], **sections: Any) -> RunConfig:
    return small_run({"kind": "spiral", "samples": 60}, objective=objective, **sections)


def test_a_loss_without_gamma_is_cross_entropy_and_trains_the_same(tmp_path: Path) -> None:
    loop = {"batch_size": 16, "epochs": 2, "accumulation": 2}  # 48 samples: windows of unlike batches
    weights = []
    for objective in (
        {"kind": "classification"},
        own(tmp_path / "mean", FOCAL, arguments={"gamma": 0.0}),
        own(tmp_path / "each", FOCAL, arguments={"gamma": 0.0, "reduction": "none"}),
    ):
        record = start_run(run_with(objective, loop=loop | {"batch_size": 13}), tmp_path / "runs")
        assert record.status == "completed", record.reason
        weights.append(load_file(Path(str(record.last_checkpoint)) / "model.safetensors"))
        assert set(record.metrics) == {"train/loss", "val/loss", "val/accuracy", "val/f1"}
    for other in weights[1:]:
        for name, tensor in weights[0].items():
            torch.testing.assert_close(other[name], tensor, rtol=1e-4, atol=1e-6)


def test_the_sum_over_a_batch_is_that_of_its_samples(tmp_path: Path) -> None:
    outputs, targets = torch.randn(7, 3), torch.randint(0, 3, (7,))
    plain = torch.nn.functional.cross_entropy(outputs.double(), targets, reduction="none")
    wanted = ((1 - torch.exp(-plain)) ** 2 * plain).sum()
    for reduction in ("mean", "none"):
        config = run_with(own(tmp_path, FOCAL, arguments={"reduction": reduction})).objective
        loss = make_objective(config, FACTS, CPU).loss
        assert float(loss.sum(outputs, targets)) == pytest.approx(float(wanted), rel=1e-5)
        assert loss.weigh(targets) == 7


def test_a_resume_without_the_file_gives_the_same_run(tmp_path: Path) -> None:
    noisy = FOCAL.replace("** self.gamma * plain", "** self.gamma * plain * (1 + 0.1 * torch.rand(()))")
    run = Path(start_run(run_with(own(tmp_path, noisy)), tmp_path / "runs").folder)
    (tmp_path / "data.py").unlink()
    assert (run / "loss.py").read_text(encoding="utf-8") == noisy
    last = max((run / "checkpoints").iterdir()) / "model.safetensors"
    whole = last.read_bytes()
    assert resume_run(str(run / "checkpoints" / "step-00000003"), tmp_path / "runs").status == "completed"
    assert last.read_bytes() == whole


BAD = {
    "lambda outputs, targets: outputs.mean(0)": "the loss answers a tensor of 3 for 3 samples|one for each",
    "lambda outputs, targets: 1.0": "the loss answers a float; return a tensor",
    "lambda outputs, targets: torch.tensor(1.0)": "the loss has no gradient",
    "lambda outputs, targets: (outputs * float('inf')).mean()": "the loss of 3 made-up samples is not finite",
    "lambda outputs, targets: (outputs.mean() * 0).sqrt()": "the gradient of the loss of 3 made-up samples is not finite",
    "lambda outputs, targets: outputs[:2].mean(1)": "the loss answers a tensor of 2 for 3 samples",
    "lambda outputs, targets: (outputs + torch.ones(2, 9)).mean()": r"line 5: the loss of 3 made-up samples: RuntimeError",
    "torch.nn.PReLU()": "the loss has weights of its own",
    "7": "build returns a int, no loss",
    "1 / 0": "line 5: cannot build the loss: ZeroDivisionError",
}


@pytest.mark.parametrize("answer", [answer for answer in BAD if "mean(0)" not in answer])
def test_a_bad_loss_is_one_sentence_and_nothing_begins(answer: str, tmp_path: Path, capsys: Captured) -> None:
    config = run_with(own(tmp_path, PLAIN.replace("ANSWER", answer)))
    with pytest.raises(InputError, match=BAD[answer]):
        make_objective(config.objective, FACTS, CPU)
    (tmp_path / "run.toml").write_text(dump_config(config), encoding="utf-8")
    assert main(["run", str(tmp_path / "run.toml"), "--workspace", str(tmp_path / "ws")]) == 2
    assert "data.py" in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_buffer_that_changes_is_refused(tmp_path: Path) -> None:
    text = FOCAL.replace("        plain =", "        self.weights += 1\n        plain =")
    with pytest.raises(InputError, match="the loss changes its buffer weights, which no checkpoint holds"):
        make_objective(run_with(own(tmp_path, text)).objective, FACTS, CPU)


def test_a_fault_while_training_is_told_by_its_line(tmp_path: Path) -> None:
    text = FOCAL.replace("        plain =", "        assert len(outputs) in (3, 48), 'odd batch'\n        plain =")
    record = start_run(run_with(own(tmp_path, text)), tmp_path / "runs")
    assert record.status == "failed"
    assert "data.py, line 14: AssertionError: odd batch" in str(record.reason)


def test_nothing_runs_before_somebody_agreed(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "loss.py").write_text(FOCAL + f"\nopen({str(tmp_path / 'trace')!r}, 'w').close()\n", encoding="utf-8")
    config = tmp_path / "run.toml"
    text = dump_config(run_with({"kind": "classification"})).replace(
        'kind = "classification"', 'kind = "user_loss"\npath = "loss.py"'
    )
    kept = [line for line in text.splitlines() if line.partition(" =")[0] not in CLASSIFICATION]
    config.write_text("\n".join(kept), encoding="utf-8")
    ws = ["--workspace", str(tmp_path / "ws")]
    assert main(["run", str(config), *ws]) == 2
    assert "objective.trusted: needs your consent: read loss.py" in capsys.readouterr().err
    assert not (tmp_path / "trace").exists()
    assert main(["run", str(config), *ws, "--trust", "--json"]) == 0
    assert json_line(capsys)["status"] == "completed"


CLASSIFICATION = ("loss", "label_smoothing", "balanced", "class_weights", "ignore_index", "ranking_metrics")


def test_metrics_of_another_task_are_told_in_the_settings(tmp_path: Path, capsys: Captured) -> None:
    config = run_with(own(tmp_path, FOCAL, task="regression"))
    (tmp_path / "run.toml").write_text(dump_config(config), encoding="utf-8")
    assert main(["check", str(tmp_path / "run.toml")]) == 2
    assert (
        "objective.task: regression cannot be measured with what spiral gives; choose classification."
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_its_script_gives_the_same_weights(tmp_path: Path) -> None:
    record = start_run(run_with(own(tmp_path, FOCAL)), tmp_path / "runs")
    script = tmp_path / "out" / "train.py"
    export_checkpoint(Path(str(record.last_checkpoint)), "script", script)
    assert (script.parent / "loss_of_train.py").exists()
    subprocess.run([sys.executable, str(script), "--out", "made"], cwd=script.parent, check=True, capture_output=True)
    theirs = torch.load(script.parent / "made" / "last.pt")["model"]
    ours = load_file(Path(str(record.last_checkpoint)) / "model.safetensors")
    assert all(torch.equal(theirs[name], ours[name]) for name in ours)


def test_the_example_of_the_help_is_a_loss(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "resources" / "help" / "models.md").read_text(encoding="utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    config = run_with(own(tmp_path, example, arguments={"gamma": 0.0})).objective
    outputs, targets = torch.randn(5, 3), torch.randint(0, 3, (5,))
    wanted = torch.nn.functional.cross_entropy(outputs, targets, reduction="sum")
    torch.testing.assert_close(make_objective(config, FACTS, CPU).loss.sum(outputs, targets), wanted)
