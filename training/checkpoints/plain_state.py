"""Reading ``state.pt`` without trust: plain data and tensors, nothing built, nothing called, no byte beyond the file.

``torch.load(weights_only=True)`` refuses foreign classes, but still unpacks compressed members to any size, believes the
size a storage claims, and builds what its own allow-list offers (``bytearray(10**12)``). What torch.save writes of our
state needs none of that, so everything else is refused before torch sees the file.
"""

from __future__ import annotations

import pickletools
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.system.untrusted import MEGABYTE, open_file

_MOST_BYTES = 1 << 40
_MOST_PICKLE = 64 * MEGABYTE
_MOST_LEVELS = 16
_GLOBALS = {"collections OrderedDict", "torch._utils _rebuild_tensor_v2"} | {
    f"torch {kind}Storage"
    for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
}
_OPCODES = {
    *("PROTO", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("BINUNICODE", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS"),
    *("EMPTY_DICT", "SETITEM", "SETITEMS", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"),
    *("GLOBAL", "REDUCE", "BINPERSID"),
}


class Refused(ValueError):
    """The file holds something that no training state of ours does; the text says what."""


def read_plain(path: Path) -> Any:
    """The object in ``path``: dicts, lists, tuples, texts, numbers and tensors on the CPU, owned by the caller.

    Raises Refused, OSError, or whatever torch raises for damaged data.
    """
    with open_file(path, _MOST_BYTES) as stream:
        size = path.stat().st_size
        operations = _check_pickle(_pickle_of(stream, size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch remarks on odd pickles before it refuses them
        # Mapped: a storage becomes a piece of the file, cut off at its end, instead of memory of the size it claims.
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    return _Inspection(size, 16 * operations).copy(state)


def _pickle_of(stream: Any, size: int) -> bytes:
    """The pickle inside the archive, once nothing in the archive is larger than it looks."""
    try:
        archive = zipfile.ZipFile(stream)
    except zipfile.BadZipFile as error:
        raise Refused(f"is no archive of torch ({error})") from error
    with archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        if archive.comment or len(set(names)) != len(names) or len({name.split("/")[0] for name in names}) != 1:
            raise Refused("is an archive with two faces")
        if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
            raise Refused("is compressed or encrypted, which training states never are")
        if any(member.file_size != member.compress_size or member.file_size > size for member in members):
            raise Refused("claims to hold more than it does")
        pickles = [member for member in members if member.filename.split("/")[1:] == ["data.pkl"]]
        if len(pickles) != 1 or pickles[0].file_size > _MOST_PICKLE:
            raise Refused("holds no training state")
        return archive.read(pickles[0])


def _check_pickle(data: bytes) -> int:
    """The number of instructions in ``data``. They run one after the other, without jumps: what is not written here is
    not done."""
    operations = 0
    for opcode, argument, _place in pickletools.genops(data):
        operations += 1
        if opcode.name not in _OPCODES:
            raise Refused("holds objects other than tensors and numbers")
        if opcode.name == "GLOBAL" and argument not in _GLOBALS:
            raise Refused(f"holds objects other than tensors and numbers ({str(argument)[:60]})")
    return operations


class _Inspection:
    """Copies a state that refers to itself as often as it likes: a small pickle can say "twice the same" many times."""

    def __init__(self, most_bytes: int, most_visits: int) -> None:
        self._bytes = most_bytes
        self._visits = most_visits

    def copy(self, value: Any, level: int = 0) -> Any:
        """A deep copy of ``value``; raises Refused for what is not plain data, too deep, or grows by being copied."""
        self._visits -= 1
        if level > _MOST_LEVELS or self._visits < 0:
            raise Refused("is nested without end")
        if type(value) is Tensor:
            size = value.numel() * value.element_size()
            self._bytes -= size
            if size > value.untyped_storage().nbytes() or self._bytes < 0:
                raise Refused("holds tensors larger than the file")
            return value.detach().clone()
        if isinstance(value, dict):
            if not all(isinstance(key, str | int) for key in value):
                raise Refused("has keys that are neither names nor numbers")
            return {key: self.copy(item, level + 1) for key, item in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self.copy(item, level + 1) for item in value)
        if value is None or type(value) in (bool, int, float, str):
            return value
        raise Refused("holds objects other than tensors and numbers")
