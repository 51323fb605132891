"""The runs that are compared: opened in the background, grouped, and their curves smoothed there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QObject, Signal

from studio.services.background import Background
from training.errors import InputError
from training.runs.comparison.bands import Band, average
from training.runs.comparison.compared_run import Axis, ComparedRun
from training.runs.folder import RunFolder
from training.runs.groups import group_by, recipe
from training.runs.pyramid.curve import Pyramid, StoredPyramid
from training.runs.pyramid.levels import Levels
from training.runs.pyramid.smoothing import Smoother, make_smoother

logger = logging.getLogger(__name__)

MOST_DRAWN = 20
EACH, REPEATS = "", "recipe"
"""Ways to group: not at all, and repeats that differ in their seed alone. Others are names of settings."""


@dataclass(frozen=True)
class Look:
    """How curves are drawn. ``band``: "range" or "std"."""

    axis: Axis = "step"
    weight: float = 0.0
    centered: bool = False
    group: str = EACH
    band: str = "range"


@dataclass(frozen=True)
class Drawn:
    """A curve ready to be drawn; of a mean its edges, and over how many runs it is at each of its steps."""

    curve: Pyramid
    smoother: Smoother | None = None
    edges: tuple[tuple[Pyramid, Smoother | None], ...] = ()
    band: Band | None = None


@dataclass(frozen=True)
class Group:
    """Runs that are drawn as their mean, and what is said of them."""

    key: str
    title: str
    members: tuple[RunFolder, ...]


class Comparison(QObject):
    """Signals:
    chosen_changed(): other runs are compared.
    opened(): one more of them was read, or could not be.
    """

    chosen_changed = Signal()
    opened = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = background.make_other()  # to read a million steps must not hold up the list of runs
        self.folders: tuple[RunFolder, ...] = ()
        self.runs: dict[RunFolder, ComparedRun] = {}
        self.problems: dict[RunFolder, str] = {}
        self.names: dict[RunFolder, str] = {}
        self._colors: dict[RunFolder, int] = {}

    def show(self, folders: Sequence[RunFolder], names: dict[RunFolder, str] | None = None) -> None:
        """Compare these; of those that were compared already nothing is read again. ``names``: what they are called."""
        self.names = names or {}
        folders = tuple(dict.fromkeys(folders))
        if folders == self.folders:
            return
        self.folders = folders
        self.runs = {folder: self.runs[folder] for folder in folders if folder in self.runs}
        self.problems.clear()
        self._give_colors()
        self.chosen_changed.emit()
        for at, folder in enumerate(folders):
            if folder not in self.runs:
                self._open(folder, draws=at < MOST_DRAWN)

    def drawn_runs(self) -> list[RunFolder]:
        """Those whose curves are drawn: the first twenty."""
        return list(self.folders[:MOST_DRAWN])

    def list_read(self) -> list[ComparedRun]:
        """All that were read, in order."""
        return [self.runs[folder] for folder in self.folders if folder in self.runs]

    def is_loading(self) -> bool:
        """Whether some are still to come."""
        return any(folder not in self.runs and folder not in self.problems for folder in self.folders)

    def color(self, folder: RunFolder) -> int:
        """The number of a run's color, the same for as long as it is compared, and after."""
        return self._colors.get(folder, 0)

    def title(self, folder: RunFolder) -> str:
        """What a run is called."""
        run = self.runs.get(folder)
        return self.names.get(folder) or (run.record.name if run else "") or folder.id

    def groups(self, way: str) -> list[Group]:
        """The drawn runs that were read, by a way to group."""
        runs = {folder.id: self.runs[folder] for folder in self.drawn_runs() if folder in self.runs}
        if way == EACH:
            keys = {run: run for run in runs}
        elif way == REPEATS:
            keys = {name: recipe(run.settings) for name, run in runs.items()}
        else:
            keys = {name: f"{way} = {say_setting(run.settings.get(way))}" for name, run in runs.items()}
        made = []
        for key, members in group_by(keys).items():
            folders = tuple(runs[name].folder for name in members)
            title = key if way not in (EACH, REPEATS) else self.title(folders[0])
            made.append(Group(key, title, folders))
        return made

    def draw(self, folder: RunFolder, name: str, look: Look) -> Drawn | None:
        """A run's curve as it came: at once. None where it has none."""
        run = self.runs.get(folder)
        curve = run.curve(name, look.axis) if run else None
        return Drawn(curve) if curve is not None else None

    def smooth(self, drawn: Drawn, look: Look, handle: Callable[[Drawn], object]) -> None:
        """Compute the smoothed line of all samples of a curve in the background."""
        if (smoother := make_smoother(look.weight, centered=look.centered)) is None:
            return

        def work() -> Drawn:
            smoother.grow(drawn.curve)
            return Drawn(drawn.curve, smoother)

        self._submit(work, handle)

    def average(self, group: Group, name: str, look: Look, handle: Callable[[Drawn | None], object]) -> None:
        """Compute the mean of a group's curves and its band: of all its runs, hidden or not."""
        runs = [self.runs[folder] for folder in group.members if folder in self.runs]
        # Looked up here: the thread of the window alone takes up what runs grow by.
        found = [(run, curve) for run in runs if (curve := run.curve(name)) is not None and len(curve)]
        self._submit(lambda: _average(found, look), handle)

    def find_grown(self) -> list[RunFolder]:
        """Take up what runs at work have done since; which they are. One that went back, or began again, is opened again; one whose
        folder is gone is compared no more."""
        gone = [folder for folder in self.folders if not folder.path.is_dir()]
        if gone:
            self.show([folder for folder in self.folders if folder not in gone], self.names)
        grown = []
        for folder, run in list(self.runs.items()):
            if not run.is_growing:
                continue
            try:
                goes_on = run.grow()
            except (InputError, OSError) as error:
                logger.info("%s cannot be followed: %s", folder.id, error)
                goes_on = False
            if goes_on:
                grown.append(folder)
            else:
                del self.runs[folder]
                self._open(folder, draws=True)
        return grown

    def _submit(self, work: Callable[[], object], handle: Callable[..., object]) -> None:
        self._background.submit(work, handle, lambda error: logger.warning("Curves cannot be compared: %s", error))

    def _open(self, folder: RunFolder, *, draws: bool) -> None:
        def handle_result(run: ComparedRun) -> None:
            if folder in self.folders:
                self.runs[folder] = run
                self.opened.emit()

        def handle_failure(error: Exception) -> None:
            if folder in self.folders:
                self.problems[folder] = str(error)
                self.opened.emit()

        self._background.submit(lambda: ComparedRun(folder, files=draws), handle_result, handle_failure)

    def _give_colors(self) -> None:
        """A run keeps its color; another one gets the first that no run now compared has."""
        taken = {self._colors[folder] for folder in self.folders if folder in self._colors}
        for folder in self.folders:
            if folder not in self._colors:
                self._colors[folder] = next(number for number in range(len(taken) + 1) if number not in taken)
                taken.add(self._colors[folder])


def _average(found: Sequence[tuple[ComparedRun, Pyramid]], look: Look) -> Drawn | None:
    if not found:
        return None
    band = average([(curve.x, curve.y) for _, curve in found])
    longest = max(found, key=lambda each: len(each[1]))[0]  # of repeats the steps lie alike; of time it is that one's
    positions = longest.place(band.steps, look.axis)
    if positions is None:
        return None
    curves = [StoredPyramid(positions, _reader(values), Levels()) for values in (band.mean, *band.edges(look.band))]
    smoothers = [make_smoother(look.weight, centered=look.centered) for _ in curves]
    for curve, smoother in zip(curves, smoothers, strict=True):
        if smoother is not None:
            smoother.grow(curve)
    lines = list(zip(curves, smoothers, strict=True))
    return Drawn(*lines[0], edges=tuple(lines[1:]) if len(found) > 1 else (), band=band)


def _reader(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Callable[[int, int], np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:  # fmt: skip
    return lambda first, stop: values[first:stop]


def say_setting(value: object) -> str:
    """A setting's value in a table of settings."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return "–" if value is None else str(value)
