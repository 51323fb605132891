"""The plain files that come with the program, read-only: in ``resources`` of a checkout, inside the packages of an installation."""

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]


def find_resources(package: str, name: str) -> Path:
    """The folder ``name`` that belongs to ``package`` ("studio", "training")."""
    installed = _CHECKOUT / package / "files" / name
    return installed if installed.is_dir() else _CHECKOUT / "resources" / name
