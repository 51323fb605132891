"""Where it runs: in this window's engine, or in several processes that share each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.forms.fix_link import FixLink
from studio.forms.form_rows import tint
from studio.forms.messages import with_titles
from studio.pages.setup.timing_dialog import TimingDialog
from studio.state.context import AppContext
from studio.state.scaling_query import ScalingQuery
from studio.state.where_it_runs import MOST, PLACE, TITLE
from studio.theme import SPACING, set_role
from studio.widgets import (
    STRETCH,
    Card,
    NumberEdit,
    Segmented,
    button,
    hbox,
    in_widget,
    label,
    leave_undo_to_page,
    vbox,
)
from training.config import RunConfig
from training.errors import InputError, pluralize
from training.launch.share import describe_share
from training.protocol.answers import RunTime

HERE, SEVERAL = "here", "several"
_ALONE = "One process trains, on the device that is chosen above."
_SHARED = "Each step is shared out: a batch of {share} samples, cut into {slots}."
_LONG = 1800.0  # seconds of a run before which it is worth while to measure
_UNKNOWN = "How fast that is has not been measured."
_MEASURE = "Train some seconds in one process, then in all, and tell how much faster that is; nothing is kept"
_SLURM = "Write a script with which a cluster's Slurm trains these settings"
_ON_GPUS, _ON_CPU = "Each GPU has a process of its own.", "They share the CPU's cores."


class WhereCard(Card):
    """The choice belongs to the next start or resume, not to the run. Signals: `problem_changed()`."""

    problem_changed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__(TITLE, "cpu")
        self._context, self._where = context, context.where
        self.problem = ""
        self.choice = Segmented(((HERE, "This process"), (SEVERAL, "Several processes")))
        self.choice.setAccessibleName(TITLE)
        self.number = NumberEdit("int", minimum=2, maximum=MOST)
        self.number.setAccessibleName("Number of processes")
        self.number.setFixedWidth(72)
        leave_undo_to_page(self.number)
        self.words = label("", "help", wrap=True)
        self.sentence = label("", "problem", wrap=True)
        self.fix = FixLink()
        self.fix.fix_asked.connect(context.draft.apply)
        middle = Qt.AlignmentFlag.AlignVCenter
        self._row = in_widget(hbox(self.choice, (self.number, 0, middle), STRETCH, spacing=SPACING.s))
        self._trouble = in_widget(vbox(self.sentence, in_widget(hbox(self.fix, STRETCH)), spacing=SPACING.s))
        self.add(self._row, self.words, self._trouble)
        self.scaling = ScalingQuery(context.settings, context.draft, self._where, self)
        self.measure = button("Measure", "gauge", tooltip=_MEASURE, clicked=self._on_measure)
        self.measured = label("", "help", wrap=True)
        self._speed = in_widget(hbox(self.measure, (self.measured, 1), spacing=SPACING.s))
        self.add(self._speed)
        self.slurm = button("Slurm script …", variant="ghost", tooltip=_SLURM, clicked=self._on_slurm)
        self.add_action(self.slurm)
        self._run_time: RunTime | None = None
        self._begun: tuple[RunConfig | None, int] = (None, 1)  # what is begun so, timed or not
        self._is_showing = False
        self.scaling.changed.connect(self._show_speed)
        context.start_problem_changed.connect(self._show_speed)
        self.choice.current_changed.connect(self._on_chosen)
        self.number.editingFinished.connect(self._on_number)
        self._where.changed.connect(self.refresh)
        context.draft.changed.connect(self.refresh)
        self.refresh()

    def focus_widgets(self) -> Iterator[QWidget]:
        """What Tab visits, in order."""
        yield self.slurm
        yield from self.choice.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        yield from (self.number, self.fix, self.measure)

    def knows(self, path: str) -> bool:
        """Whether this is what ``path`` leads to, as it is asked of forms."""
        return path == PLACE

    def row_of(self, path: str) -> QWidget | None:
        """All of it; None for any other path."""
        return self if self.knows(path) else None

    def unfold_for(self, path: str) -> None:
        """Nothing of it is folded."""

    def mark_found(self, found: Sequence[str], current: str) -> None:
        """As forms do it."""
        tint(self._row, PLACE, found, current)

    def reveal(self, _path: str) -> None:
        """Give the keyboard to what is chosen."""
        self.choice.focus_current()

    @Slot()
    def refresh(self) -> None:
        """Show what is chosen, and what the settings make of it."""
        where, config = self._where, self._context.draft.usable_config("loop")
        self._is_showing = True
        self.choice.set_text(SEVERAL, f"All GPUs ({where.gpus})" if where.gpus > 1 else "Several processes")
        self.choice.set_current(SEVERAL if where.count > 1 else HERE)
        self.number.setVisible(where.count > 1 and (where.gpus < 2 or where.count != where.gpus))
        if where.count > 1 and not self.number.hasFocus():
            self.number.setText(str(where.count))
        self._is_showing = False
        self.words.setText(self._describe(config))
        self._tell_problem(config)
        self._show_speed()

    def set_run_time(self, run_time: RunTime | None) -> None:
        """How long the run takes in one process; None while that is not known."""
        if run_time != self._run_time:
            self._run_time = run_time
            self._show_speed()

    def time_before(self, config: RunConfig, start: Callable[[], object]) -> bool:
        """Whether a run of ``config`` is so long that its processes are timed first; ``start`` is called when it may begin."""
        where, scaling, time = self._where, self.scaling, self._run_time
        told = scaling.words or scaling.problem or self._begun == (config, where.count)
        if where.count == 1 or told or time is None or time.seconds < _LONG:
            return False
        dialog = TimingDialog(scaling, config, where.count, time, self.window())

        def begin() -> None:
            self._begun = config, where.count
            if dialog.wants_one:
                where.choose(1)
            start()

        dialog.accepted.connect(begin)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return True

    @Slot()
    def _show_speed(self) -> None:
        """What several processes gain, where that was measured for these settings."""
        scaling, busy = self.scaling, self.scaling.is_busy
        if (
            busy and self._context.is_training()
        ):  # a run that was started meanwhile goes first, and would make the timing false
            scaling.cancel()
        self._speed.setVisible(self._where.count > 1 and not self.problem)
        self.measure.setText("Cancel" if busy else "Measure")
        is_ready = self._context.draft.config() is not None and not self._context.is_training()
        self.measure.setEnabled(busy or is_ready)
        self.measured.setText(
            "Timing some seconds of steps, in one process and then in all …"
            if busy
            else scaling.words or scaling.problem or self._advise()
        )
        set_role(self.measured, "problem" if scaling.problem or scaling.is_poor else "help")

    def _advise(self) -> str:
        if self._run_time is None or self._run_time.seconds < _LONG:
            return _UNKNOWN
        return f"{_UNKNOWN} In one process the run takes {self._run_time}: measure before it begins."

    @Slot()
    def _on_slurm(self) -> None:
        from studio.pages.setup.slurm_dialog import SlurmDialog  # which few people need

        config = self._context.draft.config()
        if config is None:
            self._context.draft.touched.demand()
        else:
            SlurmDialog(self._context, config, self.window()).open()

    @Slot()
    def _on_measure(self) -> None:
        config = self._context.draft.config()
        if self.scaling.is_busy:
            self.scaling.cancel()
        elif config is not None:
            self.scaling.start(config)

    def _describe(self, config: RunConfig | None) -> str:
        count = self._where.count
        if count == 1:
            return _ALONE
        if config is None:
            return ""
        share = describe_share(config.loop.batch_size, count)
        slots = pluralize(config.loop.slots, "slot")
        on = _ON_GPUS if self._where.gpus > 1 and config.precision.device != "cpu" else _ON_CPU
        return f"{_SHARED.format(share=share, slots=slots)} {on}"

    def _tell_problem(self, config: RunConfig | None) -> None:
        problem, fix = "", {}
        if config is not None:
            try:
                self._where.refuse(config)
            except InputError as error:
                problem, fix = with_titles(str(error)), error.fix
        self.words.setHidden(bool(problem))  # nothing is shared out so
        self.sentence.setText(problem)
        self._trouble.setVisible(bool(problem))
        self.fix.set_fix(fix)
        if problem != self.problem:
            self.problem = problem
            self.problem_changed.emit()

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        if not self._is_showing:
            self._where.choose(self._where.usual if key == SEVERAL else 1)

    @Slot()
    def _on_number(self) -> None:
        count = self.number.value()
        if self._is_showing or self._where.count == 1 or count is None:
            return
        if 2 <= count <= MOST:
            self._where.choose(int(count))
        self.number.setText(str(self._where.count))
