"""Tables that tests write as texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from training.config.sections.data.tables import TableDataset
from training.data.source import Opening
from training.data.sources.table import Table, open_table


def open_rows(folder: Path, content: str, **settings: Any) -> Table:
    (folder / "t.csv").write_text(content, encoding="utf-8")
    return open_table(TableDataset.model_validate({"path": str(folder / "t.csv"), **settings}), Opening())
