"""The text of a short script put together: its imports and settings, its networks, and what is a function and what is not."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections import Counter
from collections.abc import Mapping

from training.tutorial.layout import wrap_lines
from training.tutorial.rendering import choose_imports

_IMPORTS = """
import gzip, math, os, sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np, polars as pl, timm, torch
from accelerate import Accelerator, DataLoaderConfiguration
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset, TensorDataset, WeightedRandomSampler
from torchvision import datasets, models, tv_tensors
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
"""
"""What a script may need; only what it does use is written."""


def fill_in(
    text: str, settings: list[tuple[str, str, str]], module: str, networks: list[str], workers: bool, brief: bool
) -> str:
    """``text`` with the ``networks`` at their marks, the imports and settings that all of it uses, and blank lines as PEP 8 has
    them; what is run stays a function where ``workers`` import the script again. In a ``brief`` one, settings that are used once stand
    where they are used."""
    counted = _count_names("\n".join([text, *networks]))
    once = {name: value for name, value, _ in settings if brief and counted[name] == 1}
    text = _replace_names(text, once)
    used = set(counted) - set(once)
    rows = [row for row in settings if used & set(row[0].split(", "))]
    lines = [f"{name} = {value}{f'  # {comment}' if comment else ''}" for name, value, comment in rows]
    made = set(_count_names("\n".join(lines)))
    imports = choose_imports(_IMPORTS, used | made) + (f"\n\nfrom {module} import build" if module else "")
    text = re.sub(r"\n+(?=    def )", "\n\n", text)
    text = re.sub(r"\n+(?=#IMPORTS#|@|def |class |if __name__)", "\n\n\n", text)
    text = re.sub(r"(?<=\n)(@.*)\n+(?=def |class )", r"\1\n", text)
    text = re.sub(r"\n+#IMPORTS#\n+", lambda _: f"\n\n{imports.strip()}\n\n" + "\n".join(lines) + "\n\n\n", text)
    text = wrap_lines(text if workers else _flatten(text))
    for number, network in enumerate(networks):
        before, mark, after = text.partition(f"#NETWORK{number}#")
        if mark:
            text = "\n\n\n".join(filter(None, [before.rstrip("\n"), network, after.lstrip("\n")]))
    text = re.sub(r"^(\S.*)\n{3,}(?=\S)(?!@|def |class |if __name__)", r"\1\n\n", text, flags=re.MULTILINE)
    return text.strip("\n") + "\n"


def _count_names(source: str) -> Counter[str]:
    return Counter(node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))


def _replace_names(source: str, values: Mapping[str, str]) -> str:
    """``source`` with values in place of names; what texts and comments say, such as the name of an array, stays."""
    lines = source.split("\n")
    for token in reversed([*tokenize.generate_tokens(io.StringIO(source).readline)]):
        if token.type == tokenize.NAME and token.string in values:
            (row, start), (_, end) = token.start, token.end
            lines[row - 1] = lines[row - 1][:start] + values[token.string] + lines[row - 1][end:]
    return "\n".join(lines)


def _flatten(text: str) -> str:
    """``text`` with what ``main`` and ``load_data`` do written down where it is done, as a student writes it."""
    head, _, body = text.partition("def main():\n")
    body = textwrap.dedent(body.partition("\n\n\nif __name__")[0])
    before, _, rest = head.partition("def load_data():\n")
    reading, _, after = rest.partition("\n#NETWORK0#")
    reading = re.sub(r'"""(.*)"""', r"# \1", textwrap.dedent(reading), count=1)
    asked = re.search(r"(?:(train_set, val_set, (.*)) = )?load_data\(\)\n", body)
    assert asked is not None
    read = re.sub(r"^return train_set, val_set, ", f"{asked[2]} = ", reading, flags=re.MULTILINE)
    read = re.sub(r"^return ", f"{asked[1]} = ", read, flags=re.MULTILINE)
    return f"{before}#NETWORK0#{after}" + body.replace(asked[0], f"{read.rstrip()}\n")


def count_network(text: str, codes: list[str]) -> int:
    """Lines of what makes the networks: their classes ``codes``, and the functions or the expression that build them, with the blank
    ones before."""
    makers = {
        node.name: node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name in ("make_model", "make_teacher")
    }
    blank = 2 * (("make_model" in makers) + bool(codes[0]))
    found = [*makers.values()] if makers else [node for node in ast.parse(text).body if _makes_model(node)]
    lines = sum((node.end_lineno or 0) - node.lineno + 1 for node in found)
    return blank + lines + sum(len(code.splitlines()) for code in codes)


def _makes_model(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "model"
