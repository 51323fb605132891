"""The learning rate over the steps of this very run, drawn by the engine's own function, and the parameter groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from studio.forms.waiting import ask_to_mend
from studio.pages.setup.previews.preview_model import PreviewModel
from studio.pages.setup.previews.run_length import RunLength
from studio.pages.setup.previews.schedule_guide import ScheduleGuide
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import Card, KeyValueTable, format_number, label, let_grow, vbox
from training.config import RunConfig
from training.errors import ConfigError, pluralize
from training.protocol.answers import ParameterGroup
from training.runs.folder import make_slug
from training.schedules import describe, make_run_schedule, swa_first

if TYPE_CHECKING:
    from studio.charts.schedule_preview import SchedulePreview

_POINTS = 1500  # more than a screen is wide
_HEIGHTS = 280, 640  # pixels of the curve: at least, and where there is room


class OptimizationPreview(QWidget):
    """Redrawn at each change of the draft; computing a curve takes a few milliseconds."""

    def __init__(self, previews: PreviewModel, context: AppContext) -> None:
        super().__init__()
        self._previews, self._context = previews, context
        self.sentence = label("", "body", wrap=True)
        self.basis = label("", "help", wrap=True)
        self.chart: SchedulePreview | None = None
        self._rate_card = rate = Card("Learning rate", "chart")
        rate.add(self.sentence, self.basis)
        self._groups = KeyValueTable()
        self._groups_card = groups = Card("Parameter groups", "sliders")
        groups.add(self._groups)
        self.guide = ScheduleGuide(previews.draft)
        vbox(rate, self.guide, groups, parent=self, spacing=SPACING.l)
        previews.changed.connect(self._update)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.chart is None:
            # A quarter of a second that Start need not wait.
            from studio.charts.schedule_preview import SchedulePreview
            from studio.panels.charts.chart_menu import ChartMenu

            self.chart = SchedulePreview()
            let_grow(self.chart, *_HEIGHTS)
            ChartMenu(self.chart.plot, self._context, name=self._name_file, title="Learning rate schedule")
            self._rate_card.body.insertWidget(0, self.chart)
        self._update()

    def _name_file(self) -> str:
        """What a file of the curve begins with: the name of the run that is being prepared."""
        return make_slug(str(self._previews.draft.value("name") or ""))

    def _update(self) -> None:
        if self.chart is None or not self.isVisible():
            return  # nobody looks; showing it brings it up to date
        self.guide.follow(self._previews.draft.usable_config("schedule"))
        config = self._previews.draft.usable_config("optimizer", "schedule", "loop")
        length = self._previews.length()
        self._groups_card.setVisible(config is not None)
        if config is None or length is None:
            self._say_nothing(ask_to_mend(self._previews.draft, "the curve"))
            return
        answer = self._previews.model.answer
        self._groups.set_rows(parameter_groups(config, answer.groups if answer is not None else None))
        try:
            schedule = make_run_schedule(config, length.total_steps, length.steps_per_epoch)
        except ConfigError as error:
            message = error.problems[0].message
            self._say_nothing(f"{message[:1].upper()}{message[1:]}")
            self.basis.setText(basis(config, length))
            return
        steps, words = _spread(length.total_steps), describe(config.schedule, config.optimizer.lr)
        self.chart.set_schedule(steps, [schedule.lr(step) for step in steps], label=words)
        first, last = schedule.lr(0), schedule.lr(length.total_steps - 1)
        self.sentence.setText(
            f"{words} From {_rate(first)} at the first step to {_rate(last)} at the last."
            + _describe_swa(config, length.total_steps)
        )
        self.basis.setText(basis(config, length))

    def _say_nothing(self, why: str) -> None:
        if self.chart is not None:
            self.chart.set_message(why)
        self.sentence.setText("")
        self.basis.setText("")


def _rate(rate: float) -> str:
    return format_number(float(f"{rate:.3g}"))


def _describe_swa(config: RunConfig, total_steps: int) -> str:
    """What SWA does to the rate."""
    if config.loop.swa_start is None or config.loop.swa_lr is None:
        return ""
    first = swa_first(config.loop.swa_start, total_steps)
    return f" From step {first:,} on SWA holds it at {_rate(config.loop.swa_lr)}."


def _spread(total: int) -> list[int]:
    """All steps, or evenly spread ones when there are more than anybody can see; first and last always."""
    if total <= _POINTS:
        return list(range(total))
    return sorted({round(position * (total - 1) / (_POINTS - 1)) for position in range(_POINTS)})


def basis(config: RunConfig, length: RunLength) -> str:
    """What the curve and all figures are laid out over."""
    epochs = pluralize(config.loop.epochs, "epoch")
    steps = pluralize(length.total_steps, "step")
    how = f"Over {steps}: {epochs} of {length.steps_per_epoch:,}"
    if length.limited:
        how = f"Over {steps}, the maximum"
    if length.assumed:
        return f"{how}. The dataset has not been read yet; {length.samples:,} training samples are assumed."
    return f"{how}."


def parameter_groups(config: RunConfig, groups: Sequence[ParameterGroup] | None) -> list[tuple[str, str]]:
    """Each group of parameters that is trained alike, as far as ``groups`` of the engine tell it already, in words."""
    decay = config.optimizer.weight_decay
    words = f"weight decay {format_number(decay)}" if decay else "no weight decay"
    if groups is None:
        return [("Parameters", f"{words[:1].upper()}{words[1:]}, where it is applied")]
    return [(_name_group(group.name), _in_words(group, words)) for group in groups]


def _name_group(name: str) -> str:
    """A group's name as a person reads it."""
    if name.startswith("frozen"):
        return "Frozen"
    for group, words in (("no decay", "biases, norms, embeddings"), ("decay", "weights"), ("Muon", "Muon, matrices")):
        if group in name:
            name = name.replace(group, words)
            break
    return f"{name[:1].upper()}{name[1:]}"


def _in_words(group: ParameterGroup, decay: str) -> str:
    parts = [f"{group.parameters:,} parameters in {pluralize(group.tensors, 'tensor')}"]
    if group.lr_scale == 0.0:
        return f"{parts[0]}, not trained"
    parts.append(decay if group.decays else "no weight decay")
    if group.lr_scale != 1.0:
        parts.append(f"rate ×\u00a0{_rate(group.lr_scale)}")
    return ", ".join(parts)
