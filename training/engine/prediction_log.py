"""What a pass without training leaves of each sample: columns of an evaluation, block by block, beside what is measured."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.core import evaluation
from training.data.batching.batches import Batch
from training.data.images.images import Images
from training.errors import TrainingError
from training.objectives import MetricSet
from training.objectives.columns import Columns
from training.predictions.record import MEASURED, ColumnForm
from training.predictions.writing import EvaluationWriter
from training.system.atomic import write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from training.engine.session import Session

BLOCK_BYTES = 1 << 24
"""Of columns that stay on the device until they are fetched in one copy each."""
SAVE_SECONDS = 10.0
"""Between two points that a killed evaluation goes on from: each waits for the disk."""
PROPERTIES = ("brightness", "contrast", "sharpness")
FILE_PROPERTIES = ("width", "height")
"""Of the images' files, in pixels, where they lie in files of their own."""
_MEASURED = re.compile(re.escape(MEASURED) + r"-([0-9]{12})\.pt")
_LUMA = (0.299, 0.587, 0.114)


class PredictionLog:
    """Takes batch after batch of ``session`` on ``part``. ``parts`` is what ``core.evaluation`` measured of each, those of an earlier
    process that was killed before."""

    def __init__(
        self,
        session: Session,
        part: str,
        columns: Columns,
        metrics: MetricSet,
        writer: EvaluationWriter,
        file_sizes: NDArray[np.float32] | None = None,
    ) -> None:
        """``file_sizes`` are those of ``measure_files``. Raises LookupError where what an earlier process measured cannot be read: begin again then."""
        self._session = session
        self._columns = columns
        self._metrics = metrics
        self._writer = writer
        order, groups = session.data.evaluation_order(part), session.data.source.groups
        self._known = {"index": order.numpy()} | (
            {"group": groups[order].numpy()} if "group" in writer.record.columns and groups is not None else {}
        )
        self._file_sizes = file_sizes
        self.parts: list[tuple[Any, ...]] = []
        self._saved_parts = 0
        self._waiting: list[dict[str, Tensor]] = []
        self._bytes = 0
        self._saved = time.monotonic()
        for reached, path in _measured_files(writer.folder).items():
            if reached > writer.record.done:  # a process ended before the samples were safe: they are measured again
                path.unlink()
        if writer.record.done:
            self._restore()

    def take(self, batch: Batch, outputs: Tensor) -> None:
        """A batch that was answered; to be called in inference mode."""
        objective = self._session.objective
        self.parts.append(evaluation.measure_batch(outputs, batch.targets, objective.loss, self._metrics.metric))
        found = self._columns.take(outputs, batch.targets)
        if self._writer.record.properties:
            found["properties"] = self._measure_images(batch.inputs[: len(batch.targets)])
        self._waiting.append(found)
        self._bytes += sum(column.nbytes for column in found.values())
        if self._bytes >= BLOCK_BYTES:
            self.flush()
            if time.monotonic() - self._saved > SAVE_SECONDS:
                self.save()

    def flush(self) -> None:
        """Fetch what waits on the device, and write it."""
        if not self._waiting:
            return
        block = {name: _fetch([each[name] for each in self._waiting], form) for name, form in self._forms()}
        start, rows = self._writer.row_count, len(block["loss"])
        if self._file_sizes is not None:
            block["properties"] = np.hstack([block["properties"], self._file_sizes[start : start + rows]])
        block |= {name: values[start : start + rows] for name, values in self._known.items()}
        self._waiting, self._bytes = [], 0
        with explain_full_disk(self._writer.folder):
            self._writer.append(block)

    def save(self) -> None:
        """From here on another process can go on."""
        sums = self._metrics.take_sums()
        stream = io.BytesIO()
        torch.save({"parts": self.parts[self._saved_parts :], "sums": sums}, stream)
        with explain_full_disk(self._writer.folder):
            write_bytes(self._writer.folder / f"{MEASURED}-{self._writer.row_count:012d}.pt", stream.getvalue())
            self._writer.save()
        self._saved_parts, self._saved = len(self.parts), time.monotonic()

    def summarize(self) -> tuple[float, float]:
        """Loss and metric over all samples, as ``core.evaluation.evaluate`` returns them, once the last batch was taken."""
        self.flush()
        if self._saved_parts < len(self.parts) and self._saved_parts:
            self.save()  # what took long is not computed again, should the process end before the intervals are there
        return evaluation.bring_together(self.parts, self._session.objective.loss, self._metrics.metric)

    def _forms(self) -> Iterator[tuple[str, ColumnForm]]:
        return ((name, form) for name, form in self._writer.record.columns.items() if name not in self._known)

    def _restore(self) -> None:
        done, device = self._writer.record.done, self._session.device
        files = _measured_files(self._writer.folder)
        if max(files, default=0) != done:
            raise LookupError("what was measured is gone")
        for _reached, path in sorted(files.items()):
            try:
                state = torch.load(path, map_location=device, weights_only=True)
                self.parts.extend(state["parts"])
                self._metrics.put_sums(state["sums"])
            except Exception as error:  # archives and pickles that are broken raise anything
                raise LookupError("what was measured is damaged") from error
        self._saved_parts = len(self.parts)

    def _measure_images(self, inputs: Tensor) -> Tensor:
        """(n, properties) of normalized images (n, C, H, W), on the scale from 0 to 1."""
        normalization = self._session.data.normalization
        weights = _LUMA if inputs.shape[1] >= 3 else (1.0,)
        center = sum(mean * weight for mean, weight in zip(normalization.mean, weights, strict=False))
        gray = inputs[:, 0].float() * (normalization.std[0] * weights[0]) + center
        for channel in range(1, len(weights)):
            gray.add_(inputs[:, channel], alpha=normalization.std[channel] * weights[channel])
        flat = gray.flatten(1)
        brightness = flat.mean(1)
        # Not by std, which takes ten times as long on a CPU.
        contrast = torch.linalg.vector_norm(flat - brightness[:, None], dim=1) / flat.shape[1] ** 0.5
        across = (gray[:, :, 1:] - gray[:, :, :-1]).flatten(1).abs_().sum(1)
        down = (gray[:, 1:] - gray[:, :-1]).flatten(1).abs_().sum(1)
        return torch.stack([brightness, contrast, (across + down) / flat.shape[1]], 1)


def measure_files(session: Session, part: str) -> NDArray[np.float32] | None:
    """(samples, len(FILE_PROPERTIES)) of the files of a part's images, in the order of evaluation; None where there are no such files."""
    source = session.data.source
    return source.file_sizes(session.data.evaluation_order(part)) if isinstance(source, Images) else None


def run_pass(
    session: Session, part: str, log: PredictionLog, start: int = 0, tell: Callable[[int], None] = lambda done: None
) -> tuple[float, float]:
    """``core.evaluation.evaluate`` on ``part`` from sample ``start`` on, with what it finds of each sample taken by ``log``.
    ``tell`` hears how many samples are done."""
    session.answer.eval()
    with torch.inference_mode():
        for batch in session.data.evaluation_batches(part, start):
            with session.numerics.autocast():
                outputs = session.answer(batch.inputs)
            log.take(batch, outputs)
            start += len(batch.targets)
            tell(start)
        return log.summarize()


class Unwritable(TrainingError):
    """The place of an evaluation takes no more."""


@contextmanager
def explain_full_disk(folder: Path) -> Iterator[None]:
    """Around the writing of an evaluation: an OSError inside is raised as an Unwritable that names the folder."""
    try:
        yield
    except OSError as error:
        raise Unwritable(
            f"{folder} cannot be written ({error.strerror or error}).",
            "Evaluations are kept in the run's folder: make it writable, free some space, or copy the run to where you may write, and evaluate "
            "again. It goes on where it was.",
        ) from error


def _measured_files(folder: Path) -> Mapping[int, Path]:
    """By the number of samples that were done then."""
    found = ((_MEASURED.fullmatch(path.name), path) for path in folder.iterdir())
    return {int(match[1]): path for match, path in found if match}


def _fetch(columns: Iterable[Tensor], form: ColumnForm) -> NDArray[Any]:
    """In one copy to the host."""
    parts = list(columns)
    whole = parts[0] if len(parts) == 1 else torch.cat(parts)
    return np.ascontiguousarray(whole.to(getattr(torch, form.dtype)).cpu().numpy())
