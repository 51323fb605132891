"""TensorBoard: one event file for a run, which is only added to. What a kill left behind the last point that was noted as sent is cut
off and written again."""

from __future__ import annotations

import io
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from training.runs.folder import RunFolder
from training.runs.records.series import Rows
from training.sidecars.faults import explain_missing, explain_place
from training.tracking.cursor import Cursor
from training.tracking.ledger import Measured
from training.tracking.settings import TensorBoard
from training.tracking.target import STEP_METRICS
from training.typed_paths import parse_path


class TensorBoardTarget:
    """A ``target.Target``. ``cursor.remote`` is the name of the file, ``cursor.size`` how much of it is sent."""

    def __init__(self, folder: RunFolder, settings: TensorBoard, cursor: Cursor) -> None:
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.record_writer import RecordWriter
        except ImportError as error:
            raise explain_missing("tensorboard", "tensorboard") from error
        self._event, self._summary, self._make_writer = event_pb2.Event, summary_pb2.Summary, RecordWriter
        self._log, self._cursor = event_pb2.SessionLog, cursor
        own = settings.folder and parse_path(settings.folder) / folder.id
        self._where = own or folder.tracking / "tensorboard"

    def open(self, settings: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Open the file where it was left off."""
        cursor = self._cursor
        try:
            self._where.mkdir(parents=True, exist_ok=True)
            whole = bool(cursor.remote) and (self._where / cursor.remote).is_file()
            if not whole:  # deleted: all is written again
                name = f"events.out.tfevents.{int(time.time()):010d}.trainwright"
                cursor.remote, cursor.size, cursor.steps, cursor.measured, cursor.sent = name, 0, 0, 0, {}
            path = self._where / cursor.remote
            self._file = open(path, "r+b" if whole else "w+b")  # noqa: SIM115, PTH123 - kept open
            self._file.truncate(cursor.size)
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise explain_place(self._where, error) from error
        self._writer = self._make_writer(self._file)
        if not cursor.size:
            self._write(self._event(wall_time=time.time(), file_version="brain.Event:2"))
        for name, values in (("settings", settings), ("environment", tags)):
            content = json.dumps(dict(values)).encode()
            if cursor.lacks(name, content):
                self._write_text(name, "\n".join(f"    {entry} = {value}" for entry, value in values.items()))
                cursor.note(name, content)

    def send_points(self, rows: Rows) -> None:
        """A scalar for each number of a step."""
        for row in rows:
            values = [self._summary.Value(tag=tag, simple_value=float(row[name])) for tag, name in STEP_METRICS.items()]
            self._write_values(values, int(row["step"]), float(row["time"]))

    def send_measured(self, items: Sequence[Measured]) -> None:
        """A scalar for each metric."""
        for item in items:
            values = [self._summary.Value(tag=name, simple_value=value) for name, value in item.metrics.items()]
            self._write_values(values, item.step, item.time)

    def send_file(self, name: str, content: bytes) -> None:
        """As text."""
        self._write_text(name, "\n".join(f"    {line}" for line in content.decode(errors="replace").splitlines()))

    def send_image(self, name: str, step: int, png: bytes) -> None:
        """Among the images."""
        from PIL import Image as Pillow

        with Pillow.open(io.BytesIO(png)) as image:
            width, height = image.size
        shown = self._summary.Image(width=width, height=height, colorspace=1, encoded_image_string=png)
        self._write_values([self._summary.Value(tag=name, image=shown)], step, time.time())

    def forget_from(self, step: int) -> None:
        """Readers drop what they have read of ``step`` and later."""
        self._write(self._event(wall_time=time.time(), step=step, session_log=self._log(status=self._log.START)))

    def commit(self) -> None:
        """Hand all to the disk."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._cursor.size = self._file.tell()
        except OSError as error:
            raise explain_place(self._where, error) from error

    def end(self, final: Mapping[str, str]) -> None:
        """The outcome as text."""
        self._write_text("outcome", "\n".join(f"    {name} = {value}" for name, value in final.items()))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write_text(self, tag: str, text: str) -> None:
        value = self._summary.Value(tag=tag)
        value.metadata.plugin_data.plugin_name = "text"
        value.tensor.dtype = 7  # a string
        value.tensor.tensor_shape.dim.add().size = 1
        value.tensor.string_val.append(text.encode())
        self._write_values([value], self._cursor.steps, time.time())

    def _write_values(self, values: list[Any], step: int, when: float) -> None:
        self._write(self._event(wall_time=when, step=step, summary=self._summary(value=values)))

    def _write(self, event: Any) -> None:
        try:
            self._writer.write(event.SerializeToString())
        except OSError as error:
            raise explain_place(self._where, error) from error


def try_tensorboard(settings: TensorBoard) -> str:
    """Write a file into the folder and delete it; returns the sentence that all is well, raises what a delivery would."""
    try:
        import tensorboard
    except ImportError as error:
        raise explain_missing("tensorboard", "tensorboard") from error
    where = "each run's own folder"
    if settings.folder:
        place = parse_path(settings.folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place) as stream:
                stream.write(b"x")
        except OSError as error:
            raise explain_place(place, error) from error
        where = str(place)
    return f"TensorBoard {tensorboard.__version__} is installed; event files are written to {where}."
