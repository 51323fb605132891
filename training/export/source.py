"""Python source from a template, with the code of ours and the imports that it needs; and that source as a module."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import training
from training.export.core_source import paste_core
from training.tutorial.literals import prose
from training.tutorial.rendering import choose_imports, make_environment

if TYPE_CHECKING:
    from training.export.network_listing import Network

_IMPORTS = """
import argparse, gzip, hashlib, json, math, os, random, re, sys, unicodedata, zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache, partial
from itertools import pairwise
from numbers import Number
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Literal, NamedTuple, NotRequired, Self, TypedDict
from zipfile import BadZipFile

import numpy as np, onnxruntime, polars as pl, timm, torch, torchvision
from numpy.typing import NDArray
from PIL import Image, ImageOps
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.adamw import adamw
"""
"""What a file may need; only what it does use is written."""


class SecondFile(NamedTuple):
    """A Python file that lies beside a script, which imports something from it."""

    module: str
    text: str
    imported: str


def module_beside(what: str, file: str) -> str:
    """The name of a module that lies beside the script ``file``, whatever that is called."""
    return f"{what}_of_{re.sub(r'[^0-9a-zA-Z_]', '_', Path(file).stem)}"


def name_source(checkpoint: Path) -> str:
    """What a file was written from, for its docstring."""
    return prose(f"{checkpoint.parent.parent.name}, {checkpoint.name}")


def render_module(words: str, checkpoint: Path, network: Network | None, code: str = "") -> str:
    """The text of a file that makes ``network`` and has ``code`` of ours below; ``words`` say what it is for."""
    source = name_source(checkpoint)
    return render_source("module.jinja", words=words, source=source, network=network, code=code)


def render_source(template: str, beside: Sequence[SecondFile] = (), **facts: object) -> str:
    """The text of a file that imports from those ``beside``."""
    environment = make_environment("training.export")
    text = paste_core(environment.get_template(template).render(version=training.__version__, **facts))
    imports = choose_imports(_IMPORTS, {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)})
    own = "\n".join(f"from {file.module} import {file.imported}" for file in beside)
    imports = "\n\n".join(filter(None, [imports, own]))
    text = text.replace("\n#IMPORTS#\n", f"\n{imports}\n")  # a line of its own, which no name can be
    text = re.sub(r"\n{3,}(?=[ ])", "\n\n", text)  # where a part was left out, its blank lines stay behind
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip("\n") + "\n"


@contextmanager
def import_source(text: str, name: str, file: str = "") -> Iterator[ModuleType]:
    """Inside, ``text`` is the module ``name``, which others can import, too. Nothing is written."""
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = file or f"{name}.py"
    try:
        exec(compile(text, module.__file__, "exec", dont_inherit=True), vars(module))
        yield module
    finally:
        del sys.modules[name]
