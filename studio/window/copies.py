"""Copies in the preferences: where every run is copied to, which checkpoints stay there, the key, and whether the place takes copies."""

from __future__ import annotations

from typing import Final

from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, PathEdit, Segmented, label, vbox
from studio.window.far_ends import FarEndCard, FarEndForms
from training.copies.settings import (
    KEYS,
    CopySettings,
    load_copy_settings,
    parse_copy_settings,
    protocol_of,
    save_copy_settings,
)
from training.errors import InputError

_TITLES: Final = ("Access key ID", "Secret access key")
_KEPT: Final = (("labeled", "Last and best"), ("all", "All that were copied"))


class CopyForm(FarEndForms):
    """Where every run is copied to. The person's file is read when it is made, and written by ``save``."""

    def __init__(self, context: AppContext) -> None:
        self.card = FarEndCard("Copies", zip(_TITLES, KEYS, strict=True))
        super().__init__(context, [self.card])
        self.to = PathEdit("folder", title="Choose the folder that runs are copied to")
        self.to.set_placeholder("s3://bucket/runs, or a folder; empty: runs are not copied")
        self.to.line_edit.setAccessibleName("Copies: address")
        self.keep = Segmented(_KEPT)
        self.keep.setAccessibleName("Copies: checkpoints that stay there")
        self.card.add_rows(
            label("Copy every new run to", "field"), self.to, label("Checkpoints that stay there", "field"), self.keep
        )
        self.card.test_asked.connect(self._test)
        self.to.path_changed.connect(self._show_what_is_needed)
        try:
            self._before = load_copy_settings()
        except InputError as error:
            self.problem = str(error)
            self._before = CopySettings()
        self.to.set_path(self._before.to)
        self.keep.set_current(self._before.keep)
        self.card.setEnabled(not self.problem)
        self._show_what_is_needed()
        words = (
            "A process of its own copies each run while it trains, to object storage or another disk; no run waits for it. "
            "python -m training fetch brings a run back, on any machine. S3 needs pip install 'trainwright[s3]' and a key, here or in "
            "~/.aws/credentials; AWS_ENDPOINT_URL names another server than Amazon's."
        )
        head = [label(words, "help", wrap=True)]
        if self.problem:
            head.append(label(self.problem, "problem", wrap=True))
        vbox(*head, self.card, STRETCH, parent=self, spacing=SPACING.m)

    def settings(self) -> CopySettings:
        """What the form says. Raises InputError naming the setting that is wrong."""
        return parse_copy_settings({"to": self.to.path().strip(), "keep": self.keep.current()})

    def save(self) -> None:
        """Write the person's file, where something changed. Raises InputError."""
        if not self.problem and (said := self.settings()) != self._before:
            save_copy_settings(said)
            self._before = said

    def _show_what_is_needed(self) -> None:
        address = self.to.path().strip()
        self.forget_test(self.card)
        self.card.test.setEnabled(bool(address))
        for row in self.card.keys.values():
            row.setVisible(protocol_of(address) in ("s3", "s3a"))

    def _test(self) -> None:
        try:
            address = self.settings().to
        except InputError as error:
            self.card.show_result(str(error), works=False)
            return
        self.try_card(self.card, address, ["copy", "--test", address, "--json"])
