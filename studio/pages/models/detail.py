"""The chosen export: its proof, its variants beside it, and what can be done with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.actions.exports import delete_export, unlist_export
from studio.actions.files import copy_text, reveal
from studio.actions.question import Answer, ask
from studio.engine.side_command import Answer as CommandAnswer
from studio.engine.side_command import SideCommand
from studio.pages.models.card_dialog import CardDialog
from studio.pages.models.table import MEASURED, NONE, STATE_WORDS
from studio.state.context import AppContext
from studio.state.exports import Exported
from studio.theme import SPACING, set_role
from studio.widgets import STRETCH, Card, button, empty, hbox, label
from training.verify.check import describe
from training.verify.kept import CARD, PREPROCESS
from training.verify.runtimes import GRAPHS, MODEL


class Verified(NamedTuple):
    """What a verification found; ``unread``: the file that reads samples was not run, for want of consent; ``failed``: it is not
    the model's any more, or could not be asked."""

    text: str = ""
    unread: bool = False
    failed: bool = False


class ExportDetail(Card):
    """Signals: ``changed()``: files or the list are others now."""

    changed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__("Export", "export")
        self._context = context
        self._shown: Exported | None = None
        self.told: dict[str, Verified] = {}  # by path: what a verification of this session found
        self.facts = label("", wrap=True, selectable=True)
        self.result = label("", "help", wrap=True, selectable=True)
        self.verify = button("Verify again", "check", "primary", clicked=self._on_verify)
        self.trust = button(f"Run {PREPROCESS}, too", "check", clicked=self._on_trust)
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
            "Model card", "file", "ghost", clicked=lambda: self._each(lambda it: self._show_card(it.path.parent / CARD))
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
            tooltip="Move it, and what belongs to it, to the system's trash; Undo brings it back",
            clicked=lambda: self._each(lambda it: delete_export(context, it, self.changed.emit)),
        )
        self._variants = QWidget()
        self._grid = QGridLayout(self._variants)
        self._grid.setHorizontalSpacing(SPACING.l)
        self.add(self.facts)
        self.add(self._variants)
        self.add(hbox(self.verify, self.trust, self.try_it, self.run, STRETCH))
        self.add(hbox(self.reveal, self.copy, self.card, self.remove, self.delete, STRETCH))
        self.add(self.result)

    def show_export(self, each: Exported, variants: Sequence[Exported]) -> None:
        """Tell of it, beside the others of the same checkpoint."""
        self._shown = each
        proof, usable = each.note.proof, each.state != "missing"
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
        self._show_result(self.told.get(each.note.path, Verified()))
        self._show_variants(each, variants)

    def _show_variants(self, shown: Exported, variants: Sequence[Exported]) -> None:
        empty(self._grid)
        self._variants.setVisible(len(variants) > 1)
        titles = ("Variants of this model", *(column.title for column in MEASURED))
        rows = (
            (("▸ " if each is shown else "") + each.format, *(column.text(each) for column in MEASURED))
            for each in variants
        )
        for row, cells in enumerate((titles, *rows)):
            for column, text in enumerate(cells):
                self._grid.addWidget(label(text or NONE, "field" if row == 0 else "body"), row, column)
        self._grid.setColumnStretch(len(titles), 1)

    def _each(self, act: Callable[[Exported], object]) -> None:
        if self._shown is not None:
            act(self._shown)

    def _show_card(self, path: Path) -> None:
        CardDialog(path, self).open()

    def _on_try(self) -> None:
        if self._shown is not None:
            self._context.open_run(self._shown.folder.path, "tryit")  # whose tab shows nothing while no run is shown
            self._context.model_to_try.choose(self._shown.path.parent)

    def _on_verify(self) -> None:
        each = self._shown
        if each is None:
            return
        if each.path.suffix in GRAPHS:
            self._verify(each, ())
        elif self._consent(f"{each.path.name} is loaded by {MODEL} beside it"):
            self._verify(each, ("--trust",))

    def _on_trust(self) -> None:
        if (each := self._shown) is not None and self._consent(f"Image files, rows and texts are read by {PREPROCESS}"):
            self._verify(each, ("--trust",))

    def _consent(self, what: str) -> bool:
        text = f"{what}, which may run whatever its author put into it."
        return ask(self, "Run the code beside it?", text, [Answer("run", "Run it", "primary")]) == "run"

    def _verify(self, each: Exported, more: Sequence[str]) -> None:
        self._say(each, Verified("Verifying …"))
        words = ("verify", each.note.path, "--json", *more)
        SideCommand(self, self._context.settings.get().engine_python, words, lambda answer: self._tell(each, answer))

    def _tell(self, each: Exported, answer: CommandAnswer) -> None:
        if answer.code != 0:
            self._say(each, Verified(f"Not verified. {answer.error or answer.out}", failed=True))
            self.changed.emit()  # the file may be gone
            return
        told = json.loads(answer.out)
        words, unread = f"Verified now. {describe(told)}", told.get("preprocess", {}) is None
        words += f" {PREPROCESS}, which reads files, was not run." if unread else ""
        self._say(each, Verified(words, unread))

    def _say(self, each: Exported, verified: Verified) -> None:
        self.told[each.note.path] = verified
        if self._shown is not None and self._shown.note.path == each.note.path:
            self._show_result(verified)

    def _show_result(self, verified: Verified) -> None:
        set_role(self.result, "problem" if verified.failed else "help")
        self.result.setText(verified.text)
        self.result.setVisible(bool(verified.text))
        self.trust.setVisible(verified.unread)
