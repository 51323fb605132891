"""The menu entry on Linux: a desktop file and the icons, after the freedesktop.org specifications.

https://specifications.freedesktop.org/desktop-entry-spec/latest/exec-variables.html
"""

import re
import shutil
from pathlib import Path

from studio.identity import APP_ICON, APP_ID, APP_NAME, ICONS, SUMMARY
from studio.shortcut.program import ShortcutError


def quote(argument: str) -> str:
    """One argument of an Exec line: quoted, a backslash before \\ " ` $, then each backslash doubled, % as %%.

    Two rounds, because the line is first read as a desktop-file string and then as a command.
    """
    quoted = re.sub(r'(["`$\\])', r"\\\1", argument)
    return '"' + quoted.replace("\\", "\\\\").replace("%", "%%") + '"'


def desktop_entry(program: list[str], file_types: tuple[str, ...] = ()) -> str:
    """The text of the desktop file; ``file_types`` are those that it opens. Raises ShortcutError where no launcher would find the program."""
    executable = program[0]
    if "%" in executable or "\n" in executable:
        raise ShortcutError(
            f"A start menu cannot start a program whose path holds a % sign or a line break: {executable!r}. "
            "Move Trainwright to a folder with another name and install the shortcut again."
        )
    # No TryExec: with a space in the path the Xfce menu hides the entry. No Version=1.5 and no SingleMainWindow:
    # the validator of Debian 12 rejects both.
    return f"""[Desktop Entry]
Type=Application
Name={APP_NAME}
GenericName=Model training studio
Comment={SUMMARY}
Exec={" ".join(quote(argument) for argument in program)}{" %f" if file_types else ""}
Icon={APP_ID}
Terminal=false
Categories=Science;ArtificialIntelligence;
Keywords=PyTorch;training;neural network;machine learning;
StartupNotify=true
StartupWMClass={APP_ID}
""" + (f"MimeType={';'.join(file_types)};\n" if file_types else "")


def install(program: list[str], data_home: Path) -> list[Path]:
    """Write the desktop file and the icons below data_home; returns their paths."""
    entry = desktop_entry(program)
    for source, target in _icons(data_home):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    desktop_file = _desktop_file(data_home)
    desktop_file.parent.mkdir(parents=True, exist_ok=True)
    desktop_file.write_text(entry, encoding="utf-8")
    return [desktop_file, *(target for _, target in _icons(data_home))]


def remove(data_home: Path) -> list[Path]:
    """Delete what install wrote; returns what was there."""
    ours = [_desktop_file(data_home), *(target for _, target in _icons(data_home))]
    present = [path for path in ours if path.is_file()]
    for path in present:
        path.unlink()
    return present


def _desktop_file(data_home: Path) -> Path:
    return data_home / "applications" / f"{APP_ID}.desktop"


def _icons(data_home: Path) -> list[tuple[Path, Path]]:
    theme = data_home / "icons" / "hicolor"
    pairs = [(APP_ICON, theme / "scalable" / "apps" / f"{APP_ID}.svg")]
    for source in sorted(ICONS.glob("app-*.png")):
        size = source.stem.removeprefix("app-")
        pairs.append((source, theme / f"{size}x{size}" / "apps" / f"{APP_ID}.png"))
    return pairs
