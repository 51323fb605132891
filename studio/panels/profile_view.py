"""Where the time of a run's steps goes: the bar, and what follows from it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.panels.fix_dialog import APPLY, proposed_changes
from studio.theme import SPACING, IconRole, Tone
from studio.widgets import Banner, IconLabel, Share, ShareBar, label
from training.config import RunConfig
from training.events import FindingLevel, Found
from training.runs.profile_record import STEP_PARTS, Profile, StepPart
from training.runs.profile_words import conclusions, milliseconds, percent, step_table, summary

_COLORS: dict[StepPart, int] = {
    "wait": 1, "copy": 4, "forward": 0, "backward": 3, "clip": 6, "update": 2, "step": 0, "logging": 7,
}  # fmt: skip
_ICONS: dict[FindingLevel, tuple[str, IconRole]] = {
    "ok": ("check", "success"),
    "info": ("info", "muted"),
    "warning": ("warning", "warning"),
    "error": ("warning", "danger"),
}
_TONES: dict[FindingLevel, Tone] = {"ok": "success", "info": "info", "warning": "warning", "error": "danger"}


class ProfileView(QWidget):
    """Shows one profile.

    Signals:
        apply_asked(Mapping): the settings that one of the sentences proposes are wanted.
    """

    apply_asked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._summary = label("", "help", wrap=True, selectable=True)
        self.bar = ShareBar("Time of one step")
        self._words = QVBoxLayout()
        self._words.setSpacing(SPACING.s)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACING.m)
        column.addWidget(self._summary)
        column.addWidget(self.bar)
        column.addLayout(self._words)

    def show_profile(self, profile: Profile, config: RunConfig | None) -> None:
        """Show ``profile`` of a run of ``config``."""
        self._summary.setText(f"{summary(profile)}; up to step {profile.last_step:,}.")
        parts = [part for part in STEP_PARTS if part in profile.parts]
        self.bar.set_shares(
            [
                Share(title, share, f"{milliseconds(mean)} · {percent(share)}", _COLORS[part])
                for part, (title, mean, share) in zip(parts, step_table(profile), strict=True)
            ]
        )
        while (old := self._words.takeAt(0)) is not None:
            if (widget := old.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for found in conclusions(profile, config):
            self._words.addWidget(self._sentence(found, config))

    def _sentence(self, found: Found, config: RunConfig | None) -> QWidget:
        proposal = proposed_changes(config, found.fix)
        if found.level in ("ok", "info") and not proposal:
            return _plain(found)
        text = "\n".join(part for part in (found.advice, proposal) if part)
        banner = Banner(_TONES[found.level], found.title, text, closable=False)
        if proposal:
            banner.add_action(APPLY, lambda: self.apply_asked.emit(found.fix))
        return banner


def _plain(found: Found) -> QWidget:
    line = QWidget()
    row = QHBoxLayout(line)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(SPACING.s)
    row.addWidget(IconLabel(_ICONS[found.level][0], 16, _ICONS[found.level][1]))
    row.addWidget(label(f"{found.title} {found.advice}".rstrip(), wrap=True, selectable=True), 1)
    return line
