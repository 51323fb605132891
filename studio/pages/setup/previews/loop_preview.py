"""What the run will do, in figures: steps, validations, checkpoints, memory, disk."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.forms.waiting import ask_to_mend
from studio.pages.setup.previews.optimization_preview import basis
from studio.pages.setup.previews.preview_model import PreviewModel
from studio.pages.setup.previews.run_length import RunLength
from studio.state.formats import metric_title
from studio.theme import SPACING
from studio.widgets import BigNumber, Card, KeyValueTable, hbox, in_widget, label, vbox
from training.config import RunConfig
from training.config.rules.memory_need import checkpoint_bytes, training_bytes
from training.errors import format_bytes


class LoopPreview(QWidget):
    """Figures first, then a table of what follows from the settings."""

    def __init__(self, previews: PreviewModel) -> None:
        super().__init__()
        self._previews = previews
        self._per_epoch = BigNumber("Steps per epoch")
        self._total = BigNumber("Total steps")
        self._per_step = BigNumber("Samples per step")
        self._basis = label("", "help", wrap=True)
        card = Card("What this run will do", "gauge")
        figures = hbox((self._per_epoch, 1), (self._total, 1), (self._per_step, 1), spacing=SPACING.l)
        self._figures = in_widget(figures)
        card.add(self._figures, self._basis)
        self._table = KeyValueTable()
        self._details = Card("Validation, checkpoints and memory", "info")
        self._details.add(self._table)
        vbox(card, self._details, parent=self, spacing=SPACING.l)
        previews.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        length = self._previews.length()
        config = self._previews.draft.usable_config("loop", "checkpoints")
        known = length is not None and config is not None
        self._figures.setVisible(known)
        self._details.setVisible(known)
        if length is None or config is None:
            self._basis.setText(ask_to_mend(self._previews.draft, "the figures"))
            return
        about = "≈ " if length.assumed else ""
        self._per_epoch.set_value(f"{about}{length.steps_per_epoch:,}")
        self._total.set_value(f"{about}{length.total_steps:,}")
        self._per_step.set_value(f"{config.loop.batch_size * config.loop.accumulation:,}")
        self._basis.setText(basis(config, length))
        self._table.set_rows([("Validation", validations(config)), *self._sizes(config, length)])

    def _sizes(self, config: RunConfig, length: RunLength) -> list[tuple[str, str]]:
        model = self._previews.model.answer
        saved = checkpoints(config, length)
        if model is None:
            return [("Checkpoints", saved), ("Disk and memory", "Known when the model can be built")]
        one = checkpoint_bytes(config, model.parameter_bytes, model.buffer_bytes)
        kept = config.checkpoints.keep_last + 1
        return [
            ("Checkpoints", saved),
            ("Disk", f"About {format_bytes(one)} for each checkpoint, {format_bytes(one * kept)} for the {kept} kept"),
            (
                "Memory",
                f"About {format_bytes(training_bytes(config, model.parameter_bytes, model.buffer_bytes))} for weights, "
                "gradients and optimizer; plus activations (measured by Check)",
            ),
        ]


def validations(config: RunConfig) -> str:
    """When the run validates."""
    every = config.loop.validate_every_steps
    return "After each epoch" + (f" and every {every:,} steps" if every else "")


def checkpoints(config: RunConfig, length: RunLength) -> str:
    """When the run saves, and what stays."""
    every = config.checkpoints.every_steps
    if every is None:
        when = "After each epoch"
    elif every <= length.total_steps:
        when = f"Every {every:,} steps, whenever validation is the best so far, and at the end"
    else:
        when = "Whenever validation is the best so far, and at the end"
    kept = config.checkpoints.keep_last
    newest = "the newest stays" if kept == 1 else f"the {kept} newest stay"
    return f"{when}; {newest}, and the best by {metric_title(config.monitor)}"
