"""Where the time of a run's steps goes: the bar, and what follows from it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.panels.fix_dialog import describe_proposal, make_banner
from studio.theme import SPACING, IconRole
from studio.widgets import IconLabel, Share, ShareBar, empty, hbox, in_widget, label, vbox
from training.config import RunConfig
from training.events import Finding, FindingLevel
from training.runs.step_profile import (
    PART_TITLES,
    Profile,
    StepPart,
    advise,
    format_milliseconds,
    format_percent,
    summarize,
)

_COLORS: dict[StepPart, int] = {
    "wait": 1, "copy": 4, "forward": 0, "backward": 3, "clip": 6, "update": 2, "step": 0, "logging": 7,
}  # fmt: skip
_ICONS: dict[FindingLevel, tuple[str, IconRole]] = {
    "ok": ("check", "success"),
    "info": ("info", "muted"),
    "warning": ("warning", "warning"),
    "error": ("warning", "danger"),
}


class ProfileView(QWidget):
    """Shows one profile.

    Signals:
        apply_asked(Mapping): the settings that one of the sentences proposes are wanted.
    """

    apply_asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._summary = label("", "help", wrap=True, selectable=True)
        self.bar = ShareBar("Time of one step")
        self._words = QVBoxLayout()
        self._words.setSpacing(SPACING.s)
        vbox(self._summary, self.bar, self._words, parent=self, spacing=SPACING.m)

    def show_profile(self, profile: Profile, config: RunConfig | None) -> None:
        """Show ``profile`` of a run of ``config``."""
        self._summary.setText(f"{summarize(profile)}; up to step {profile.last_step:,}.")
        self.bar.set_shares([_share(profile, part) for part in profile.parts])
        empty(self._words)
        for found in advise(profile, config):
            self._words.addWidget(self._sentence(found, config))

    def _sentence(self, found: Finding, config: RunConfig | None) -> QWidget:
        if found.level in ("ok", "info") and not describe_proposal(config, found.fix):
            return _plain(found)
        return make_banner(found, config, self.apply_asked.emit, closable=False)


def _share(profile: Profile, part: StepPart) -> Share:
    mean, share = format_milliseconds(profile.parts[part] / profile.steps), profile.share(part)
    return Share(PART_TITLES[part], share, f"{mean} · {format_percent(share)}", _COLORS[part])


def _plain(found: Finding) -> QWidget:
    return in_widget(
        hbox(
            IconLabel(_ICONS[found.level][0], 16, _ICONS[found.level][1]),
            (label(f"{found.title} {found.advice}".rstrip(), wrap=True, selectable=True), 1),
        )
    )
