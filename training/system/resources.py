"""The plain files that come with the program, read-only: in ``resources`` of a checkout, inside the packages of an installation."""

from __future__ import annotations

from pathlib import Path

import training
from training.system.interpreter import is_frozen

_CHECKOUT = Path(__file__).resolve().parents[2]
ENGINE = "trainwright-engine"
"""The distribution of ``training`` alone, which is put into engines."""


def find_resources(package: str, name: str) -> Path:
    """The folder ``name`` that belongs to ``package`` ("studio", "training")."""
    installed = _CHECKOUT / package / "files" / name
    return installed if installed.is_dir() else _CHECKOUT / "resources" / name


def find_checkout() -> Path | None:
    """The checkout that this program runs from; None where it is installed."""
    return _CHECKOUT if (_CHECKOUT / "pyproject.toml").is_file() else None


def find_engine_wheel() -> Path | None:
    """The wheel of ``training`` in this very version, to be put into engines: it came with the installed program, or
    ``python packaging/build.py wheel`` made it in a checkout. None where there is none."""
    folder = _CHECKOUT / "training" / "files" / "wheels" if is_frozen() else _CHECKOUT / "dist"
    wheel = folder / f"{ENGINE.replace('-', '_')}-{training.__version__}-py3-none-any.whl"
    return wheel if wheel.is_file() else None


def engine_requirements() -> list[str]:
    """What an engine needs, as texts for an installer, with their markers: of the checkout, else of what is installed."""
    pyproject = _CHECKOUT / "pyproject.toml"
    if pyproject.is_file():
        import tomllib

        project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
        return [*project["dependencies"], *project["optional-dependencies"]["engine"]]
    wheel = find_engine_wheel()
    if wheel is not None:
        return [text for text in _read_required(wheel) if "extra ==" not in text]
    import re
    from importlib.metadata import requires

    ours = requires("trainwright") or []
    wanted = [text for text in ours if "extra ==" not in text or re.search(r"extra == ['\"]engine['\"]", text)]
    return [re.sub(r"\s*(;|and)\s*extra == ['\"]engine['\"]", "", text) for text in wanted]


def _read_required(wheel: Path) -> list[str]:
    import zipfile
    from email.parser import HeaderParser

    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(name).decode("utf-8")).get_all("Requires-Dist", [])
