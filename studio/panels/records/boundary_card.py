"""The decision boundary of a run over points in the plane: live, back over its validations, and as a film to take along."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QFileDialog

from studio.actions.saving import ask_for_place, save_file
from studio.charts.boundary_plot import BoundaryPlot, theme_look
from studio.charts.class_legend import PointLegend
from studio.state.context import AppContext
from studio.theme import icon
from studio.widgets import Card, ComboBox, Slider, SteadyLabel, button, hbox, icon_button, in_widget
from training.runs.boundary.frames import Boundary, read_boundary
from training.runs.boundary.gaps import tell_gaps
from training.runs.boundary.images import name_frame, save_animation, save_images
from training.runs.folder import RunFolder

logger = logging.getLogger(__name__)

_RATES = (2, 5, 10, 25)
_RATE = 10  # frames a second


class BoundaryCard(Card):
    """Shows ``boundary.bin`` of a run; hidden where there is none. It follows the newest frame while that is shown."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Decision boundary", "chart")
        self._context = context
        self._folder: RunFolder | None = None
        self._boundary: Boundary | None = None
        self._gaps = ""
        self._reading = self._again = False
        self.plot = BoundaryPlot()
        self.legend = PointLegend()
        self.words = SteadyLabel("caption")
        self.play = icon_button("play", "Play from the first validation", clicked=self._on_play)
        self.slider = Slider()
        self.slider.setAccessibleName("Validation shown")
        self.slider.valueChanged.connect(self._show_frame)
        self.rate = ComboBox()
        self.rate.setAccessibleName("Frames per second")
        for rate in _RATES:
            self.rate.addItem(f"{rate} frames/s", rate)
        self.rate.setCurrentIndex(_RATES.index(_RATE))
        self.save_gif = button(
            "Save GIF …", "export", tooltip="Save all validations as an animated image", clicked=self._on_save_gif
        )
        self.save_frames = button(
            "Save frames …", "image", tooltip="Save each validation as a PNG file", clicked=self._on_save_frames
        )
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._advance)
        self.rate.currentIndexChanged.connect(lambda: self._timer.setInterval(self._interval()))
        self._film = in_widget(hbox(self.play, (self.slider, 1), self.words, self.rate))
        self.add_action(self.save_gif, self.save_frames)
        self.add(hbox((self.plot, 0, Qt.AlignmentFlag.AlignHCenter)), self.legend, self._film)
        self.hide()

    def set_run(self, folder: RunFolder | None) -> None:
        """Look at another run, or none."""
        if folder != self._folder:
            self._folder = folder
            self._stop()
            self._show(None)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read the file again; asked while it is being read, once more after that."""
        folder = self._folder
        if folder is None or self._reading:
            self._again = self._reading
            return
        self._reading = True

        def read() -> tuple[Boundary | None, str]:
            boundary = read_boundary(folder.boundary_file)
            return boundary, tell_gaps(folder, boundary) if boundary is not None else ""

        def handle_result(found: tuple[Boundary | None, str]) -> None:
            self._reading = False
            if folder == self._folder:
                boundary, self._gaps = found
                self._show(boundary)
            if self._again or folder != self._folder:
                self._again = False
                self.refresh()

        def handle_failure(error: Exception) -> None:
            self._reading = self._again = False
            logger.warning("A decision boundary could not be read: %s", error)

        self._context.background.submit(read, handle_result, handle_failure)

    # ------------------------------------------------------------------------------------------- inside

    def _show(self, boundary: Boundary | None) -> None:
        before, self._boundary = self._boundary, boundary
        self.setVisible(boundary is not None)
        if boundary is None:
            self.plot.show_plane(None)
            return
        if before is None or before.plane != boundary.plane:
            self.plot.show_plane(boundary.plane)
            self.legend.set_names(boundary.plane.names)
        steps, shown = boundary.frames["step"], self._find_step(before)
        for part in (self._film, self.save_gif, self.save_frames):
            part.setVisible(len(steps) > 0)
        self.set_subtitle(self._gaps if len(steps) else "The samples; the regions come with the first validation.")
        if not len(steps):
            self.plot.show_plane(boundary.plane)  # what was shown before is void
            return
        at = len(steps) - 1 if shown is None else int(abs(steps - shown).argmin())
        self.slider.blockSignals(True)
        self.slider.setRange(0, len(steps) - 1)
        self.slider.setValue(at)
        self.slider.blockSignals(False)
        self._show_frame()

    def _find_step(self, boundary: Boundary | None) -> int | None:
        """The step that the person went back to; None where the newest is followed."""
        if boundary is None or not len(boundary.frames) or self.slider.value() >= self.slider.maximum():
            return None
        return int(boundary.frames["step"][self.slider.value()])

    @Slot()
    def _show_frame(self) -> None:
        boundary = self._boundary
        if boundary is None or not len(boundary.frames):
            return
        frame = boundary.frames[self.slider.value()]
        self.plot.show_frame(frame)
        name = name_frame(int(frame["step"]), int(frame["epoch"]))
        self.words.setText(name)
        self.plot.setAccessibleName(f"Decision boundary between {len(boundary.plane.names)} classes: {name}")

    # --------------------------------------------------------------------------------------------- film

    def _interval(self) -> int:
        return 1000 // int(self.rate.currentData())

    @Slot()
    def _on_play(self) -> None:
        if self._timer.isActive():
            self._stop()
            return
        if self.slider.value() == self.slider.maximum():
            self.slider.setValue(0)
        self._timer.start(self._interval())
        self._name_play("pause", "Stop here")

    @Slot()
    def _advance(self) -> None:
        self.slider.setValue(self.slider.value() + 1)
        if self.slider.value() >= self.slider.maximum():
            self._stop()

    def _stop(self) -> None:
        self._timer.stop()
        self._name_play("play", "Play from the first validation")

    def _name_play(self, image: str, words: str) -> None:
        self.play.setIcon(icon(image, "muted"))
        self.play.setToolTip(words)
        self.play.setAccessibleName(words)

    # --------------------------------------------------------------------------------------------- saving

    @Slot()
    def _on_save_gif(self) -> None:
        path = ask_for_place(self, "Save the animation", "Animated GIF", f"{self._name()}.gif", "gif")
        rate, look, boundary = int(self.rate.currentData()), theme_look(), self._boundary
        if path is not None and boundary is not None:
            self._save(lambda: save_animation(boundary, path, rate, look), path)

    @Slot()
    def _on_save_frames(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, "Save the frames in", str(Path.home()))
        folder, look, boundary = Path(chosen) / f"{self._name()}", theme_look(), self._boundary
        if chosen and boundary is not None:
            self._save(lambda: save_images(boundary, folder, look), folder)

    def _name(self) -> str:
        return f"{self._folder.id if self._folder else 'run'}-boundary"

    def _save(self, save: Callable[[], object], path: Path) -> None:
        buttons = self.save_gif, self.save_frames
        for each in buttons:
            each.setEnabled(False)

        def allow() -> None:
            for each in buttons:
                each.setEnabled(True)

        save_file(self._context, save, path, "The decision boundary was not saved", allow)
