"""What the four parts have in common: what each is told, and what each tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.gpu.sizes import Size


@dataclass(frozen=True)
class Order:
    """What a part is told. ``device`` is one that ``precision.device`` accepts; files go below ``place``."""

    size: Size
    device: str
    data: Path
    place: Path
    rounds: int
    say: Callable[[str], None]


@dataclass(frozen=True)
class Part:
    """What a part tells: a table, and ``verdicts``, each a sentence and whether its bar held (None without a bar)."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    verdicts: Sequence[tuple[str, bool | None]]
    record: Mapping[str, Any]
    """Every number, as JSON can hold it."""
    remarks: Sequence[str] = field(default=())

    def text(self, judged: bool = True) -> str:
        """As Markdown; not ``judged``, no bar is called held or missed."""
        lines = [f"## {self.title}", "", f"| {' | '.join(self.columns)} |", "|" + "---|" * len(self.columns)]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        lines += ["", *(f"* {sentence}{_word(held) if judged else ''}" for sentence, held in self.verdicts)]
        return "\n".join([*lines, *(f"* {remark}" for remark in self.remarks)]) + "\n"


def _word(held: bool | None) -> str:
    return "" if held is None else " **Held.**" if held else " **Missed.**"
