"""What would let the import contracts hold because nobody looked."""

from pathlib import Path

import pytest

import run


@pytest.mark.parametrize("house", ["studio", "training"])
def test_each_room_is_a_package(house: str) -> None:
    """import-linter passes over a folder without __init__.py, and every contract about it holds unseen."""
    rooms = {module.parent for module in (Path(run.__file__).parent / house).rglob("*.py")}
    assert len(rooms) > 5
    assert [room for room in sorted(rooms) if not (room / "__init__.py").is_file()] == []
