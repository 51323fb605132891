"""Reusable controls. They know nothing of training; they depend on `studio.theme` and Qt only.

Each is imported when it is first asked for: the frame of the window needs four of them, and is painted before the rest
is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from studio.widgets.bars import Bar, BarList
    from studio.widgets.buttons import Hint, Segmented, button, dress_button, icon_button, set_tooltip, wrap_tooltip
    from studio.widgets.cards import Card, scroll_area
    from studio.widgets.drawer import BesideOrOver
    from studio.widgets.figures import BigNumber, KeyValueTable, ProgressLine, StatusPill
    from studio.widgets.flow import FlowLayout
    from studio.widgets.growing import GrowingRoom, let_grow
    from studio.widgets.inputs import ComboBox, PathEdit, PathMode, SearchLine, leave_undo_to_page, take_keyboard
    from studio.widgets.labels import ElidedLabel, IconLabel, MonoText, SteadyLabel, label, make_breakable, separator
    from studio.widgets.layouts import (
        STRETCH,
        Stretch,
        chain_tab_order,
        empty,
        fill,
        flow_box,
        hand_keyboard_on,
        hbox,
        in_widget,
        resize_within_parent,
        vbox,
    )
    from studio.widgets.messages import Banner, EmptyState
    from studio.widgets.navigation import NavigationRail
    from studio.widgets.numbers import NumberEdit, NumberKind, format_number, parse_number
    from studio.widgets.shares import Share, ShareBar
    from studio.widgets.slider import Slider
    from studio.widgets.switch import Switch
    from studio.widgets.tables import (
        ALIGN_LEFT,
        ALIGN_RIGHT,
        NO_PARENT,
        AnyIndex,
        ChoiceTable,
        SortedTable,
        dress_table,
        fit_rows,
    )
    from studio.widgets.thumbnails import Thumbnail, paint_image
    from studio.widgets.toasts import Toast, ToastArea

_HOMES = {
    "bars": ("Bar", "BarList"),
    "buttons": ("Hint", "Segmented", "button", "dress_button", "icon_button", "set_tooltip", "wrap_tooltip"),
    "cards": ("Card", "scroll_area"),
    "drawer": ("BesideOrOver",),
    "figures": ("BigNumber", "KeyValueTable", "ProgressLine", "StatusPill"),
    "flow": ("FlowLayout",),
    "growing": ("GrowingRoom", "let_grow"),
    "inputs": ("ComboBox", "PathEdit", "PathMode", "SearchLine", "leave_undo_to_page", "take_keyboard"),
    "labels": ("ElidedLabel", "IconLabel", "MonoText", "SteadyLabel", "label", "make_breakable", "separator"),
    "layouts": (
        "STRETCH",
        "Stretch",
        "chain_tab_order",
        "empty",
        "fill",
        "flow_box",
        "hand_keyboard_on",
        "hbox",
        "in_widget",
        "resize_within_parent",
        "vbox",
    ),
    "messages": ("Banner", "EmptyState"),
    "navigation": ("NavigationRail",),
    "numbers": ("NumberEdit", "NumberKind", "format_number", "parse_number"),
    "shares": ("Share", "ShareBar"),
    "slider": ("Slider",),
    "switch": ("Switch",),
    "tables": (
        "ALIGN_LEFT",
        "NO_PARENT",
        "ALIGN_RIGHT",
        "AnyIndex",
        "ChoiceTable",
        "SortedTable",
        "dress_table",
        "fit_rows",
    ),
    "thumbnails": ("Thumbnail", "paint_image"),
    "toasts": ("Toast", "ToastArea"),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found
