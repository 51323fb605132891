"""What a person's ``__getitem__`` or ``collate_fn`` returns, as tensors; what is odd about it as a clause."""

from __future__ import annotations

from numbers import Number
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from training.core.own.returned import describe_kind

_CHANNELS = (1, 3, 4)
_MODES = ("L", "RGB", "RGBA")
FULL = 255.0
"""Float images go from 0 to 1, as ToTensor makes them; here all go to 255."""


class OddSample(Exception):
    """A clause about a sample that cannot be trained on; the caller, who knows its number, tells which it is. ``cause`` is what it is
    called by."""

    def __init__(self, clause: str, cause: Literal["", "non-finite", "label range"] = "") -> None:
        super().__init__(clause)
        self.cause = cause


def pair_of(value: Any) -> tuple[Any, Any]:
    """(input, target). Raises OddSample."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    many = f" of {len(value)}" if isinstance(value, tuple | list) else ""
    raise OddSample(f"is {describe_kind(value)}{many}; return a pair (input, target)")


def numbers_of(value: Any, what: str = "input") -> Tensor:
    """float32 of at least one dimension: a number, or a tensor, array or list of numbers. Raises OddSample."""
    found = _tensor(value, what)
    if found.is_complex():
        raise OddSample(f"has an {what} of complex numbers; return their real and imaginary parts")
    made = found.to(torch.float32)
    if not bool(torch.isfinite(made).all()):
        raise OddSample(
            f"has an {what} with a number that is missing (NaN), infinite or too large for float32; correct it",
            "non-finite",
        )
    return made.reshape(1) if made.dim() == 0 else made


def pixels_of(value: Any) -> Tensor:
    """(H, W, C), uint8 as it came or float32 from 0 to 255: of a PIL image, a tensor (C, H, W), an array (H, W, C), or either of
    (H, W). Raises OddSample."""
    tensor = isinstance(value, Tensor)
    if isinstance(value, Image.Image):
        value = np.array(value if value.mode in _MODES else value.convert("L" if value.mode == "1" else "RGB"))
    found = _tensor(value, "image")
    if found.dim() == 2:
        found = found.unsqueeze(-1)
    elif found.dim() != 3:
        raise OddSample(f"has {describe_kind(found)} as its image; return (C, H, W), (H, W, C) or (H, W)")
    elif _channels_first(tuple(found.shape), tensor):
        found = found.permute(1, 2, 0)
    return _as_pixels(found)


def batch_pixels_of(value: Any) -> Tensor:
    """The same of a batch (B, C, H, W) that a ``collate_fn`` made. Raises OddSample."""
    found = _tensor(value, "batch of images")
    if found.dim() != 4:
        raise OddSample(f"makes {describe_kind(found)} of images; return (B, C, H, W)")
    return _as_pixels(found.permute(0, 2, 3, 1))


def _channels_first(shape: tuple[int, ...], tensor: bool) -> bool:
    """Tensors have them first and arrays last, as torchvision has it, where the other way alone would make an image."""
    first, last = shape[0] in _CHANNELS, shape[2] in _CHANNELS
    return tensor if first == last else first


def _as_pixels(found: Tensor) -> Tensor:
    if found.dtype == torch.uint8:
        return found.contiguous()
    if not found.is_floating_point():
        raise OddSample(f"has an image of {_dtype(found)}; return uint8 from 0 to 255, or float from 0 to 1")
    made = found.to(torch.float32).contiguous()
    if not bool(torch.isfinite(made).all()):
        raise OddSample("has an image with a number that is missing (NaN) or infinite; correct it", "non-finite")
    return made * FULL


def target_kind(value: Any, sides: tuple[int, ...] | None) -> Literal["class", "labels", "values", "mask"]:
    """What there is to learn by the form of one target; ``sides`` are those of its image. Raises OddSample."""
    if isinstance(value, str):
        return "class"
    found = _tensor(value, "target")
    if sides is not None and found.dim() == 2 and tuple(found.shape) == sides:
        return "mask"
    if found.dim() > 1:
        raise OddSample(
            f"has {describe_kind(found)} as its target; return a number, several numbers, or a mask of the image's size"
        )
    if found.is_floating_point():
        return "values"
    return "class" if found.numel() == 1 else "labels"


def target_of(value: Any, target: str, classes: tuple[str, ...]) -> Tensor:
    """One target as ``Source.targets`` holds it: int64 () of a class, float32 (K,) of labels or values, uint8 (H, W) of a mask. Raises
    OddSample."""
    if isinstance(value, str):
        if target != "class" or value not in classes:
            raise OddSample(
                f"has the text {value[:60]!r} as its target; return a class by its number, or by a name of the Dataset's classes"
            )
        return torch.tensor(classes.index(value))
    found = _tensor(value, "target")
    if target == "class":
        if found.is_floating_point() or found.numel() != 1:
            raise OddSample(f"has {_show(value)} as its target; a class is one whole number")
        number = int(found)
        if number < 0 or (classes and number >= len(classes)):
            raise OddSample(
                f"is of class {number}; classes are counted from 0{f' to {len(classes) - 1}' if classes else ''}",
                "label range",
            )
        return torch.tensor(number)
    if target == "mask":
        if found.dim() != 2 or found.is_floating_point() or bool(((found < 0) | (found > 255)).any()):
            raise OddSample(
                f"has {describe_kind(found)} as its mask; return whole numbers (H, W) from 0 to 255, 255 being no class"
            )
        return found.to(torch.uint8)
    made = numbers_of(value, "target")
    if made.dim() != 1:
        raise OddSample(f"has {describe_kind(made)} as its target; return a number or several")
    if target == "labels" and not bool(((made == 0) | (made == 1)).all()):
        raise OddSample("has labels that are not 0 or 1; return those, or set dataset.task to values", "label range")
    return made


def _tensor(value: Any, what: str) -> Tensor:
    if isinstance(value, Image.Image):
        value = np.array(value)
    try:
        if isinstance(value, Tensor):
            found = value.detach().cpu()
        elif isinstance(value, np.ndarray | np.generic):
            found = torch.from_numpy(np.array(value))
        elif isinstance(value, Number | list | tuple):
            found = torch.as_tensor(value)
        else:
            raise OddSample(f"has {describe_kind(value)} as its {what}; return numbers, an array or a tensor")
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise OddSample(
            f"has {describe_kind(value)} as its {what}, which is no array of numbers; return a tensor"
        ) from error
    if not found.numel():
        raise OddSample(f"has an empty {what}; return numbers")
    return found


def _show(value: Any) -> str:
    return describe_kind(value) if isinstance(value, Tensor | np.ndarray | list) else repr(value)[:60]


def _dtype(found: Tensor) -> str:
    return str(found.dtype).removeprefix("torch.")
