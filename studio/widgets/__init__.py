"""Reusable controls. They know nothing of training; they depend on `studio.theme` and Qt only."""

from studio.widgets.bars import Bar, BarList
from studio.widgets.buttons import Hint, Segmented, Switch, button, icon_button, wrapped_tooltip
from studio.widgets.cards import Card, scroll_area
from studio.widgets.figures import BigNumber, KeyValueTable, ProgressLine, StatusPill
from studio.widgets.flow import FlowLayout
from studio.widgets.inputs import ComboBox, PathEdit, PathMode
from studio.widgets.labels import ElidedLabel, IconLabel, label, separator
from studio.widgets.messages import Banner, EmptyState, Toast, ToastArea
from studio.widgets.navigation import NavigationRail
from studio.widgets.number_text import NumberKind, format_number, parse_number
from studio.widgets.numbers import NumberEdit
from studio.widgets.thumbnails import Thumbnail, ThumbnailGrid

__all__ = [
    "Banner",
    "Bar",
    "BarList",
    "BigNumber",
    "Card",
    "ComboBox",
    "ElidedLabel",
    "EmptyState",
    "FlowLayout",
    "Hint",
    "IconLabel",
    "KeyValueTable",
    "NavigationRail",
    "NumberEdit",
    "NumberKind",
    "PathEdit",
    "PathMode",
    "ProgressLine",
    "Segmented",
    "StatusPill",
    "Switch",
    "Thumbnail",
    "ThumbnailGrid",
    "Toast",
    "ToastArea",
    "button",
    "format_number",
    "icon_button",
    "label",
    "parse_number",
    "scroll_area",
    "separator",
    "wrapped_tooltip",
]
