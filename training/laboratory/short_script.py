"""The laboratory's artifact: its last step as one short script beside the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from training.config import RunConfig
from training.errors import InputError
from training.export.short_script import export_short_script

SCRIPT = "laboratory_loop.py"


@dataclass(frozen=True)
class ScriptNote:
    """``file`` is the script's name in the report's folder, "" where there is none; ``told`` says what it is, or why."""

    file: str
    told: str


def write_script(config: RunConfig, folder: Path) -> ScriptNote:
    """Write what ``config`` does as a script into ``folder``, with the drawn samples that it needs."""
    try:
        result = export_short_script(config, "tutorial", folder / SCRIPT)
    except InputError as error:
        return ScriptNote("", str(error))
    lines = len((folder / SCRIPT).read_text(encoding="utf-8").splitlines())
    beside = ", ".join(Path(file).name for file in result.files if Path(file).name != SCRIPT)
    needs = f" It needs {beside} beside it." if beside else ""
    return ScriptNote(SCRIPT, f"{lines} lines; it draws other random numbers than the runs here.{needs}")
