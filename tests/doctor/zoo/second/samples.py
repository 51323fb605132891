"""Samples of its own for this group: tables, arrays of images and masks, signals, and text, each learnable and seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.doctor.zoo.draws import Columns

Array = NDArray[Any]


def draw_loans(count: int, seed: int = 0, sharp: float = 2.0, shift: float = 0.0) -> Columns:
    """Who cannot pay a loan back; about 88 % can be told, of two classes of like size where ``shift`` is 0."""
    draws = np.random.default_rng(seed)
    income = draws.lognormal(3.4, 0.4, count)
    amount = draws.uniform(2, 60, count)
    age = draws.integers(20, 70, count)
    late = draws.poisson(1.0, count)
    purpose = draws.choice(["car", "house", "studies", "travel"], count)
    score = 0.09 * amount - 0.07 * (income - 32) + 1.0 * (late - 1) - 0.03 * (age - 45) - 2.7
    score = score + 1.2 * (purpose == "travel") - 0.8 * (purpose == "house") + shift
    failed = draws.random(count) < 1 / (1 + np.exp(-sharp * score))
    return {
        "income": income,
        "amount": amount,
        "age": age,
        "late_payments": late,
        "purpose": purpose,
        "defaulted": np.where(failed, "yes", "no"),
    }


def draw_bikes(count: int, seed: int = 0) -> Columns:
    """Rented bicycles in an hour; R2 of about 0.95 can be had."""
    draws = np.random.default_rng(seed)
    hour = draws.integers(0, 24, count)
    warmth = draws.normal(14, 8, count)
    wind = draws.gamma(2, 6, count)
    humid = draws.uniform(20, 100, count)
    day = draws.choice(["working day", "weekend", "holiday"], count, p=[0.68, 0.27, 0.05])
    rush = np.exp(-(((hour - 8) / 2.0) ** 2)) + 1.2 * np.exp(-(((hour - 17.5) / 2.5) ** 2))
    noon = np.exp(-(((hour - 14) / 4.0) ** 2))
    base = np.where(day == "working day", 260 * rush, 190 * noon) + 20
    rented = base * np.clip(0.5 + warmth / 28, 0.1, 1.6) * (1 - humid / 260) - 1.1 * wind
    rented = np.maximum(rented + draws.normal(0, 9, count), 0)
    return {
        "hour": hour,
        "temperature": warmth,
        "wind": wind,
        "humidity": humid,
        "day": day,
        "rented": np.round(rented, 1),
    }


def draw_grains(count: int, seed: int = 0, kinds: int = 6, spread: float = 1.0) -> tuple[Array, Array]:
    """Varieties of grain by eight measurements, two clouds for each; some 95 % can be told."""
    draws = np.random.default_rng(seed)
    centers = np.random.default_rng(7).normal(0, 1.9, (kinds, 2, 8))
    kind = draws.integers(0, kinds, count)
    values = centers[kind, draws.integers(0, 2, count)] + draws.normal(0, spread, (count, 8))
    return values.astype(np.float32), kind.astype(np.int64)


def draw_genres(count: int, seed: int = 0) -> tuple[Array, Array]:
    """Films by ten numbers, each of any of five genres."""
    draws = np.random.default_rng(seed)
    values = draws.normal(0, 1, (count, 10))
    a, b, c, d, e = values[:, :5].T
    scores = np.stack([a + b - 0.4, b * c + 0.3, np.abs(d) - 0.8, e - a, c + d * e], axis=1)
    labels = scores + draws.normal(0, 0.15, scores.shape) > 0
    return values.astype(np.float32), labels.astype(np.int64)


GLYPHS = {
    "T": ((0, 0, 0, 8), (0, 4, 8, 4)),
    "L": ((0, 0, 8, 0), (8, 0, 8, 8)),
    "H": ((0, 0, 8, 0), (0, 8, 8, 8), (4, 0, 4, 8)),
    "X": ((0, 0, 8, 8), (0, 8, 8, 0)),
    "O": ((0, 0, 0, 8), (8, 0, 8, 8), (0, 0, 8, 0), (0, 8, 8, 8)),
    "Z": ((0, 0, 0, 8), (0, 8, 8, 0), (8, 0, 8, 8)),
    "N": ((0, 0, 8, 0), (0, 0, 8, 8), (0, 8, 8, 8)),
    "U": ((0, 0, 8, 0), (8, 0, 8, 8), (0, 8, 8, 8)),
    "V": ((0, 0, 8, 4), (8, 4, 0, 8)),
    "Y": ((0, 0, 4, 4), (0, 8, 4, 4), (4, 4, 8, 4)),
}
"""Letters as strokes from (row, column) to (row, column)."""


def draw_glyphs(count: int, seed: int = 0, kinds: int = 6, side: int = 16, noise: float = 50.0) -> tuple[Array, Array]:
    """Letters somewhere in gray images (side, side), with noise."""
    draws = np.random.default_rng(seed)
    kind = draws.integers(0, kinds, count)
    images = np.empty((count, side, side), np.uint8)
    strokes = list(GLYPHS.values())
    steps = np.linspace(0, 1, 13)
    for number in range(count):
        paper = np.full((side, side), draws.uniform(20, 70))
        scale = draws.uniform(0.85, 1.15) * (side - 4) / 10.5
        place = draws.uniform(0.5, side - 1.5 - 8 * scale, 2)
        for y0, x0, y1, x1 in strokes[kind[number]]:
            y = place[0] + scale * (y0 + (y1 - y0) * steps)
            x = place[1] + scale * (x0 + (x1 - x0) * steps)
            paper[y.round().astype(int), x.round().astype(int)] = draws.uniform(170, 240)
        images[number] = np.clip(paper + draws.normal(0, noise, paper.shape), 0, 255)
    return images, kind.astype(np.int64)


def draw_dials(count: int, seed: int = 0, side: int = 20) -> tuple[Array, Array]:
    """Gauges with one hand, and what they show: from 0 to 100."""
    draws = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    shown = draws.uniform(0, 100, count)
    angle = np.pi * (shown / 100 * 1.5 - 0.25)
    along = y * -np.sin(angle)[:, None, None] + x * -np.cos(angle)[:, None, None]
    beside = np.abs(y * -np.cos(angle)[:, None, None] + x * np.sin(angle)[:, None, None])
    hand = (along > 0) & (along < side * 0.42) & (beside < 1.1)
    images = 60 + 140 * hand + draws.normal(0, 18, hand.shape)
    return np.clip(images, 0, 255).astype(np.uint8), shown[:, None].astype(np.float32)


def draw_roads(count: int, seed: int = 0, side: int = 24, contrast: float = 50.0) -> tuple[Array, Array]:
    """A straight road across each image, and its mask of 0 and 1."""
    draws = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    angle = draws.uniform(0, np.pi, count)[:, None, None]
    beside = np.abs(y * np.cos(angle) + x * np.sin(angle) - draws.uniform(-6, 6, count)[:, None, None])
    mask = beside < draws.uniform(2.0, 3.5, count)[:, None, None]
    images = np.clip(100 + contrast * mask + draws.normal(0, 25, mask.shape), 0, 255)
    return images.astype(np.uint8), mask.astype(np.uint8)


def draw_signals(count: int, seed: int = 0, length: int = 48, noise: float = 0.4) -> tuple[Array, Array]:
    """Sines, squares, saws and double beats of a random phase and pace."""
    draws = np.random.default_rng(seed)
    kind = draws.integers(0, 4, count)
    pace = draws.uniform(1.5, 3.0, count)[:, None]
    turn = (np.linspace(0, 1, length)[None] * pace + draws.random(count)[:, None]) % 1
    forms = np.stack(
        [
            np.sin(2 * np.pi * turn),
            np.sign(turn - 0.5),
            2 * turn - 1,
            2 * np.exp(-(((turn - 0.3) / 0.06) ** 2)) + np.exp(-(((turn - 0.6) / 0.06) ** 2)) - 0.5,
        ]
    )
    values = forms[kind, np.arange(count)] + draws.normal(0, noise, (count, length))
    return values.astype(np.float32), kind.astype(np.int64)


def draw_diary(sentences: int, seed: int = 0) -> str:
    """What people bought and when."""
    draws = np.random.default_rng(seed)
    pick = draws.choice
    days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    people = ["anna", "boris", "clara", "david", "emma", "felix"]
    deeds = ["bought", "sold", "found", "lost", "painted", "borrowed"]
    things = ["apples", "pears", "books", "candles", "bottles", "spoons", "carpets"]
    lines = []
    for _ in range(sentences):
        line = f"on {pick(days)} {pick(people)} {pick(deeds)} {draws.integers(2, 10)} {pick(things)}"
        if draws.random() < 0.5:
            line += f" and {draws.integers(2, 10)} {pick(things)}"
        lines.append(f"{line}.")
    return "\n".join(lines) + "\n"


def draw_hotels(queries: int, seed: int = 0) -> Columns:
    """What travelers chose among up to eight hotels."""
    draws = np.random.default_rng(seed)
    rows = queries * 8
    stars, price, far = draws.integers(1, 6, rows), draws.lognormal(4.5, 0.4, rows), draws.exponential(3, rows)
    liked = draws.uniform(5, 10, rows)
    score = 0.5 * stars - 0.02 * price - 0.25 * far + 0.6 * liked + draws.normal(0, 0.3, rows)
    return {
        "search": [f"s{row // 8}" for row in range(rows)],
        "stars": stars,
        "price": price,
        "distance": far,
        "rating": liked,
        "relevance": np.digitize(score, np.quantile(score, [0.5, 0.8, 0.95])),
    }
