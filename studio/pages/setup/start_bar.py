"""The bar at the foot of the page: what will run, what keeps it from running, Check and Start."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QMenu

from studio.pages.setup.previews.run_length import RunLength
from studio.state.formats import kind_title
from studio.theme import SPACING, set_role
from studio.widgets import STRETCH, button, hbox, label, vbox
from training.config import RunConfig
from training.protocol.answers import RunTime


class StartBar(QFrame):
    """Signals: `start_asked()`, `check_asked()`, `problem_chosen(path)`."""

    start_asked = Signal()
    check_asked = Signal()
    problem_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._problems: list[tuple[str, str]] = []
        self.summary = label("", "field", wrap=True)
        self.reason = label("", "problem", wrap=True)
        self.show_button = button("Show", "warning", "secondary", clicked=self._on_show_clicked)
        self.check_button = button(
            "Check", "check", tooltip="Open the data, build the model and try one batch (trains nothing)"
        )
        self.check_button.clicked.connect(self.check_asked)
        self.start_button = button("Start training", "play", "primary", clicked=self.start_asked)
        words = vbox(STRETCH, self.summary, self.reason, STRETCH, spacing=2)
        hbox(
            (words, 1),
            SPACING.s,
            (self.show_button, 0, Qt.AlignmentFlag.AlignVCenter),
            (self.check_button, 0, Qt.AlignmentFlag.AlignVCenter),
            (self.start_button, 0, Qt.AlignmentFlag.AlignVCenter),
            parent=self,
            margins=(SPACING.l, SPACING.m, SPACING.l, SPACING.m),
        )
        self.set_state("", [], "")

    def set_state(
        self, summary: str, problems: Sequence[tuple[str, str]], start_problem: str, awaited: str = ""
    ) -> None:
        """``problems`` as (path, sentence with the field's name); ``start_problem`` is any other reason not to start,
        ``awaited`` one that passes by itself."""
        self._problems = list(problems)
        self.summary.setText(summary)
        reason = start_problem or awaited
        if problems:
            count = len(problems)
            more = "" if count == 1 else f" And {count - 1} more."
            reason = f"{problems[0][1]}{more}"
        set_role(self.reason, "problem" if problems or start_problem else "help")
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        self.show_button.setVisible(bool(problems))
        self.show_button.setText("Show" if len(problems) == 1 else f"Show {len(problems)}")
        self.start_button.setEnabled(not reason)
        self.start_button.setToolTip(reason or "Train with these settings (Ctrl+Enter)")
        self.start_button.setAccessibleDescription(reason)
        self.check_button.setEnabled(not problems)

    def set_starts_branch(self, branch: bool) -> None:
        """Say on the button whether the run starts from the beginning or from a checkpoint."""
        self.start_button.setText("Start branch" if branch else "Start training")

    def _on_show_clicked(self) -> None:
        if len(self._problems) == 1:
            self.problem_chosen.emit(self._problems[0][0])
            return
        menu = QMenu(self)
        for path, sentence in self._problems:
            menu.addAction(sentence, partial(self.problem_chosen.emit, path))
        menu.aboutToHide.connect(menu.deleteLater)
        top = self.show_button.mapToGlobal(self.show_button.rect().topLeft())
        menu.popup(top - QPoint(0, menu.sizeHint().height() + 4))


def summary(config: RunConfig | None, length: RunLength | None, run_time: RunTime | None = None) -> str:
    """One sentence: what will be trained on what, for how long."""
    if config is None or length is None:
        return "Setup incomplete"
    what = _describe_run(config, length)
    return f"{what} · {run_time}" if run_time else what


def _describe_run(config: RunConfig, length: RunLength) -> str:
    model = kind_title("model", getattr(config.model, "name", config.model.kind))
    samples = f"{length.samples:,} samples" if not length.assumed else "the dataset"
    if length.limited:
        return f"{model} on {samples}, {length.total_steps:,} steps"
    epochs = "1 epoch" if config.loop.epochs == 1 else f"{config.loop.epochs:,} epochs"
    steps = (
        f" of {length.steps_per_epoch:,} step{'s' if length.steps_per_epoch != 1 else ''}" if not length.assumed else ""
    )
    return f"{model} on {samples}, {epochs}{steps}"
