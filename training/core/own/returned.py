"""What a function of a person's own returned, as words."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def describe_kind(value: Any) -> str:
    """``a tensor of 3 x 4``, ``a list``, ``nothing``"""
    if isinstance(value, Tensor):
        return f"a tensor of {' x '.join(map(str, value.shape)) or 'a single number'}"
    return f"a {type(value).__name__}" if value is not None else "nothing"
