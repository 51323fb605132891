"""Colors of both themes can be read and told apart, by the formulas: contrast as WCAG 2.1 counts it, color vision as Machado and others
(2009) simulate it."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from studio.charts.plots.curve import curve_color
from studio.theme import DARK, DARK_HIGH, LIGHT, LIGHT_HIGH, Mode, Palette, Tone, apply, stylesheet
from tests.studio.colors import DRAWN, TEXT, VISIONS, contrast, distance, lab, linear

APART = 10.0
"""The least distance in CIE Lab between two curves."""
GROUNDS = ("background", "surface", "raised", "sunken")
INKS = ("text", "muted", "accent_text", "success", "warning", "danger", "info")
themes = pytest.mark.parametrize("palette", [LIGHT, DARK, LIGHT_HIGH, DARK_HIGH], ids=lambda palette: palette.name)


def test_the_formulas_give_what_is_known_of_them() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    for vision in VISIONS.values():  # nobody sees colors in white
        assert vision @ np.ones(3) == pytest.approx(np.ones(3), abs=1e-5)
    assert distance("#ff0000", "#8a7a00", VISIONS["deuteranopia"]) < distance("#ff0000", "#8a7a00", np.eye(3)) / 3


@themes
def test_text_can_be_read(palette: Palette) -> None:
    grounds = (*GROUNDS, "hover", "pressed", "selection", "accent_soft")
    pairs = [(ink, ground) for ink in INKS for ground in grounds]
    for name in ("info", "success", "warning", "danger"):
        pairs += [(ink, f"{name}_soft") for ink in ("text", "muted", name)]
    pairs += [("on_accent", ground) for ground in ("accent", "accent_hover", "accent_pressed")]
    pairs += [("on_danger", ground) for ground in ("danger", "danger_hover")] + [("on_tooltip", "tooltip")]
    faint = {pair: contrast(getattr(palette, pair[0]), getattr(palette, pair[1])) for pair in pairs}
    assert not {pair: found for pair, found in faint.items() if found < TEXT}
    tones: tuple[Tone, ...] = ("neutral", "info", "success", "warning", "danger", "accent")
    for tone in tones:
        assert contrast(palette.tone(tone), palette.tone_soft(tone)) >= TEXT, tone


@themes
def test_each_rule_of_the_style_sheet_can_be_read(palette: Palette) -> None:
    """A rule without a ground of its own may stand on any; what is disabled need not be read."""
    checked = 0
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", stylesheet.build(palette, 1.0)):
        said = dict(re.findall(r"([a-z-]+):\s*(#[0-9a-f]{6})\b", body))
        grounds = (
            [ground]
            if (ground := said.get("background") or said.get("background-color"))
            else [getattr(palette, name) for name in (*GROUNDS, "hover")]
        )
        for name in ("color", "placeholder-text-color", "selection-color"):
            if name not in said or ":disabled" in selector:
                continue
            under = [said["selection-background-color"]] if name == "selection-color" else grounds
            if name == "color" and said[name] == palette.on_accent:
                under = [palette.accent, palette.accent_hover, palette.accent_pressed]
            for ground in under:
                assert contrast(said[name], ground) >= TEXT, (selector.strip(), name, said[name], ground)
                checked += 1
    assert checked > 100


@themes
def test_what_charts_draw_stands_out_from_their_ground(palette: Palette) -> None:
    first_turns = [curve_color(palette, number).name() for number in range(2 * len(palette.curves))]
    colors = [*first_turns, *(getattr(palette, name) for name in ("accent", "faint", *INKS))]
    assert not {
        (c, g): contrast(c, getattr(palette, g))
        for c in colors
        for g in GROUNDS
        if contrast(c, getattr(palette, g)) < DRAWN
    }


@themes
@pytest.mark.parametrize("vision", VISIONS)
def test_curves_stay_apart_however_somebody_sees_colors(palette: Palette, vision: str) -> None:
    found = {pair: distance(*pair, VISIONS[vision]) for pair in itertools.combinations(palette.curves, 2)}
    assert not {pair: apart for pair, apart in found.items() if apart < APART}


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_what_stands_in_an_empty_field_can_be_read_as_it_is_painted(
    qapp: QApplication, qtbot: QtBot, mode: Mode
) -> None:
    palette = apply(qapp, mode).palette
    field = QLineEdit(placeholderText="████████")
    qtbot.addWidget(field)
    field.resize(200, 32)
    image = field.grab().toImage()
    painted = {image.pixelColor(x, image.height() // 2).name() for x in range(4, image.width() - 4)}
    assert max(contrast(color, palette.surface) for color in painted) >= TEXT
    assert qapp.palette().color(QPalette.ColorRole.PlaceholderText).name() == palette.muted
    apply(qapp, "light")


@pytest.mark.parametrize("palette", [LIGHT_HIGH, DARK_HIGH], ids=lambda palette: palette.name)
def test_high_contrast_is_higher_and_its_edges_are_seen(palette: Palette) -> None:
    for ground in GROUNDS:
        for ink in INKS:
            assert contrast(getattr(palette, ink), getattr(palette, ground)) >= 7, (ink, ground)
        for edge in ("border", "border_strong", "accent", "faint"):
            assert contrast(getattr(palette, edge), getattr(palette, ground)) >= TEXT, (edge, ground)
