"""What a Linux desktop wants to find of an installed program: menu entry, icons, file types, AppStream, man page, completion."""

from __future__ import annotations

import argparse
import gzip
import shutil
import time
from pathlib import Path

from builder.checkout import HOMEPAGE, load_module, source_date, version

FILE_TYPES = ("application/x-trainwright-config", "application/x-trainwright-run")
LIBRARY = "usr/lib/trainwright"


def lay_out(tree: Path, window: Path, root: Path) -> None:
    """The frozen ``window`` and all of that below ``root``."""
    identity = load_module(tree, "studio.identity")
    linux = load_module(tree, "studio.shortcut.linux")
    shutil.copytree(window, root / LIBRARY, symlinks=True)
    share = root / "usr" / "share"
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "usr" / "bin" / "trainwright").symlink_to("../lib/trainwright/trainwright")
    _write(share / "applications" / f"{identity.APP_ID}.desktop", linux.desktop_entry(["trainwright"], FILE_TYPES))
    icons = tree / "resources" / "icons"
    themed = share / "icons" / "hicolor"
    _copy(icons / "app.svg", themed / "scalable" / "apps" / f"{identity.APP_ID}.svg")
    for icon in sorted(icons.glob("app-*.png")):
        size = icon.stem.removeprefix("app-")
        _copy(icon, themed / f"{size}x{size}" / "apps" / f"{identity.APP_ID}.png")
    texts = tree / "packaging" / "linux"
    today = time.strftime("%Y-%m-%d", time.gmtime(source_date()))
    told = (texts / "metainfo.xml").read_text(encoding="utf-8")
    _write(
        share / "metainfo" / f"{identity.APP_ID}.metainfo.xml",
        told.replace("@VERSION@", version()).replace("@DATE@", today).replace("@HOMEPAGE@", HOMEPAGE),
    )
    _copy(texts / "mime.xml", share / "mime" / "packages" / f"{identity.APP_ID}.xml")
    parser = whole_parser(tree)
    page = share / "man" / "man1" / "trainwright.1.gz"
    page.parent.mkdir(parents=True)
    page.write_bytes(gzip.compress(man_page(parser, today).encode("utf-8"), 9, mtime=0))
    import shtab

    _write(share / "bash-completion" / "completions" / "trainwright", shtab.complete(parser, shell="bash"))
    _write(share / "zsh" / "vendor-completions" / "_trainwright", shtab.complete(parser, shell="zsh"))


def whole_parser(tree: Path) -> argparse.ArgumentParser:
    """The command line with the window's own options: what may be typed after ``trainwright``."""
    parser: argparse.ArgumentParser = load_module(tree, "training.cli.parser").make_parser()[0]
    parser.prog = "trainwright"
    front_door = load_module(tree, "studio.__main__")
    for action in front_door._parser(with_commands=False)._actions:
        if action.option_strings and "-h" not in action.option_strings:
            parser._add_action(action)
    return parser


def man_page(parser: argparse.ArgumentParser, date: str) -> str:
    """trainwright(1), from what the program itself says of its words."""
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    lines = [
        f'.TH TRAINWRIGHT 1 "{date}" "Trainwright {version()}" "User Commands"',
        ".SH NAME",
        "trainwright \\- train PyTorch models and watch them learn",
        ".SH SYNOPSIS",
        ".B trainwright",
        r"[\fICONFIG.toml\fR|\fIRUN\fR] [\fB\-\-start\fR]",
        ".br",
        ".B trainwright",
        r"\fICOMMAND\fR [\fIarguments\fR]",
        ".SH DESCRIPTION",
        "Without a command the window opens, with a configuration or the folder of a run where one is named.",
        "It trains by an engine: a Python that has PyTorch, chosen in Preferences.",
        ".SH OPTIONS",
    ]
    for action in parser._actions:
        if action.option_strings and "-h" not in action.option_strings:
            lines += [
                ".TP",
                f"\\fB{_roff(', '.join(action.option_strings))}\\fR",
                _roff(action.help or "show the version"),
            ]
    lines += [".SH COMMANDS", r"\fBtrainwright\fR \fICOMMAND\fR \fB\-\-help\fR tells what may follow."]
    for choice in commands._choices_actions:
        if choice.help and choice.help != argparse.SUPPRESS:
            lines += [".TP", f"\\fB{_roff(choice.dest)}\\fR", _roff(choice.help)]
    lines += [
        ".SH ENVIRONMENT",
        ".TP", r"\fBTRAINWRIGHT_WORKSPACE\fR", "Where runs live.",
        ".TP", r"\fBTRAINWRIGHT_ENGINE\fR", "The Python that trains, where none is chosen in Preferences.",
        ".TP", r"\fBTRAINWRIGHT_PORTABLE\fR", "A folder that holds runs, settings, engines and caches, in place of the system's folders.",
        ".SH EXIT STATUS",
        "0: done. 130: stopped on request, and can be resumed. 2: a wrong word, file or setting. 1: failed.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("%%", "%")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
