"""What ``build(...)`` asks for, read from the text of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from training.config.rules.signature import Parameter, signature_of
from training.errors import InputError


def parameters(text: str) -> dict[str, Parameter]:
    return {item.name: item for item in signature_of(text.encode(), "/somewhere/network.py").parameters}


def test_a_whole_signature() -> None:
    text = '''
import typing
from typing import Literal, Optional
raise SystemExit("never run")
def build(channels, num_classes, width: int = 8, *, height: int, rate: "float" = -0.5, deep=True, sizes=(1, 2.5),
          exact: tuple[int, int] = (1, 2), many: list[float] = [], norm: typing.Literal["a", "b"] = "b",
          name: str | None = None, depth: Optional[int] = 3, needed: float):
    """Makes it.

    Args:
        rate (float): how fast
            it goes.
        name: of all.

    :param deep: or not
    """
'''
    signature = signature_of(text.encode(), "/somewhere/network.py")
    assert signature.digest == hashlib.sha256(text.encode()).hexdigest()
    assert signature.filled == ("channels", "num_classes", "width", "height")
    assert signature.summary == "Makes it."
    found = {item.name: item for item in signature.parameters}
    wanted: dict[str, tuple[Any, ...]] = {
        "rate": ("float", -0.5, False, False),
        "deep": ("bool", True, False, False),
        "sizes": ("numbers", [1, 2.5], False, False),
        "exact": ("numbers", [1, 2], False, False),
        "many": ("numbers", [], False, False),
        "norm": ("choice", "b", False, False),
        "name": ("text", None, False, True),
        "depth": ("int", 3, False, True),
        "needed": ("float", None, True, False),
    }
    assert {name: (item.sort, item.default, item.required, item.optional) for name, item in found.items()} == wanted
    assert found["norm"].choices == ("a", "b")
    assert [(found[name].numbers, found[name].count) for name in ("sizes", "exact", "many")] == [
        *(("float", 0), ("int", 2), ("float", 0)),
    ]
    assert [found[name].help for name in ("rate", "name", "deep", "sizes")] == [
        "how fast it goes.",
        "of all.",
        "or not",
        "",
    ]


def test_a_width_without_a_height_is_the_networks_own() -> None:
    assert parameters("def build(classes, width: int = 4): ...")["width"].default == 4


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def build(:\n", r"network\.py, line 1: invalid syntax"),
        ("\n\ndef make(classes): ...", r"network\.py: defines no function build"),
        ("\ndef build(classes, **more): ...", r"network\.py, line 2: build takes \*args"),
        ("def build(classes, /): ...", "positional-only"),
        ("def build(a): ...", "line 1: a has neither a type nor a default"),
        ("def build(a: int = 3 * 4): ...", "line 1: a has a default that only running the file would tell"),
        ("def build(a: dict[str, int]): ...", "line 1: a has a type that no form can ask for"),
        ("from . import other\ndef build(a: int): ...", "line 1: imports a package of its own, but only a single file"),
        ("\0", "is not readable as Python|source code"),
        ("def build(a=" + "(" * 400 + "): ...", "line 1|not readable"),
    ],
)
def test_what_no_form_can_be_made_of(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parameters(text)


def test_a_file_beside_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "blocks.py").touch()
    content = b"import torch\nfrom blocks import Block\ndef build(a: int): ..."
    with pytest.raises(InputError, match=r"line 2: imports the file blocks\.py beside it"):
        signature_of(content, str(tmp_path / "network.py"))
