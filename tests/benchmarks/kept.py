"""What a benchmark measured, kept in a file, so that it goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def keep(file: Path, make: Callable[[], Any]) -> Any:
    """What ``make`` answered, now or before, as JSON holds it."""
    if not file.is_file():
        made = make()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".new").write_text(json.dumps(made, indent=1) + "\n")
        file.with_suffix(".new").rename(file)
    return json.loads(file.read_text())
