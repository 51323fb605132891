"""The SQL that the help page writes down."""

from __future__ import annotations

import re
from pathlib import Path


def documented_query() -> str:
    """The query of the best checkpoint by ``val/accuracy``, as a person copies it."""
    page = Path(__file__).resolve().parents[3] / "resources/help/index.md"
    found = re.search(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]
