"""Settings of text and of a GPT that cannot work are refused with a way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from training.config import parse_config
from training.errors import ConfigError, Problem


def problems(folder: Path, dataset: dict[str, Any], model: dict[str, Any]) -> list[Problem]:
    text = folder / "text.txt"
    text.write_text("some text")
    data = {
        "dataset": {"kind": "text", "path": str(text), **dataset},
        "model": {"kind": "gpt", **model},
        "objective": {"kind": "language_model"},
    }
    try:
        parse_config(data)
    except ConfigError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize(
    ("model", "sentence", "heads"),
    [
        ({"width": 128, "heads": 5}, "must divide the width, 128, evenly; choose 4 or 8.", 4),
        ({"width": 12, "heads": 7, "positions": "learned"}, "must divide the width, 12, evenly; choose 6 or 12.", 6),
        (
            {"width": 12, "heads": 4},
            "rotary positions turn pairs of numbers, but each head has 3 of the width's 12; choose 3 or 6.",
            3,
        ),
        ({"width": 8, "heads": 16}, "must divide the width, 8, evenly; choose 4.", 4),
        ({"width": 3, "heads": 1}, "each head has 3 of the width's 3; choose an even width.", None),
    ],
)
def test_heads_have_to_share_the_width(model: dict[str, Any], sentence: str, heads: int | None, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, {}, model)
    assert found.path == "model.heads"
    assert found.message.endswith(sentence)
    assert found.fix == ({"model.heads": heads} if heads else {})
    if heads:
        assert problems(tmp_path, {}, {**model, "heads": heads}) == []


def test_learned_positions_take_heads_of_one_number(tmp_path: Path) -> None:
    assert problems(tmp_path, {}, {"width": 12, "heads": 12, "positions": "learned"}) == []


def test_windows_may_not_leave_tokens_out(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, {"context": 64, "stride": 65}, {})
    assert found.path == "dataset.stride"
    assert found.message.startswith("must be at most dataset.context, 64")
    assert problems(tmp_path, {"context": 64, "stride": 64}, {}) == []


def test_text_has_no_setting_that_draws_its_split(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, {"split_seed": 1}, {})
    assert found.path == "dataset.split_seed"
    assert "unknown key" in found.message


def test_other_networks_and_tasks_are_refused(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, {}, {"kind": "mlp"})
    assert (found.path, found.fix) == ("model.kind", {"model.kind": "gpt"})
    assert "but text gives tokens; choose gpt." in found.message
