"""The plain files that come with the program, read-only: in ``resources`` of a checkout, inside the packages of an installation."""

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]


def find_resources(package: str, name: str) -> Path:
    """The folder ``name`` that belongs to ``package`` ("studio", "training")."""
    installed = _CHECKOUT / package / "files" / name
    return installed if installed.is_dir() else _CHECKOUT / "resources" / name


def find_engine_wheel() -> Path | None:
    """The wheel of ``training`` that an installed window puts into the engines it makes; None in a checkout."""
    return next(iter(sorted(find_resources("training", "wheels").glob("*.whl"))), None)


def engine_requirements() -> list[str]:
    """What ``training`` needs, as requirement texts."""
    from importlib.metadata import PackageNotFoundError, requires

    project = _CHECKOUT / "pyproject.toml"
    if project.is_file():
        import tomllib

        table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        return [*table["dependencies"], *table["optional-dependencies"].get("engine", [])]
    try:
        return [text for text in requires("trainwright") or [] if "extra ==" not in text]
    except PackageNotFoundError:
        return []
