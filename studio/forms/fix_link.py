"""The way out of a problem, one click away."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton

from studio.forms.messages import format_value
from studio.state.drafts.setting_specs import kinds, specs, split_path
from studio.theme import set_property, set_variant
from training import catalog
from training.config.run import SECTIONS


class FixLink(QPushButton):
    """Hidden while there is none. Signals: `fix_asked(settings)`."""

    fix_asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        set_variant(self, "secondary")
        set_property(self, "fix", True)
        self.setAutoDefault(False)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._fix: Mapping[str, JsonValue] = {}
        self.clicked.connect(lambda: self.fix_asked.emit(dict(self._fix)))
        self.hide()

    def set_fix(self, fix: Mapping[str, JsonValue]) -> None:
        """Offer these settings; empty: nothing."""
        self._fix = fix
        self.setText(in_words(fix) if fix else "")
        self.setVisible(bool(fix))


def in_words(fix: Mapping[str, JsonValue]) -> str:
    """``Use Segmentation and U-Net``; ``Set Gradient clipping (norm) to 1``"""
    chosen = {path.removesuffix(".kind"): str(value) for path, value in fix.items() if path.endswith(".kind")}
    parts = []
    if chosen:
        parts.append(f"Use {' and '.join(catalog.entry(section, kind).title for section, kind in chosen.items())}")
    for path, value in fix.items():
        section, name = split_path(path)
        if name == "kind" or section not in SECTIONS:
            continue
        every = [specs(section, kind) for kind in kinds(section) or ("",)]
        spec = next(found[name] for found in every if name in found)
        told = f"set {spec.title} to {format_value(value, spec)}" if value is not None else f"clear {spec.title}"
        parts.append(told if parts else told[:1].upper() + told[1:])
    return ", ".join(parts)
