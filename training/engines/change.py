"""Adds an engine to those that are known, and removes one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from training.engines.places import engines_folder, remember
from training.engines.search import Found, identify
from training.errors import InputError


def add_engine(python: Path) -> None:
    """Have it listed from now on. Raises InputError where that cannot be written."""

    def change(record: dict[str, Any]) -> None:
        added = record.get("added")
        known = [each for each in added if isinstance(each, str)] if isinstance(added, list) else []
        record["added"] = [*(each for each in known if identify(each) != identify(str(python))), str(python)]

    remember(change)


def remove_engine(found: Found) -> None:
    """Delete one that we installed, or forget one that was added. Raises InputError for any other."""
    if found.origin == "installed":
        folder = engines_folder() / found.name
        try:
            shutil.rmtree(folder)
            folder.with_suffix(".lock").unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{error.filename or folder} cannot be deleted ({error.strerror or error}).",
                "End what uses the engine.",
            ) from error
        return
    if found.origin != "added":
        raise InputError(f"{found.name} was found here and not made by Trainwright, which leaves it alone.")

    def change(record: dict[str, Any]) -> None:
        added = record.get("added")
        known = added if isinstance(added, list) else []
        record["added"] = [each for each in known if each != found.python]

    remember(change)
