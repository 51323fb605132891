"""Rows and columns of widgets, each in one call."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from studio.theme import SPACING
from studio.widgets.flow import FlowLayout


class Stretch(NamedTuple):
    """Free room that grows with its share."""

    share: int = 1


STRETCH = Stretch()

BoxT = TypeVar("BoxT", bound=QBoxLayout)
Item = QWidget | QLayout
Part = Item | Stretch | int | tuple[Item, int] | tuple[Item, int, Qt.AlignmentFlag]
"""What a row or column is made of: a widget or layout (with its stretch, and its alignment), free room, or pixels."""


Margins = int | tuple[int, int, int, int]


def hbox(*parts: Part, parent: QWidget | None = None, spacing: int = SPACING.s, margins: Margins = 0) -> QHBoxLayout:
    """``parts`` from left to right, as the layout of ``parent`` where one is given."""
    return _dress(QHBoxLayout(parent) if parent else QHBoxLayout(), parts, spacing, margins)


def vbox(*parts: Part, parent: QWidget | None = None, spacing: int = SPACING.s, margins: Margins = 0) -> QVBoxLayout:
    """``parts`` from top to bottom, as the layout of ``parent`` where one is given."""
    return _dress(QVBoxLayout(parent) if parent else QVBoxLayout(), parts, spacing, margins)


def flow_box(*widgets: QWidget, parent: QWidget | None = None, spacing: int = SPACING.s) -> FlowLayout:
    """``widgets`` beside each other, in as many lines as the width asks for."""
    row = FlowLayout(parent, spacing=spacing)
    for widget in widgets:
        row.addWidget(widget)
    return row


def _dress(layout: BoxT, parts: tuple[Part, ...], spacing: int, margins: Margins) -> BoxT:
    layout.setSpacing(spacing)
    layout.setContentsMargins(*(margins if isinstance(margins, tuple) else [margins] * 4))
    fill(layout, *parts)
    return layout


def chain_tab_order(parts: Iterable[QWidget]) -> None:
    """Have Tab visit ``parts`` in this order; what it cannot reach now is left out."""
    stops = [part for part in parts if part.focusPolicy() & Qt.FocusPolicy.TabFocus]
    for first, second in pairwise(stops):
        QWidget.setTabOrder(first, second)


def hand_keyboard_on(outer: QWidget, inner: QWidget) -> None:
    """Whoever gives ``outer`` the keyboard gives it to ``inner``, a part of it. In an order of Tab ``outer`` stands for its parts: one that
    names only ``inner`` leaves ``outer`` behind it, and from there Tab comes back to ``inner`` for ever."""
    # Else the policy would be that of the part before, too.
    outer.setFocusProxy(None)  # type: ignore[arg-type]
    outer.setFocusPolicy(inner.focusPolicy())  # Qt takes nothing else into an order
    outer.setFocusProxy(inner)


def resize_within_parent(window: QWidget, width: int, height: int) -> None:
    """Make a dialog so large, and no larger than the window that it belongs to, which fits the screen. That is not asked: QWidget.screen()
    of PySide6 6.11 may delete the QScreen with the widget."""
    parent = window.parentWidget()
    wanted = QSize(width, height)
    window.resize(wanted if parent is None else wanted.boundedTo(parent.window().size()))


def in_widget(layout: QLayout) -> QWidget:
    """A widget of its own for ``layout``."""
    widget = QWidget()
    widget.setLayout(layout)
    return widget


def empty(layout: QLayout) -> None:
    """Take everything out of ``layout`` and delete its widgets."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()


def fill(layout: QBoxLayout, *parts: Part) -> None:
    """Append ``parts``."""
    how: list[Any]  # stretch and alignment, as far as they are given
    for part in parts:
        if isinstance(part, Stretch):
            layout.addStretch(part.share)
        elif isinstance(part, int):
            layout.addSpacing(part)
        else:
            item, *how = part if isinstance(part, tuple) else (part,)
            if isinstance(item, QLayout):
                layout.addLayout(item, *how)
            else:
                layout.addWidget(item, *how)
