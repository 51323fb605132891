"""The bar at the foot of the page: what will run, what keeps it from running, Check, Add to queue and Start."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QMenu, QWidget

from studio.forms.fix_link import FixLink
from studio.pages.setup.places import Place, describe_places
from studio.pages.setup.previews.run_length import RunLength
from studio.state.formats import kind_title
from studio.theme import SPACING, set_property, set_role
from studio.widgets import STRETCH, button, hbox, in_widget, label, vbox
from training.config import RunConfig
from training.protocol.answers import RunTime

_MOST_NAMED = 2
_QUEUE = "Keep these settings as they are now, and train them when it is their turn (Ctrl+Shift+Enter)"
_ALL = "#all"  # what the link to the others leads to


class StartBar(QFrame):
    """``engines`` opens beside Start. Signals: `start_asked()`, `queue_asked()`, `check_asked()`, `problem_chosen(path)`, `fix_asked(settings)`."""

    start_asked, queue_asked = Signal(), Signal()
    check_asked = Signal()
    problem_chosen = Signal(str)
    fix_asked = Signal(object)

    def __init__(self, engines: QMenu) -> None:
        super().__init__()
        self._places: list[Place] = []
        self._remark, self._is_silent = "", True
        self.summary = label("", "field", wrap=True)
        self.reason = label("", "problem", wrap=True)
        self.reason.linkActivated.connect(self._follow_link)
        self.fix = FixLink()
        self.fix.fix_asked.connect(self.fix_asked)
        self.check_button = button(
            "Check", "check", tooltip="Open the data, build the model and try one batch (trains nothing)"
        )
        self.check_button.clicked.connect(self.check_asked)
        self.queue_button = button("Add to queue", "list", clicked=self.queue_asked)
        self.start_button = button("Start training", "play", "primary", clicked=self.start_asked)
        self.engine_button = button("", "chevron-down", "primary", tooltip="Choose the engine of the next run")
        self.engine_button.setAccessibleName("Choose the engine of the next run")
        self.engine_button.setMenu(engines)
        set_property(self.start_button, "split", "left")
        set_property(self.engine_button, "split", "right")
        words = vbox(STRETCH, self.summary, self.reason, STRETCH, spacing=2)
        middle = Qt.AlignmentFlag.AlignVCenter
        hbox(
            (words, 1),
            SPACING.s,
            (self.fix, 0, middle),
            (self.check_button, 0, middle),
            (self.queue_button, 0, middle),
            (in_widget(hbox(self.start_button, self.engine_button, spacing=0)), 0, middle),
            parent=self,
            margins=(SPACING.l, SPACING.m, SPACING.l, SPACING.m),
        )
        self.set_state("", [], "")

    def set_state(
        self,
        summary: str,
        places: Sequence[Place],
        start_problem: str,
        awaited: str = "",
        queue_problem: str = "",
    ) -> None:
        """``places`` are settings that are wrong or missing; ``start_problem`` is any other reason not to start, ``awaited`` one
        that passes by itself, ``queue_problem`` one not to queue. While settings are only missing, the buttons can be pressed, and
        point to them."""
        self._places = sorted(places, key=lambda place: not place.fix)  # what the button mends is named first
        self.summary.setText(summary)
        other = start_problem or awaited
        named = f"{describe_places(places)}: {', '.join(place.called for place in self._places)}" if places else ""
        reason = ". ".join(filter(None, (named, other)))
        wrong = any(not place.waits for place in places)
        set_role(self.reason, "problem" if wrong or (start_problem and not places) else "help")
        self._is_silent = not reason
        self._tell(reason or self._remark, other)
        self.fix.set_fix(next((place.fix for place in self._places), {}))
        self.start_button.setEnabled(not wrong and not other)
        self.start_button.setToolTip(reason or "Train with these settings (Ctrl+Enter)")
        self.start_button.setAccessibleDescription(reason)
        self.check_button.setEnabled(not wrong)
        unfit = named if wrong else queue_problem
        self.queue_button.setEnabled(not unfit)
        self.queue_button.setToolTip(unfit or _QUEUE)
        self.queue_button.setAccessibleDescription(unfit)

    def set_remark(self, remark: str) -> None:
        """What is worth knowing before a start, told where there is no reason against one."""
        self._remark = remark
        if self._is_silent:
            self._tell(remark, "")

    def _tell(self, reason: str, other: str) -> None:
        """Links go to the places named; ``other`` is what stands in ``reason`` beside them."""
        names = [f'<a href="{escape(place.path)}">{escape(place.called)}</a>' for place in self._places[:_MOST_NAMED]]
        if more := len(self._places) - len(names):
            names.append(f'<a href="{_ALL}">{more} more</a>')
        linked = f"{describe_places(self._places)}: {', '.join(names)}" if names else ""
        if linked and other:
            linked = f"{linked}. {escape(other)}"
        self.reason.setTextFormat(Qt.TextFormat.RichText if linked else Qt.TextFormat.PlainText)
        click, keys = Qt.TextInteractionFlag.LinksAccessibleByMouse, Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        self.reason.setTextInteractionFlags(click | keys if linked else Qt.TextInteractionFlag.NoTextInteraction)
        self.reason.setText(linked or reason)
        self.reason.setAccessibleName(reason)
        self.reason.setVisible(bool(reason))

    def set_starts_branch(self, branch: bool) -> None:
        """Say on the button whether the run starts from the beginning or from a checkpoint."""
        self.start_button.setText("Start branch" if branch else "Start training")

    def focus_widgets(self) -> list[QWidget]:
        """What the keyboard reaches, in the order that it does."""
        return [self.reason, self.fix, self.check_button, self.queue_button, self.start_button, self.engine_button]

    def _follow_link(self, target: str) -> None:
        if target != _ALL:
            self.problem_chosen.emit(target)
            return
        menu = QMenu(self)
        for place in self._places:
            menu.addAction(place.called, partial(self.problem_chosen.emit, place.path))
        menu.aboutToHide.connect(menu.deleteLater)
        top = self.reason.mapToGlobal(self.reason.rect().topLeft())
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
