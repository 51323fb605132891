"""Before a long run in several processes: are they worth while?"""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QProgressBar, QWidget

from studio.state.scaling_query import ScalingQuery
from studio.theme import SPACING, set_role
from studio.widgets import STRETCH, button, hbox, label, vbox
from training.config import RunConfig
from training.protocol.answers import RunTime

_WIDTH = 480


class TimingDialog(QDialog):
    """Times them against one process. Accepted where the run is to begin, which it is at once where they are; ``wants_one``: in one
    process."""

    def __init__(
        self, scaling: ScalingQuery, config: RunConfig, count: int, run_time: RunTime, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._scaling, self._count = scaling, count
        self.wants_one = False
        self.setWindowTitle("Before the run begins")
        self.setModal(True)
        self.title = label(f"Timing {count} processes against one …", "section", wrap=True)
        why = (
            f"In one process the run takes {run_time}. Some seconds of its steps show whether {count} are worth while."
        )
        self.words = label(why, "body", wrap=True)
        self._bar = QProgressBar(maximum=0, textVisible=False)
        self._bar.setAccessibleName("Timing")
        self.start_now = button("Start now", variant="primary", clicked=self.accept)
        self.one = button("Train in one process", clicked=self._on_one)
        self.one.hide()
        cancel = button("Cancel", clicked=self.reject)
        buttons = hbox(STRETCH, self.start_now, self.one, cancel, margins=(0, SPACING.m, 0, 0))
        margins = (SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l)
        vbox(self.title, self.words, self._bar, buttons, parent=self, margins=margins)
        self.setFixedWidth(_WIDTH)
        scaling.changed.connect(self._on_changed)
        self.finished.connect(scaling.cancel)
        scaling.start(config)

    @Slot()
    def _on_changed(self) -> None:
        scaling = self._scaling
        if scaling.is_busy:
            return
        if not (scaling.is_poor or scaling.problem):  # also where another run was started meanwhile
            self.done(QDialog.DialogCode.Accepted if scaling.words else QDialog.DialogCode.Rejected)
            return
        self._bar.hide()
        how = "could not be timed" if scaling.problem else "are not worth while"
        self.title.setText(f"{self._count} processes {how}")
        self.words.setText(scaling.words or scaling.problem)
        set_role(self.words, "problem")
        self.start_now.setText("Start all the same")
        self.one.show()
        self.adjustSize()

    @Slot()
    def _on_one(self) -> None:
        self.wants_one = True
        self.accept()
