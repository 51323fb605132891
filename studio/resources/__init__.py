"""The plain files that ship inside the package: icons, style sheets, fonts. Read-only at run time."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parent


def path(*parts: str) -> Path:
    """The file or folder below `studio/resources`, for example `path("icons", "play.svg")`."""
    return _ROOT.joinpath(*parts)


def text(*parts: str) -> str:
    """The content of a text file below `studio/resources`."""
    return path(*parts).read_text(encoding="utf-8")
