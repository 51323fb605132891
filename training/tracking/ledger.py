"""The points that leave a run, each with the time at which it was first seen: what all trackers are sent, and what a resumed run is
compared with. A point that is computed again must be the one that was sent."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from training.runs.folder import RunFolder
from training.runs.records.series import STEP_ROW, Rows, SeriesWriter, read_rows
from training.sidecars.faults import explain_folder
from training.system.atomic import write_text
from training.system.untrusted import MEGABYTE, parse_json, read_bytes

POINT_ROW: Final = np.dtype([("time", "<f8"), *STEP_ROW.descr])
"""A step of the series, and when it was made, in seconds since 1970."""


@dataclass(frozen=True)
class Measured:
    """Metrics that were measured behind a step."""

    step: int
    time: float
    metrics: dict[str, float]

    @property
    def key(self) -> tuple[int, tuple[str, ...]]:
        """What makes it the same measurement when it is made again."""
        return self.step, tuple(sorted(self.metrics))


class Ledger:
    """The file of points, and that of what was measured, in the folder ``tracking`` of a run. One process at a time writes."""

    def __init__(self, folder: RunFolder) -> None:
        """It raises FolderFault, as all that writes does, where the run's folder cannot be written."""
        self._folder = folder
        self._points_file, self._measured_file = folder.tracking / "points.bin", folder.tracking / "measured.jsonl"
        with explain_folder(folder.tracking, "track"):
            folder.tracking.mkdir(exist_ok=True)
            self._writer = SeriesWriter(self._points_file, POINT_ROW)
            self.measured = self._read_measured()
        self._places = {item.key: number for number, item in enumerate(self.measured)}
        self._grown = False
        self.differences: list[tuple[int, str]] = []
        """The step from which on points differ from those that were sent, and how."""

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def sync(self) -> None:
        """Make all of it survive a power cut, so that no point is sent a second time with another time."""
        if self._grown:
            with explain_folder(self._folder.tracking, "track"):
                self._writer.sync()
            self._grown = False

    @property
    def steps(self) -> int:
        """How many steps it holds."""
        return self._writer.rows

    def read_points(self, first: int, last: int) -> Rows:
        """Those of the steps ``first`` to ``last``, counted from 1."""
        return read_rows(self._points_file, POINT_ROW, first, last)

    def take_rows(self, rows: Rows, times: np.ndarray) -> None:
        """Take up rows of the series (consecutive steps): those that are known are compared, others added."""
        known = self.read_points(int(rows["step"][0]), int(rows["step"][-1])) if len(rows) else rows
        for name in STEP_ROW.names or ():
            theirs, ours = known[name], rows[name][: len(known)]
            differs = np.flatnonzero((theirs != ours) & ~((theirs != theirs) & (ours != ours)))
            if len(differs):
                at = int(differs[0])
                self._tell(int(rows["step"][at]), name, float(theirs[at]), float(ours[at]))
                with explain_folder(self._folder.tracking, "track"):
                    self._writer.truncate(int(rows["step"][at]) - 1)
                known = known[:at]
        rest = rows[len(known) :]
        if len(rest):
            points = np.zeros(len(rest), POINT_ROW)
            points["time"] = times[len(known) :]
            for name in STEP_ROW.names or ():
                points[name] = rest[name]
            with explain_folder(self._folder.tracking, "track"):
                self._writer.append(points)
            self._grown = True

    def take_measured(self, item: Measured) -> None:
        """Take up metrics; those that are known are compared."""
        place = self._places.get(item.key)
        if place is None:
            with (
                explain_folder(self._folder.tracking, "track"),
                self._measured_file.open("a", encoding="utf-8") as stream,
            ):
                stream.write(json.dumps(asdict(item)) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            self._places[item.key] = len(self.measured)
            self.measured.append(item)
            return
        before = self.measured[place].metrics
        differing = [name for name, value in item.metrics.items() if repr(value) != repr(before[name])]
        if differing:
            self.measured[place] = item
            self._write_measured()
            self._tell(item.step, differing[0], before[differing[0]], item.metrics[differing[0]])

    def _tell(self, step: int, name: str, before: float, now: float) -> None:
        self.differences.append((step, f"at step {step:,} {name} was {before:g} and is {now:g} when computed again."))

    def _write_measured(self) -> None:
        with explain_folder(self._folder.tracking, "track"):
            write_text(self._measured_file, "".join(json.dumps(asdict(item)) + "\n" for item in self.measured))

    def _read_measured(self) -> list[Measured]:
        try:
            lines = read_bytes(self._measured_file, 1024 * MEGABYTE).splitlines(keepends=True)
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            try:
                found.append(Measured(**parse_json(line)))
            except (ValueError, TypeError):  # torn by a kill: it is taken up again
                break
        if len(found) < len(lines):
            self.measured = found
            self._write_measured()
        return found
