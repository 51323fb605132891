"""Samples as files hold them, beside what the engine reads of each: what ``preprocess.py`` has to make of them, too."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from training.config.sections.data.tables import TableSection
from training.data.images.decode import Form, outcome
from training.data.images.images import Images
from training.data.images.masks import MaskForm
from training.data.source import Source
from training.export.bundle import ExportBundle
from training.runs.relocation import config_here
from training.verify.kept import Raw

_FILES, _ROWS, _TEXTS = 8, 64, 8
_MOST_BYTES = 1 << 19
"""Of one image file."""
_ORIENTATION = 0x0112


def gather_raw(
    bundle: ExportBundle, source: Source | None, inputs: Mapping[str, NDArray[Any]], numbers: Tensor
) -> Raw | None:
    """Of images files of the run, and such of every kind that are made of its images; of a table rows, also of queries; of text its words. ``numbers``
    are those of the first samples of ``inputs``. None for data of which no file is read."""
    if bundle.facts.layout == "image":
        return _gather_images(bundle, source, inputs["images"], numbers) if bundle.facts.shape[0] in (1, 3) else None
    if bundle.facts.vocabulary:
        return _gather_texts(bundle, inputs["tokens"])
    if source is not None and isinstance(bundle.config.dataset, TableSection):
        return _gather_rows(bundle, source, inputs["features"], numbers)
    return None


def _gather_images(bundle: ExportBundle, source: Source | None, images: NDArray[Any], numbers: Tensor) -> Raw:
    content, found = [], []
    if isinstance(source, Images):
        for place, number in enumerate(numbers[:_FILES].tolist()):
            file = source.file(number)
            with suppress(OSError):
                if file.stat().st_size <= _MOST_BYTES:
                    content.append(file.read_bytes())
                    found.append(images[place])
    channels, height, width = bundle.facts.shape
    form = Form(height, width, channels, fit=True, mask=MaskForm(()) if bundle.facts.target == "mask" else None)
    with tempfile.TemporaryDirectory() as folder:
        for number, made in enumerate(_make_files(images[0])):
            path = Path(folder) / f"{number}.img"
            path.write_bytes(made)
            became = outcome(path, form)
            if isinstance(became, tuple):
                content.append(made)
                found.append(became[0])
    return Raw(tuple(content), {"images": np.stack(found)})


def _make_files(pixels: NDArray[np.uint8]) -> list[bytes]:
    """An image file of every kind that is read in a way of its own: as it is, larger and on its side, transparent, of 16 bits, and of a
    single pixel."""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    turned = Image.Exif()
    turned[_ORIENTATION] = 6
    larger = image.resize((2 * image.width + 5, 3 * image.height + 1))
    clear = image.convert("RGBA")
    clear.putalpha(image.convert("L"))
    deep = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    return [
        _encode(image, "PNG"),
        _encode(larger, "JPEG", quality=90, exif=turned),
        _encode(clear, "PNG"),
        _encode(deep, "PNG"),
        _encode(image.resize((1, 1)), "PNG"),
    ]


def _encode(image: Image.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _gather_rows(bundle: ExportBundle, source: Source, features: NDArray[Any], numbers: Tensor) -> Raw:
    from training.data.sources.ranking import NO_ROW, Queries  # with polars
    from training.data.sources.table import Table
    from training.data.tables.table_file import read_new_table

    assert isinstance(source, Table)
    section = config_here(bundle.run).dataset
    assert isinstance(section, TableSection)
    rows = source.rows[numbers[:_ROWS]]
    features = features[: len(rows)]
    if isinstance(source, Queries):  # the items of the first, one by one
        there = rows != NO_ROW
        features, rows = features[there.numpy()][:_ROWS], source.features.rows[rows[there][:_ROWS]]
    frame = read_new_table(Path(section.path), section, source.table)[rows.numpy()]
    wanted = {
        source.table.derived[at].column if source.table and source.table.derived and source.table.derived[at] else name  # type: ignore[union-attr]
        for at, name in enumerate(source.columns)
    }
    cells = [{name: value for name, value in row.items() if name in wanted} for row in frame.iter_rows(named=True)]
    content = tuple(json.dumps(row, default=str, ensure_ascii=False).encode() for row in cells)
    return Raw(content, {"features": features})


def _gather_texts(bundle: ExportBundle, tokens: NDArray[Any]) -> Raw:
    """A text of some windows, and one that is shorter than what the model sees."""
    vocabulary, places = bundle.vocabulary, bundle.facts.shape[0]
    texts = [vocabulary.decode(row.tolist()).replace("\ufffd", " ") for row in tokens[:_TEXTS]]
    texts += [texts[0][:3] or "a", "It's 42 naïve words, isn't it?  No:\n\n\tçà ☃"]
    made, lengths = np.zeros((len(texts), places), np.int64), np.zeros(len(texts), np.int64)
    for number, text in enumerate(texts):
        found = vocabulary.encode(text)[-places:]
        made[number, : len(found)], lengths[number] = found, len(found)
    return Raw(tuple(text.encode() for text in texts), {"tokens": made, "lengths": lengths})
