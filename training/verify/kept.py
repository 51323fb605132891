"""``proof.npz``: the samples of a proof, and what the checkpoint answered to them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.system.untrusted import escape_unprintable
from training.verify.answers import Answering

NAME = "proof.npz"
PROOF = "proof.json"
PREPROCESS = "preprocess.py"
CARD = "README.md"
"""The model card, which its author goes on writing: no part of the proof."""
INPUTS = {"image": "images", "vector": "features", "list": "features", "tokens": "tokens"}
"""What an exported graph calls its input, by the layout of the samples."""
PLAIN_INPUT, LOGITS = "samples", "logits"
LENGTHS = "lengths"
"""And beside tokens how many of them are of the text."""
_INPUT, _RAW = "input ", "raw "
_META = "meta"
_MOST = 8 << 30


@dataclass(frozen=True)
class Raw:
    """Samples as files hold them: ``content`` (an image file, a row of a table as JSON, a text) beside the inputs that the engine
    reads of each, by name."""

    content: tuple[bytes, ...]
    inputs: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Kept:
    """n samples. ``inputs`` are what the exported file takes, by name, (n, ...); ``scores``, ``decisions`` and ``terms`` what
    ``Answering`` makes of the checkpoint's answers to them, ``margins`` of each decision. The first ``drawn`` samples were drawn from
    ``part``, and metrics are theirs; behind are ``trained`` ones of the training part where the part has few, and those of the
    ``worst`` samples that were not drawn, ``chosen`` as its clause says ("of 1,024, by loss"). ``part`` is "" for made-up samples, which have no targets and no metric. The file computes in ``dtype``, "float32" or "int8"; in the former scores may be off by ``relative``, a part of
    the largest one."""

    answering: Answering
    inputs: Mapping[str, NDArray[Any]]
    scores: NDArray[np.float32]
    decisions: NDArray[np.int32] | None
    margins: NDArray[np.float32] | None
    chances: NDArray[np.float32] | None
    targets: NDArray[Any] | None
    terms: NDArray[Any] | None
    drawn: int
    part: str
    dtype: str
    relative: float
    raw: Raw | None = None
    trained: int = 0
    worst: int = 0
    chosen: str = ""

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def bytes(self) -> int:
        """Of all samples."""
        return sum(each.nbytes for each in _arrays(self).values())

    def first(self, count: int) -> Kept:
        """The first ``count`` samples and no more."""
        cut: dict[str, Any] = {
            name: None if (each := getattr(self, name)) is None else each[:count] for name in ("scores", *_OPTIONAL)
        }
        inputs = {name: each[:count] for name, each in self.inputs.items()}
        drawn, worst = min(self.drawn, count), self.worst if count >= len(self) else 0
        trained = min(self.trained, count - drawn)
        return replace(self, inputs=inputs, drawn=drawn, trained=trained, worst=worst, **cut)


_OPTIONAL = ("decisions", "margins", "chances", "targets", "terms")


def _arrays(kept: Kept) -> dict[str, NDArray[Any]]:
    found = {name: each for name in ("scores", *_OPTIONAL) if (each := getattr(kept, name)) is not None}
    return found | {_INPUT + name: each for name, each in kept.inputs.items()}


def write_kept(kept: Kept, path: Path) -> None:
    """Write it to ``path``."""
    meta = {
        "version": 1,
        "answering": kept.answering.record(),
        "drawn": kept.drawn,
        "part": kept.part,
        "dtype": kept.dtype,
        "relative": kept.relative,
        "trained": kept.trained,
        "worst": kept.worst,
        "chosen": kept.chosen,
    }
    arrays = _arrays(kept)
    if kept.raw is not None:
        arrays |= {_RAW + name: each for name, each in kept.raw.inputs.items()}
        arrays["raw"] = np.frombuffer(b"".join(kept.raw.content), np.uint8)
        arrays["raw ends"] = np.cumsum([len(each) for each in kept.raw.content])
    text = np.frombuffer(json.dumps(meta, ensure_ascii=False).encode(), np.uint8)
    np.savez_compressed(path, **{_META: text}, **arrays)  # type: ignore[arg-type]


def read_kept(path: Path) -> Kept:
    """What ``path`` holds. Raises InputError for what is no such file."""
    shown = escape_unprintable(str(path), 300)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _MOST:
            raise ValueError("it is larger than any that an export writes")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop(_META).tobytes())
        if meta["version"] != 1:
            raise ValueError("it is of another version")
        return Kept(
            answering=Answering.of(meta["answering"]),
            inputs={name.removeprefix(_INPUT): each for name, each in arrays.items() if name.startswith(_INPUT)},
            scores=arrays["scores"],
            **{name: arrays.get(name) for name in _OPTIONAL},
            drawn=int(meta["drawn"]),
            part=str(meta["part"]),
            dtype=str(meta["dtype"]),
            relative=float(meta["relative"]),
            raw=_read_raw(arrays),
            trained=int(meta.get("trained", 0)),
            worst=int(meta.get("worst", len(arrays["scores"]) - meta["drawn"])),
            chosen=escape_unprintable(str(meta.get("chosen", "")), 200),
        )
    except FileNotFoundError as error:
        raise InputError(
            f"{shown}: is missing; it lies beside each exported file, with the samples of its proof. Bring it along, or export again."
        ) from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        why = escape_unprintable(f"{error}", 200)
        raise InputError(f"{shown}: is not what an export writes ({why}); export the model again.") from error


def _read_raw(arrays: Mapping[str, NDArray[Any]]) -> Raw | None:
    if "raw" not in arrays:
        return None
    whole, ends = arrays["raw"].tobytes(), arrays["raw ends"].tolist()
    content = tuple(whole[start:end] for start, end in zip([0, *ends], ends, strict=False))
    named = {name.removeprefix(_RAW): each for name, each in arrays.items() if name.startswith(_RAW)}
    return Raw(content, named)
