"""``about.json``: what a person says of a run. The name shown, a star, tags, notes, whether it is archived, and which findings are
no problem in it.

The run's configuration is never edited, and training never touches this file: a run that is resumed, goes back or is copied
keeps it, and a branch, another run, begins without one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from pydantic import JsonValue

from training.config.run import LONGEST_NAME
from training.errors import InputError
from training.runs.folder import RunFolder, read_json
from training.runs.records.forms import StatusRecord
from training.system.atomic import write_text
from training.system.untrusted import escape_unprintable

MOST_NAME, MOST_TAG, MOST_TAGS, MOST_NOTES = LONGEST_NAME, 40, 32, 10_000
"""Characters of a name, of a tag and of the notes, and how many tags there may be."""
_MOST_KEY, _MOST_DISMISSED = 300, 200
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class About:
    """``name`` is "" where the configuration's is to be shown; ``tags`` are in alphabetical order. ``dismissed`` are keys of findings, each
    "code" or "code:place", that are no problem in this run."""

    name: str = ""
    star: bool = False
    tags: tuple[str, ...] = ()
    notes: str = ""
    archived: bool = False
    dismissed: tuple[str, ...] = ()

    def dump(self) -> dict[str, JsonValue]:
        """As JSON has it."""
        return {**asdict(self), "tags": list(self.tags), "dismissed": list(self.dismissed)}

    def add_tags(self, tags: Iterable[str]) -> tuple[str, ...]:
        """Its tags and ``tags`` that it has not, in whatever case."""
        return _unite((*self.tags, *tags))

    def drop_tags(self, tags: Iterable[str]) -> tuple[str, ...]:
        """Its tags without ``tags``."""
        gone = {tag.strip().casefold() for tag in tags}
        return tuple(tag for tag in self.tags if tag.casefold() not in gone)


def read_about(folder: RunFolder) -> About:
    """What is said of the run in ``folder``; entries that are damaged, or no such thing, are passed over, what is too long is
    cut, and characters that cannot be seen are shown as their escapes."""
    said = read_json(folder.about_file, _MOST_BYTES)
    name, tags, notes = said.get("name"), said.get("tags"), said.get("notes")
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return About(
        name=_clean(name, MOST_NAME) if isinstance(name, str) else "",
        star=said.get("star") is True,
        tags=_unite(_clean(tag.replace(",", " "), MOST_TAG) for tag in texts[:MOST_TAGS]),
        notes=_show_lines(notes[:MOST_NOTES])[:MOST_NOTES].strip() if isinstance(notes, str) else "",
        archived=said.get("archived") is True,
        dismissed=_read_keys(said.get("dismissed")),
    )


def write_about(folder: RunFolder, about: About) -> None:
    """Replace what is said of the run. Raises InputError, having changed nothing, for what is too long or cannot be seen, and
    where the folder cannot be written."""
    update_about(folder, lambda _before: about)


def update_about(folder: RunFolder, change: Callable[[About], About]) -> About:
    """Replace what is said of the run by what ``change`` makes of it, alone: of two programs that add a tag each, both are there
    afterwards. Returns what is said now; raises InputError as ``write_about`` does."""
    try:
        with _lock(folder):
            before = read_about(folder)
            after = _check(change(before))
            if after != before:
                write_text(folder.about_file, json.dumps(after.dump(), indent=1) + "\n")
    except OSError as error:
        raise InputError(
            f"The run folder {folder.path} cannot be written ({error.strerror or error}); make it writable, or free some space."
        ) from error
    return after


def name_of(record: StatusRecord, about: About) -> str:
    """What the run is called: by the person, else by its configuration, else by its folder."""
    return about.name or record.name or record.run


def _read_keys(said: JsonValue) -> tuple[str, ...]:
    keys = [key for key in said if isinstance(key, str)] if isinstance(said, list) else []
    return tuple(dict.fromkeys(key for key in keys[:_MOST_DISMISSED] if 0 < len(key) <= _MOST_KEY))


def _clean(text: str, most: int) -> str:
    """At most ``most`` characters that can be seen; an escape is longer than what it stands for."""
    return " ".join(escape_unprintable(" ".join(text[: 2 * most].split()), most)[:most].split())


def _unite(tags: Iterable[str]) -> tuple[str, ...]:
    """Each once, in whatever case; blanks around it do not count."""
    found: dict[str, str] = {}
    for tag in tags:
        if text := " ".join(tag.split()):
            found.setdefault(text.casefold(), text)
    return tuple(found[key] for key in sorted(found))


def _check(about: About) -> About:
    """``about`` with blanks and tags in order. Raises InputError."""
    name, tags, notes = " ".join(about.name.split()), _unite(about.tags), about.notes.replace("\r\n", "\n").strip()
    _refuse_unseen("name", name, MOST_NAME)
    for tag in tags:
        _refuse_unseen("tag", tag, MOST_TAG)
        if "," in tag:
            raise InputError(f"The tag {tag}: has a comma, which parts tags; leave it out.")
    if len(tags) > MOST_TAGS:
        raise InputError(f"These are {len(tags)} tags, and a run has at most {MOST_TAGS}; remove some of them.")
    if len(notes) > MOST_NOTES:
        raise InputError(f"The notes have {len(notes):,} characters, and {MOST_NOTES:,} are the most; shorten them.")
    if len(about.dismissed) > _MOST_DISMISSED:
        raise InputError(f"{_MOST_DISMISSED} findings at most can be no problem in a run; take one of them back.")
    return About(name, about.star, tags, _show_lines(notes), about.archived, about.dismissed)


def _refuse_unseen(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise InputError(
            f"The {what} {text[:20]}...: has {len(text):,} characters, and {most} are the most; shorten it."
        )
    if escape_unprintable(text) != text:
        raise InputError(f"The {what} {escape_unprintable(text)}: has a character that cannot be seen; leave it out.")


def _show_lines(text: str) -> str:
    """Tabs and line breaks as they are, all else that cannot be seen as its escape."""
    tabs = ("\t".join(escape_unprintable(part, MOST_NOTES) for part in line.split("\t")) for line in text.split("\n"))
    return "\n".join(tabs)


@contextmanager
def _lock(folder: RunFolder) -> Iterator[None]:
    """Inside, no other process or thread changes what is said of the run. The lock is on the configuration, the one file that is
    never replaced; where that is lost, or a network drive knows no locks, there is none."""
    try:
        stream = folder.config_file.open("r+b")
    except FileNotFoundError:
        yield
        return
    with stream:
        if sys.platform == "win32":
            import msvcrt

            stream.seek((1 << 30) + 1)  # beside the place that the run's owner locks
            msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            with suppress(OSError):
                fcntl.flock(stream, fcntl.LOCK_EX)
        yield  # closing the file gives the lock back
