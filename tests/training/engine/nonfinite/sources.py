"""Runs in each of which one thing, planted, makes numbers that are not finite, and what a finding has to name.

``python -m tests.training.engine.nonfinite.sources`` prints the table.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.config import RunConfig
from training.config.consent import agree
from training.engine.runs.run import start_run
from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.records.history import read_history

_HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional\n\n\n"
_LATE = "self.steps += self.training\n        late = float(self.steps > 5)"
"""``late`` is 0 in the first five steps, so that they are fine, and 1 behind them."""


@dataclass(frozen=True)
class Source:
    """``place`` and ``operation`` are what has to be named; ``line`` the text of the line, where it is a person's own."""

    name: str
    files: Mapping[str, str]  # section -> text
    place: str
    operation: str = ""
    source: str = ""
    line: str = ""
    samples: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    fix: str = ""


def make_network(*body: str, setup: str = "", inner: str = "Inner", returns: str = "x") -> str:
    """A network of four parts, ``inner`` the third: ``body`` is what that computes of ``x`` (samples, 6), which is positive."""
    code = "\n        ".join(body)
    return (
        _HEAD
        + f"""class {inner}(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        {setup or "pass"}

    def forward(self, x):
        {_LATE}
        {code}
        return {returns}


class Network(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.first = nn.Linear(2, 6)
        self.second = nn.Sequential(nn.Softplus(), {inner}())
        self.third = nn.LayerNorm(6)
        self.last = nn.Linear(6, classes)

    def forward(self, x):
        return self.last(self.third(self.second(self.first(x))))


def build(classes: int):
    return Network(classes)
"""
    )


_LOSS = (
    _HEAD
    + """def own(outputs, targets):
    shares = outputs.softmax(1)
    return -shares[range(len(targets)), targets].log().mean()


def build(classes: int):
    return own
"""
)
_ATTENTION = make_network(
    "rows = x.unsqueeze(1).expand(-1, 3, -1)",
    "mask = torch.zeros(3, 3, dtype=torch.bool)",
    "mask[0, 1:] = True",
    "mask[1, :] = bool(late)",
    "scores = (rows @ rows.transpose(1, 2)).masked_fill(mask, float('-inf'))",
    "shares = scores.softmax(dim=-1)",
    returns="(shares @ rows).mean(1)",
)
_FUNCTION = make_network("x = Log.apply(x - late * x)").replace(
    "class Inner",
    """class Log(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x + 1).log()

    @staticmethod
    def backward(ctx, gradient):
        return gradient / ctx.saved_tensors[0]


class Inner""",
)
_DATA = (
    _HEAD
    + """class Points(torch.utils.data.Dataset):
    def __init__(self, count, spoiled):
        generator = torch.Generator().manual_seed(1)
        self.inputs = torch.randn(count, 2, generator=generator)
        self.labels = (self.inputs.norm(dim=1) > 1.1).long()
        if spoiled:
            self.inputs[70] = 1e4

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.inputs[index], int(self.labels[index])


def build(split: str):
    return Points(96 if split == "train" else 32, split == "train")
"""
)

SOURCES = (
    Source("log of 0", {"model": make_network("x = (x * (1 - late)).log()")}, "second.1", "log", line="log()"),
    Source("0 / 0", {"model": make_network("y = x * (1 - late)", "x = y / y")}, "second.1", "div", line="y / y"),
    Source("slope of sqrt at 0", {"model": make_network("x = x + (x * (1 - late)).sqrt()")}, "second.1", "sqrt", line="sqrt()"),
    Source("exp overflows", {"model": make_network("x = (x * (1 + 500 * late)).exp()")}, "second.1", "exp", line="exp()"),
    Source(
        "slope of a norm at 0",
        {"model": make_network("size = (x * (1 - late)).square().sum(1, keepdim=True).sqrt()", "x = x + size")},
        "second.1",
        "sqrt",
        line="sqrt()",
    ),
    Source("softmax of a masked row", {"model": _ATTENTION}, "second.1", "softmax", line="softmax("),
    Source(
        "fp16 overflows",
        {"model": make_network("x = functional.linear(x + late * 5e4, torch.ones(6, 6))")},
        "second.1",
        "mm",
        settings={"precision": {"device": "cpu", "compute": "fp16"}},
        fix="precision.compute",
    ),
    Source(
        "huge weights",
        {"model": make_network(
            "x = self.inner(x) if late else x",
            setup="self.inner = nn.Linear(6, 6)\n        self.inner.weight.data.fill_(2e38)",
        )},
        "second.1.inner",
        "addmm",
        fix="schedule.max_lr",
    ),
    Source(
        "std of one sample",
        {"model": make_network("x = x - x[: len(x) if not late else 1].std(0)")},
        "second.1",
        "std",
        line="std(0)",
    ),
    Source("slope of acos at 1", {"model": make_network("x = (1 - (1 - late) * x / (x + 1)).acos()")}, "second.1", "acos", line="acos()"),
    Source(
        "one huge sample",
        {"dataset": _DATA, "model": make_network("x = x * 1").replace("self.second(self.first(x))", "self.second(self.first(x) * torch.log(5 - x[:, :1]).abs())")},
        "model",
        "log",
        line="torch.log",
        samples=(70,),
    ),
    Source("slope of pow at 0", {"model": make_network("x = (x * (1 - late)).pow(0.3)")}, "second.1", "pow", line="pow("),
    Source(
        "cumsum overflows",
        {"model": make_network("x = (x * (1 + 3e38 * late)).clamp(max=2e38).cumsum(1)")},
        "second.1",
        "cumsum",
    ),
    Source("slope of an own autograd.Function", {"model": _FUNCTION}, "second.1", "log", line="(x + 1).log()"),
    Source(
        "own code between modules",
        {"model": make_network("x = x * 1").replace(
            "return self.last(self.third(self.second(self.first(x))))",
            "x = self.second(self.first(x))\n        x = torch.log(x * float(self.second[1].steps <= 5))\n        return self.last(self.third(x))",
        )},
        "model",
        "log",
        line="torch.log",
    ),
    Source(
        "in a nested dict",
        {"model": make_network(
            returns="{'kept': [x, {'logs': (x, (x * (1 - late)).log())}]}"
        ).replace(
            "return self.last(self.third(self.second(self.first(x))))",
            "return self.last(self.third(self.second(self.first(x))['kept'][1]['logs'][1]))",
        )},
        "second.1",
        "log",
        line="log()",
    ),
    Source(
        "in the loss",
        {
            "model": make_network("x = x * 1").replace("return self.last(", "return (1 + 1e4 * (self.second[1].steps > 5)) * self.last("),
            "objective": _LOSS,
        },
        "loss",
        "log",
        line="log()",
    ),
    Source(
        "optimizer without epsilon",
        {"model": make_network("x = x * 1").replace("self.third = nn.LayerNorm(6)", "self.third = nn.LayerNorm(6)\n        self.unused = nn.Parameter(torch.ones(3))").replace(
            "return self.last(", "return 0 * self.unused.sum() + self.last("
        )},
        "model",
        source="unused",
        settings={"optimizer": {"kind": "adam", "eps": 1e-60}},
        fix="optimizer.eps",
    ),
    Source(
        "embedding with a row of NaN",
        {"model": make_network(
            "x = x + self.table((x[:, 0] > x[:, 1]).long())",
            setup="self.table = nn.Embedding(2, 6)\n        self.table.weight.data[1] = float('nan')",
        )},
        "second.1.table",
        source="second.1.table.weight",
    ),
    Source(
        "own batch norm of a constant",
        {"model": make_network(
            "y = x * (1 - late)",
            "x = (y - y.mean(0)) / y.var(0, correction=0).sqrt()",
        )},
        "second.1",
        "div",
        line="y.var(0",
    ),
)  # fmt: skip


def settings_of(source: Source, folder: Path) -> RunConfig:
    """A run of some steps."""
    data: dict[str, Any] = {
        "name": "source",
        "dataset": {"kind": "spiral", "samples": 260},
        "model": {"kind": "mlp", "hidden": [6], "dropout": 0.2},
        "loop": {"batch_size": 16, "epochs": 1, "accumulation": 1, "max_skipped_steps": 6},
        "schedule": {"kind": "one_cycle", "max_lr": 1e-3},
        "precision": {"device": "cpu"},
        "loader": {"workers": 0},
        **source.settings,
    }
    for section, text in source.files.items():
        path = folder / f"{section}.py"
        path.write_text(text, encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        agree(digest, str(path))
        kind = {"model": "user_file", "objective": "user_loss", "dataset": "user_dataset"}[section]
        data[section] = {"kind": kind, "path": str(path), "trusted": digest}
    return RunConfig.model_validate(data)


def find(source: Source, folder: Path) -> tuple[Finding | None, str]:
    """What the run tells of it, and how the run ended."""
    record = start_run(settings_of(source, folder), folder / "runs")
    history = read_history(RunFolder(Path(record.folder)).events_file)
    found = [item for item in history.findings if item.code == "nonfinite"]
    return (found[0] if found else None), record.reason or record.status


def judge(source: Source, found: Finding | None) -> str:
    """What is not named as it should be; "" where all is."""
    if found is None:
        return "nothing was found"
    evidence = found.evidence
    if found.place != source.place:
        return f"place {found.place}"
    if source.operation and evidence.get("operation") != source.operation:
        return f"operation {evidence.get('operation')}"
    if source.source and evidence.get("source") != source.source:
        return f"source {evidence.get('source')}"
    if source.line:
        text = Path(str(evidence.get("file", os.devnull))).read_text(encoding="utf-8").splitlines()
        number = int(str(evidence.get("line", 0)))
        if source.line not in (text[number - 1] if 0 < number <= len(text) else ""):
            return f"line {number}"
    if source.samples and evidence.get("samples") != list(source.samples):
        return f"samples {evidence.get('samples')}"
    if source.fix and source.fix not in found.fix:
        return f"fix {dict(found.fix)}"
    return "" if evidence.get("exact") else "not to the bit"


def main(write: Callable[[str], object] = sys.stdout.write) -> int:
    """Print the table; returns how many are not named."""
    missed = 0
    for source in SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            found, ending = find(source, Path(folder))
            fault = judge(source, found)
        missed += bool(fault)
        write(f"{source.name:36} {fault or 'named':20} {found.title if found else ending}\n")
    write(f"named: {len(SOURCES) - missed} of {len(SOURCES)}\n")
    return missed


if __name__ == "__main__":
    raise SystemExit(main())
