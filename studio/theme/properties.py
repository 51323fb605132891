"""Dynamic properties that the style sheet looks at: what a label is for, how loud a button is, whether input is wrong."""

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

LabelRole = Literal[
    "body", "title", "subtitle", "section", "caption", "number", "problem", "help", "field", "mono", "link"
]
Variant = Literal["primary", "secondary", "danger", "ghost"]


def set_property(widget: QWidget, name: str, value: object) -> None:
    """Set a dynamic property and let the style sheet see it (it looks only when a widget is polished)."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        return  # it was never shown: the style sheet has not looked yet
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
    widget.update()


def set_invalid(widget: QWidget, invalid: bool) -> None:
    """Mark an input as holding something wrong: a red border, in whatever state it is."""
    set_property(widget, "invalid", invalid)


def set_role(label: QLabel, role: LabelRole) -> None:
    """Say what a label is for; size, weight and color follow."""
    set_property(label, "role", role)


def set_variant(button: QAbstractButton, variant: Variant) -> None:
    """Say how loud a button is: one primary per screen, the rest secondary or ghost."""
    set_property(button, "variant", variant)
