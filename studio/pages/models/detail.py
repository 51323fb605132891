"""The chosen export: its proof, its variants beside it, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.actions.exports import CARD, delete_export, unlist_export
from studio.actions.files import copy_text, reveal
from studio.actions.question import Answer, ask
from studio.engine.side_command import Answer as CommandAnswer
from studio.engine.side_command import SideCommand
from studio.pages.models.table import NONE, STATE_WORDS, show_agreement, show_latency, show_metric
from studio.state.context import AppContext
from studio.state.exports import Exported
from studio.theme import SPACING
from studio.widgets import STRETCH, Card, button, hbox, label
from training.errors import format_bytes
from training.verify.check import describe

_GRAPHS = ("onnx", "openvino")


class ExportDetail(Card):
    """Signals: ``changed()``: files or the list are others now."""

    changed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__("Export", "export")
        self._context = context
        self._shown: Exported | None = None
        self.told: dict[str, str] = {}  # by path: what a verification of this session found
        self.facts = label("", wrap=True, selectable=True)
        self.result = label("", "help", wrap=True, selectable=True)
        self.verify = button("Verify again", "check", "primary", clicked=self._on_verify)
        self.try_it = button("Try it", "eye", clicked=self._on_try)
        self.run = button(
            "Open run",
            "runs",
            "ghost",
            clicked=lambda: self._each(lambda it: context.open_run(it.folder.path, "checkpoints")),
        )
        self.reveal = button(
            "Show in folder", "folder", "ghost", clicked=lambda: self._each(lambda it: reveal(it.path))
        )
        self.copy = button("Copy path", "copy", "ghost", clicked=lambda: self._each(lambda it: copy_text(it.note.path)))
        self.card = button(
            "Model card", "file", "ghost", clicked=lambda: self._each(lambda it: reveal(it.path.parent / CARD))
        )
        self.remove = button(
            "Remove from list",
            "cross",
            "ghost",
            clicked=lambda: self._each(lambda it: unlist_export(context, it, self.changed.emit)),
        )
        self.delete = button(
            "Delete file",
            "trash",
            "ghost",
            clicked=lambda: self._each(lambda it: delete_export(context, it, self.changed.emit)),
        )
        self._variants = QWidget()
        self._grid = QGridLayout(self._variants)
        self._grid.setHorizontalSpacing(SPACING.l)
        self.add(self.facts)
        self.add(self._variants)
        self.add(hbox(self.verify, self.try_it, self.run, STRETCH))
        self.add(hbox(self.reveal, self.copy, self.card, self.remove, self.delete, STRETCH))
        self.add(self.result)

    def show_export(self, each: Exported, variants: Sequence[Exported]) -> None:
        """Tell of it, beside the others of the same checkpoint."""
        self._shown = each
        proof, usable = each.note.proof, each.state in ("", "present", "changed")
        said = [f"{each.run}, step {each.note.step:,}, as {each.format}: {each.note.path} ({STATE_WORDS[each.state]})."]
        if proof is not None:
            said.append(f"Proven on {describe(proof.proof()).removeprefix('On ')}")
        if each.adjusted:
            said.append(f"It answers with {each.adjusted}.")
        self.facts.setText(" ".join(said))
        self.verify.setEnabled(usable and proof is not None)
        self.try_it.setEnabled(usable and proof is not None)
        for each_button in (self.reveal, self.delete):
            each_button.setEnabled(usable)
        self.card.setVisible((each.path.parent / CARD).is_file())
        self.result.setText(self.told.get(each.note.path, ""))
        self._show_variants(each, variants)

    def _show_variants(self, shown: Exported, variants: Sequence[Exported]) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self._variants.setVisible(len(variants) > 1)
        titles = ("Variants of this model", "Size", "Latency", "Agreement", "Metric before → after")
        rows = [
            titles,
            *(
                (
                    ("▸ " if each is shown else "") + each.format,
                    format_bytes(each.note.bytes),
                    show_latency(each),
                    show_agreement(each),
                    show_metric(each),
                )
                for each in variants
            ),
        ]
        for row, cells in enumerate(rows):
            for column, text in enumerate(cells):
                self._grid.addWidget(label(text or NONE, "field" if row == 0 else "body"), row, column)
        self._grid.setColumnStretch(len(titles), 1)

    def _each(self, act: object) -> None:
        if self._shown is not None and callable(act):
            act(self._shown)

    def _on_try(self) -> None:
        if self._shown is not None:
            self._context.model_to_try.choose(self._shown.path.parent)
            self._context.show_page("run/tryit")

    def _on_verify(self) -> None:
        each = self._shown
        if each is None:
            return
        words = ["verify", each.note.path]
        if each.note.format not in _GRAPHS:
            text = f"{each.path.name} is loaded by the Python file beside it, which may run whatever its author put into it."
            if ask(self, "Run the code beside it?", text, [Answer("run", "Run it", "primary")]) != "run":
                return
            words.append("--trust")
        self._say(each, "Verifying …")
        SideCommand(self, self._context.settings.get().engine_python, words, lambda answer: self._tell(each, answer))

    def _tell(self, each: Exported, answer: CommandAnswer) -> None:
        found = answer.error or answer.out
        self._say(each, f"Verified now. {found}" if answer.code == 0 else f"Not verified. {found}")

    def _say(self, each: Exported, text: str) -> None:
        self.told[each.note.path] = text
        if self._shown is not None and self._shown.note.path == each.note.path:
            self.result.setText(text)
